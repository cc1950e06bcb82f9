// SPDX-License-Identifier: Apache-2.0
#include "engine/state/topology.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace muster::engine {
namespace {

/// Gives domains numbers by first appearance; equal labels under one parent are one domain.
class DomainNames {
 public:
  DomainIndex Find(DomainIndex parent, const std::string& label) {
    const auto [at, fresh] = known_.try_emplace({parent, label}, next_);
    if (fresh) {
      labels_.push_back(label);
      ++next_;
    }
    return at->second;
  }
  DomainIndex Alone(const std::string& node) {
    labels_.push_back("(" + node + ")");
    return next_++;
  }
  const std::string& label(DomainIndex index) const { return labels_[index]; }

 private:
  std::map<std::pair<DomainIndex, std::string>, DomainIndex> known_;
  std::vector<std::string> labels_;
  DomainIndex next_ = 0;
};

}  // namespace

const std::string* FindLabel(const model::Labels& labels, std::string_view key) {
  const auto at = std::ranges::lower_bound(
      labels, key, {}, [](const auto& label) -> std::string_view { return label.first; });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

Topology::Topology() : Topology({}, {}, 0) {}

Topology::Topology(const std::vector<model::Level>& levels, const std::vector<Node>& nodes,
                   std::uint32_t node_ids) {
  const std::size_t depth = levels.size();
  levels_.resize(depth + 2);
  levels_.front().name = kNodeLevel;
  levels_.back().name = kAnyLevel;
  for (std::size_t i = 0; i < depth; ++i) levels_[depth - i].name = levels[i].name;

  // The path of each node from the outside in, as first-appearance numbers.
  std::vector<DomainNames> names(depth);
  std::vector<std::vector<DomainIndex>> paths(nodes.size(), std::vector<DomainIndex>(depth));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    DomainIndex parent = 0;
    for (std::size_t i = 0; i < depth; ++i) {
      const std::string* label = FindLabel(nodes[n].spec->labels, levels[i].label);
      parent =
          label != nullptr ? names[i].Find(parent, *label) : names[i].Alone(nodes[n].spec->name);
      paths[n][i] = parent;
    }
  }

  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return paths[a] < paths[b]; });
  std::vector<std::vector<DomainIndex>> sorted_paths;
  std::vector<Node> sorted_nodes;
  sorted_paths.reserve(nodes.size());
  sorted_nodes.reserve(nodes.size());
  for (const std::size_t n : order) {
    sorted_paths.push_back(std::move(paths[n]));
    sorted_nodes.push_back(nodes[n]);
  }
  position_of_.assign(node_ids, kNoPosition);
  NumberDomains(sorted_paths, sorted_nodes);
  for (std::size_t i = 0; i < depth; ++i) {
    LevelData& level = levels_[depth - i];
    for (const Domain& domain : level.domains) {
      level.names.push_back(names[i].label(sorted_paths[domain.begin][i]));
    }
  }
}

void Topology::NumberDomains(const std::vector<std::vector<DomainIndex>>& paths,
                             const std::vector<Node>& nodes) {
  const std::size_t depth = levels_.size() - 2;
  const auto count = static_cast<Position>(nodes.size());
  levels_.back().domains.push_back({.begin = 0, .end = count});
  levels_.back().domain_of.assign(count, 0);
  for (Position p = 0; p < count; ++p) {
    node_at_.push_back(nodes[p].id);
    position_of_[nodes[p].id.value] = p;
    levels_.front().names.push_back(nodes[p].spec->name);
    bool fresh = p == 0;  // the path parts from the one before: new domains from here inwards
    for (std::size_t i = 0; i < depth; ++i) {
      LevelData& level = levels_[depth - i];
      fresh = fresh || paths[p][i] != paths[p - 1][i];
      if (fresh) level.domains.push_back({.begin = p, .end = p});
      level.domains.back().end = p + 1;
      level.domain_of.push_back(static_cast<DomainIndex>(level.domains.size() - 1));
    }
    levels_.front().domains.push_back({.begin = p, .end = p + 1});
    levels_.front().domain_of.push_back(p);
  }
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    LevelData& above = levels_[l + 1];
    for (DomainIndex d = 0; d < levels_[l].domains.size(); ++d) {
      Domain& domain = levels_[l].domains[d];
      domain.parent = above.domain_of[domain.begin];
      Domain& parent = above.domains[domain.parent];
      if (domain.begin == parent.begin) parent.first_child = d;
      parent.child_end = d + 1;
    }
  }
}

LevelIndex Topology::FindLevel(std::string_view name) const {
  if (name.empty()) return top();
  for (LevelIndex level = 0; level < level_count(); ++level) {
    if (level_name(level) == name) return level;
  }
  return -1;
}

std::string Topology::DomainName(LevelIndex level, DomainIndex index) const {
  if (level == 0) return levels_[0].names[index];
  if (level == top()) return std::string(kAnyLevel);
  std::string name = levels_[AsSize(level)].names[index];
  DomainIndex parent = domain(level, index).parent;
  for (LevelIndex above = level + 1; above < top(); ++above) {
    name.insert(0, levels_[AsSize(above)].names[parent] + "/");
    parent = domain(above, parent).parent;
  }
  return name;
}

}  // namespace muster::engine
