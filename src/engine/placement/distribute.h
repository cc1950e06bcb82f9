// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/capacity/profile.h"
#include "engine/placement/place.h"

namespace muster::engine {

/// So many replicas on the node at a position.
struct NodeShare {
  Position position = 0;
  std::int32_t replicas = 0;
  friend auto operator<=>(const NodeShare&, const NodeShare&) = default;
};
using NodeShares = std::vector<NodeShare>;

/// A domain of a level.
struct DomainRef {
  LevelIndex level = 0;
  DomainIndex index = 0;
};

/// A domain with room for `need` replicas, within `inside` and not above level `highest`: on the
/// lowest level there is for a strategy that descends, on `highest` otherwise. Nothing if there is
/// none.
std::optional<DomainRef> FindDomain(Planner& planner, const Profile& profile, DomainRef inside,
                                    LevelIndex highest, std::int32_t need);

/// Breaks `need` replicas down to the nodes of `domain`, whose capacity is at least `need`; in
/// topology order.
NodeShares Distribute(Planner& planner, const Profile& profile, DomainRef domain,
                      std::int32_t need);

/// The part of a level's capacity that lies inside `domain`, and the index of its first entry.
struct ChildRooms {
  std::span<const std::int32_t> room;
  DomainIndex first = 0;
};
ChildRooms RoomsInside(const Topology& topology, const Profile& profile, DomainRef domain,
                       LevelIndex level);

/// Replica counts for the domains of `level` inside `domain` so that they sum to `need` and differ
/// by at most `max_skew`; domains that could not host one replica even when empty do not take part.
/// Nothing if there is no such set, which is exact.
std::optional<std::vector<Pick>> SolveSpread(ChildRooms rooms,
                                             std::span<const std::int32_t> when_empty,
                                             std::int32_t need, std::int32_t max_skew);

}  // namespace muster::engine
