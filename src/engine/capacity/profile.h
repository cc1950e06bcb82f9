// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/capacity/fit.h"
#include "engine/state/state.h"

namespace muster::engine {

/// What a request adds to the plain sum of room at a level: replicas come in multiples of
/// `multiple` (segments), and at most `limit` in one domain (anti-affinity).
struct LevelRule {
  std::int32_t multiple = 1;
  std::int32_t limit = std::numeric_limits<std::int32_t>::max();
  friend auto operator<=>(const LevelRule&, const LevelRule&) = default;

  bool IsTrivial() const { return *this == LevelRule{}; }
  std::int32_t Apply(std::int32_t room) const {
    const std::int32_t limited = room < limit ? room : limit;
    return multiple == 1 ? limited : limited - limited % multiple;
  }
};

/// Rules by level, from the node up; levels beyond the end have none.
using LevelRules = std::vector<LevelRule>;

/// How many replicas of one shape, under one set of rules, each domain of each level has room for.
/// Follows the state by its change log: only nodes changed since the last use are looked at again.
class Profile {
 public:
  enum class Mode {
    kNow,        ///< beside what runs
    kWhenEmpty,  ///< if everything were idle, healthy and ready: for proofs of "never"
  };
  Profile(const Shape& shape, LevelRules rules, Mode mode)
      : shape_(&shape), rules_(std::move(rules)), mode_(mode) {}

  /// Rises whenever some node got more room, or the tree was rebuilt. A profile made anew for the
  /// same replicas goes on from the old one's, so that "has it grown since?" has the same answer.
  std::uint64_t growth() const { return growth_; }
  void ContinueFrom(std::uint64_t growth) { growth_ = growth; }

  /// Brings the numbers up to the state. `shape` must have been refreshed. Returns the nodes looked
  /// at.
  std::int64_t CatchUp(const State& state);

  /// Replicas that fit domain by domain of `level`.
  std::span<const std::int32_t> capacity(LevelIndex level) const {
    return levels_[static_cast<std::size_t>(level)].capacity;
  }
  /// Of the nodes inside domain `index` of `level` (1 or above) with room for `need` replicas: one
  /// with least room to spare, in the surroundings with least room, level by level outwards; then
  /// the first. kNoPosition if there is none.
  Position TightestNode(const Topology& topology, LevelIndex level, DomainIndex index,
                        std::int32_t need) const;
  /// Replicas that fit each node, before any rule.
  std::span<const std::int32_t> slots() const {
    return levels_.front().raw.empty() ? levels_.front().capacity : levels_.front().raw;
  }
  std::int32_t Total() const { return levels_.back().capacity.front(); }
  const Shape& shape() const { return *shape_; }
  bool HasRule(LevelIndex level) const { return !Rule(level).IsTrivial(); }
  LevelRule Rule(LevelIndex level) const {
    const auto index = static_cast<std::size_t>(level);
    return index < rules_.size() ? rules_[index] : LevelRule{};
  }

 private:
  struct LevelRoom {
    std::vector<std::int32_t> capacity;  ///< after the level's rule
    std::vector<std::int32_t> raw;       ///< before it; empty where there is no rule
  };

  std::int32_t SlotsAt(const State& state, Position position) const;
  void Rebuild(const State& state);
  void Update(const Topology& topology, NodeChange change, std::int32_t slots);
  void UpdatePresent(const Topology& topology, Position position, std::int32_t before,
                     std::int32_t after);

  const Shape* shape_;
  LevelRules rules_;
  Mode mode_;
  std::vector<LevelRoom> levels_;
  /// By domain of level 1: which amounts of room its nodes have. Bit v: some node has room for
  /// exactly v; the highest bit: for that many or more. Finds the tightest node without a look at
  /// each.
  std::vector<std::uint64_t> present_;
  std::vector<bool> eligible_;  ///< by position, only for shapes with a selector
  std::uint64_t topology_version_ = 0;
  std::uint64_t log_position_ = 0;
  std::uint64_t growth_ = 0;
};

}  // namespace muster::engine
