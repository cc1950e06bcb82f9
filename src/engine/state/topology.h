// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/ids.h"

namespace muster::engine {

/// Index of a topology level from the inside out: 0 = node, then the network levels, last "any"
/// (everything).
using LevelIndex = int;
/// Number of a domain within its level.
using DomainIndex = std::uint32_t;
/// Place of a node in topology order; also its domain index at level 0.
using Position = std::uint32_t;
inline constexpr Position kNoPosition = UINT32_MAX;

inline constexpr std::string_view kNodeLevel = "node";
inline constexpr std::string_view kAnyLevel = "any";

/// The tree of placement domains, immutable once built. Nodes are put in depth-first order, domains
/// at each level are numbered in it, and so every domain is a range of positions and the children
/// of a domain are a range of the level below. Domains come in the order in which their first node
/// became known.
class Topology {
 public:
  struct Domain {
    Position begin = 0;  ///< nodes [begin, end)
    Position end = 0;
    DomainIndex parent = 0;  ///< at the level above; 0 at the top
    DomainIndex first_child =
        0;  ///< at the level below: [first_child, child_end); itself at level 0
    DomainIndex child_end = 0;
  };

  struct Node {
    model::NodeId id;
    const model::NodeSpec* spec = nullptr;
  };

  /// An empty tree: levels `node` and `any`, no nodes.
  Topology();
  /// `levels` are outermost first, as in the policy. A node without a level's label is alone in a
  /// domain of that level. Equal labels under different parents are different domains.
  Topology(const std::vector<model::Level>& levels, const std::vector<Node>& nodes,
           std::uint32_t node_ids);

  int level_count() const { return static_cast<int>(levels_.size()); }
  LevelIndex top() const { return level_count() - 1; }
  const std::string& level_name(LevelIndex level) const { return levels_[AsSize(level)].name; }
  /// -1 for a name that is no level; "" means any.
  LevelIndex FindLevel(std::string_view name) const;

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(node_at_.size()); }
  model::NodeId node_at(Position position) const { return node_at_[position]; }
  /// kNoPosition for a node that is not in the tree.
  Position position_of(model::NodeId node) const {
    return node.value < position_of_.size() ? position_of_[node.value] : kNoPosition;
  }

  const std::vector<Domain>& domains(LevelIndex level) const {
    return levels_[AsSize(level)].domains;
  }
  const Domain& domain(LevelIndex level, DomainIndex index) const { return domains(level)[index]; }
  DomainIndex DomainAt(LevelIndex level, Position position) const {
    return levels_[AsSize(level)].domain_of[position];
  }
  /// "spine-2/leaf-7": the label values from the outside in; a node's name at level 0, "any" at the
  /// top.
  std::string DomainName(LevelIndex level, DomainIndex index) const;

 private:
  static std::size_t AsSize(LevelIndex level) { return static_cast<std::size_t>(level); }

  struct LevelData {
    std::string name;
    std::vector<Domain> domains;
    std::vector<DomainIndex> domain_of;  ///< by position
    std::vector<std::string> names;      ///< own label value of each domain; empty at "any"
  };

  void NumberDomains(const std::vector<std::vector<DomainIndex>>& paths,
                     const std::vector<Node>& nodes);

  std::vector<LevelData> levels_;
  std::vector<model::NodeId> node_at_;
  std::vector<Position> position_of_;
};

using TopologyPtr = std::shared_ptr<const Topology>;

/// The value of label `key`, or null.
const std::string* FindLabel(const model::Labels& labels, std::string_view key);

}  // namespace muster::engine
