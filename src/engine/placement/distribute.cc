// SPDX-License-Identifier: Apache-2.0
#include "engine/placement/distribute.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace muster::engine {
namespace {

/// The next level inwards at which a strategy chooses: each one if it descends, else only where
/// rules must be kept.
LevelIndex NextLevel(const Planner& planner, const Profile& profile, LevelIndex level) {
  LevelIndex next = level - 1;
  if (!planner.strategy.descends) {
    while (next > 0 && !profile.HasRule(next)) --next;
  }
  return next;
}

void DistributeInto(Planner& planner, const Profile& profile, DomainRef domain, std::int32_t need,
                    NodeShares& shares) {
  if (domain.level == 0) {
    shares.push_back({domain.index, need});
    ++planner.work;
    return;
  }
  const LevelIndex level = NextLevel(planner, profile, domain.level);
  const ChildRooms rooms = RoomsInside(*planner.state.tables().topology, profile, domain, level);
  planner.work += static_cast<std::int64_t>(rooms.room.size());
  std::vector<Pick> picks = planner.strategy.choose_children(rooms.room, need, planner.rng);
  std::ranges::sort(picks, {}, &Pick::child);
  for (const Pick& pick : picks) {
    DistributeInto(planner, profile, {level, rooms.first + pick.child}, pick.replicas, shares);
  }
}

}  // namespace

ChildRooms RoomsInside(const Topology& topology, const Profile& profile, DomainRef domain,
                       LevelIndex level) {
  const Topology::Domain& range = topology.domain(domain.level, domain.index);
  if (range.begin == range.end) return {};
  const DomainIndex first = topology.DomainAt(level, range.begin);
  const DomainIndex last = topology.DomainAt(level, range.end - 1);
  return {profile.capacity(level).subspan(first, last - first + 1), first};
}

std::optional<DomainRef> FindDomain(Planner& planner, const Profile& profile, DomainRef inside,
                                    LevelIndex highest, std::int32_t need) {
  const Topology& topology = *planner.state.tables().topology;
  LevelIndex level = highest;
  if (planner.strategy.descends) {
    // A node that holds everything is looked for through the index: there are too many to look at
    // each.
    if (inside.level == 0) return inside;
    planner.work += static_cast<std::int64_t>(topology.domains(1).size());
    const Position node = profile.TightestNode(topology, inside.level, inside.index, need);
    if (node != kNoPosition) return DomainRef{0, node};
    level = 1;
  }
  for (; level <= highest; ++level) {
    const ChildRooms rooms = RoomsInside(topology, profile, inside, level);
    planner.work += static_cast<std::int64_t>(rooms.room.size());
    if (rooms.room.empty() || *std::ranges::max_element(rooms.room) < need) continue;
    const std::uint32_t child = planner.strategy.choose_domain(rooms.room, need, planner.rng);
    return DomainRef{level, rooms.first + child};
  }
  return std::nullopt;
}

NodeShares Distribute(Planner& planner, const Profile& profile, DomainRef domain,
                      std::int32_t need) {
  NodeShares shares;
  DistributeInto(planner, profile, domain, need, shares);
  return shares;
}

std::optional<std::vector<Pick>> SolveSpread(ChildRooms rooms,
                                             std::span<const std::int32_t> when_empty,
                                             std::int32_t need, std::int32_t max_skew) {
  // Every eligible domain gets at least `low` and at most low + max_skew. A higher `low` only
  // allows more in all, so the highest possible one decides.
  std::int64_t eligible = 0;
  std::int32_t least_room = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < rooms.room.size(); ++i) {
    if (when_empty[i] == 0) continue;
    ++eligible;
    least_room = std::min(least_room, rooms.room[i]);
  }
  if (eligible == 0) return std::nullopt;
  const auto low = static_cast<std::int32_t>(std::min<std::int64_t>(least_room, need / eligible));
  const std::int64_t high = std::int64_t{low} + max_skew;
  std::vector<Pick> picks;
  std::int64_t rest = need;
  for (std::uint32_t i = 0; i < rooms.room.size(); ++i) {
    if (when_empty[i] == 0) continue;
    picks.push_back({i, low});
    rest -= low;
  }
  // The remainder goes round, one replica a domain, so that counts stay as even as can be.
  std::int64_t before = rest + 1;
  for (std::int64_t level = low + 1; level <= high && rest > 0 && rest < before; ++level) {
    before = rest;
    for (Pick& pick : picks) {
      if (rest > 0 && rooms.room[pick.child] >= level) {
        ++pick.replicas;
        --rest;
      }
    }
  }
  if (rest > 0) return std::nullopt;
  std::erase_if(picks, [](const Pick& pick) { return pick.replicas == 0; });
  return picks;
}

}  // namespace muster::engine
