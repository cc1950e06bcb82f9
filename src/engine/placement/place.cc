// SPDX-License-Identifier: Apache-2.0
#include "engine/placement/place.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/placement/distribute.h"

namespace muster::engine {
namespace {

using model::Outcome;
using model::ReasonCode;
using Ranks = std::vector<model::ReplicaPlacement>;

std::int32_t MostIn(std::span<const std::int32_t> rooms) {
  return rooms.empty() ? 0 : *std::ranges::max_element(rooms);
}

/// The largest size of the group that fits `room`, or 0.
std::int32_t LargestSize(const GroupPlan& group, std::int32_t room) {
  if (room >= group.replicas) return group.replicas;
  if (room < group.min_replicas) return 0;
  return group.min_replicas + (room - group.min_replicas) / group.step * group.step;
}

PlaceResult Failure(Outcome outcome, ReasonCode code, std::int64_t count, int group) {
  return {.outcome = outcome, .reason = {code, count}, .group = group, .placement = nullptr};
}

/// What keeps `need` replicas from fitting into one domain of `level`, given that they do not.
PlaceResult WhyTooLittle(const GangPlan& plan, const Profile& profile, LevelIndex level,
                         std::int32_t need, int group) {
  const std::int32_t missing = need - MostIn(profile.capacity(level));
  if (profile.Total() >= need) {
    const auto beyond = [&plan](const RelaxPlan& step) { return step.required > plan.fabric; };
    const bool by_fabric = level == plan.fabric &&
                           (plan.required > plan.fabric || std::ranges::any_of(plan.relax, beyond));
    return Failure(Outcome::kNotNow, by_fabric ? ReasonCode::kFabric : ReasonCode::kTopology,
                   missing, group);
  }
  const auto slots = profile.slots();
  if (std::accumulate(slots.begin(), slots.end(), std::int64_t{0}) >= need) {
    for (LevelIndex l = 0; l <= level; ++l) {
      if (profile.Rule(l).multiple > 1)
        return Failure(Outcome::kNotNow, ReasonCode::kSegment, missing, group);
      if (profile.HasRule(l))
        return Failure(Outcome::kNotNow, ReasonCode::kAntiAffinity, missing, group);
    }
  }
  return Failure(Outcome::kNotNow, ReasonCode::kCapacity, missing, group);
}

/// Node shares to replicas with devices.
Ranks MakeRanks(const State& state, const Shape& shape, const NodeShares& shares) {
  Ranks ranks;
  const int devices = shape.devices();
  for (const NodeShare& share : shares) {
    const model::NodeId node = state.tables().topology->node_at(share.position);
    const NodeRow& row = state.node(node);
    const HardwareFit& fit = shape.fit(row.hardware);
    const ReplicaNeed need = shape.NeedOn(*row.spec);
    model::DeviceMask free = devices > 0 ? FreeDevices(row) : 0;
    for (std::int32_t i = 0; i < share.replicas; ++i) {
      const model::DeviceMask mask = devices > 0 ? PickDevices(fit, free, devices) : 0;
      free &= ~mask;
      ranks.push_back({.node = node, .devices = mask, .cpu = need.cpu, .memory = need.memory});
    }
  }
  return ranks;
}

/// The lowest level with one domain that holds all ranks.
std::uint8_t LevelOf(const Topology& topology, const Ranks& ranks) {
  Position first = kNoPosition;
  Position last = 0;
  for (const model::ReplicaPlacement& rank : ranks) {
    const Position position = topology.position_of(rank.node);
    first = std::min(first, position);
    last = std::max(last, position);
  }
  LevelIndex level = 0;
  while (topology.DomainAt(level, first) != topology.DomainAt(level, last)) ++level;
  return static_cast<std::uint8_t>(level);
}

PlaceResult Placed(const State& state, std::vector<Ranks> groups) {
  auto placement = std::make_shared<model::GangPlacement>();
  for (Ranks& ranks : groups) {
    placement->group_sizes.push_back(static_cast<std::int32_t>(ranks.size()));
    if (placement->ranks.empty()) {
      placement->ranks = std::move(ranks);
    } else {
      placement->ranks.insert(placement->ranks.end(), ranks.begin(), ranks.end());
    }
  }
  placement->level = LevelOf(*state.tables().topology, placement->ranks);
  return {.outcome = Outcome::kPlaced,
          .reason = {ReasonCode::kPlaced, 0},
          .group = -1,
          .placement = std::move(placement)};
}

/// `need` replicas within `domain`, on the lowest level there is.
std::optional<NodeShares> PlaceInside(Planner& planner, const GangPlan& plan, ProfileId id,
                                      DomainRef domain, std::int32_t need) {
  const Profile& profile = planner.index.Get(id);
  if (profile.capacity(domain.level)[domain.index] < need) return std::nullopt;
  if (!plan.spread_level || *plan.spread_level >= domain.level) {
    const auto found = FindDomain(planner, profile, domain, domain.level, need);
    if (!found) return std::nullopt;
    return Distribute(planner, profile, *found, need);
  }
  const LevelIndex level = *plan.spread_level;
  const Topology& topology = *planner.state.tables().topology;
  const ChildRooms rooms = RoomsInside(topology, profile, domain, level);
  // Who could host a replica when idle takes part in the spread.
  const ChildRooms when_empty = RoomsInside(topology, planner.index.WhenEmpty(id), domain, level);
  planner.work += static_cast<std::int64_t>(rooms.room.size());
  const auto picks = SolveSpread(rooms, when_empty.room, need, plan.max_skew);
  if (!picks) return std::nullopt;
  NodeShares shares;
  for (const Pick& pick : *picks) {
    const NodeShares part =
        Distribute(planner, profile, {level, rooms.first + pick.child}, pick.replicas);
    shares.insert(shares.end(), part.begin(), part.end());
  }
  return shares;
}

/// One group without spread: exact, and all that most jobs need.
PlaceResult PlaceSingle(Planner& planner, const GangPlan& plan, LevelIndex level) {
  const GroupPlan& group = plan.groups.front();
  std::optional<PlaceResult> failure;
  for (const ProfileId id : group.variants) {
    const Profile& profile = planner.index.Get(id);
    const auto rooms = profile.capacity(level);
    planner.work += static_cast<std::int64_t>(rooms.size());
    const std::int32_t size = LargestSize(group, MostIn(rooms));
    if (size == 0) {
      PlaceResult why = WhyTooLittle(plan, profile, level, group.min_replicas, 0);
      if (!failure || why.reason.count < failure->reason.count) failure = std::move(why);
      continue;
    }
    const auto domain =
        FindDomain(planner, profile, {planner.state.tables().topology->top(), 0}, level, size);
    MUSTER_CHECK(domain.has_value());
    std::vector<Ranks> ranks;
    ranks.push_back(
        MakeRanks(planner.state, profile.shape(), Distribute(planner, profile, *domain, size)));
    planner.work += size;
    return Placed(planner.state, std::move(ranks));
  }
  return *failure;
}

using Sizes = std::vector<std::int32_t>;

/// Several groups, or spread: constructed group by group in trials, domain by domain.
class Construction {
 public:
  Construction(Planner& planner, const GangPlan& plan, LevelIndex level)
      : planner_(planner), plan_(plan), level_(level) {
    order_.resize(plan.groups.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // The hardest to place first: most devices a replica, then most replicas.
    std::ranges::stable_sort(order_, [this](std::size_t a, std::size_t b) {
      const int devices_a = Devices(a);
      const int devices_b = Devices(b);
      if (devices_a != devices_b) return devices_a > devices_b;
      return plan_.groups[a].replicas > plan_.groups[b].replicas;
    });
  }

  PlaceResult Run() {
    Sizes most;
    Sizes least;
    for (const GroupPlan& group : plan_.groups) {
      most.push_back(group.replicas);
      least.push_back(group.min_replicas);
    }
    PlaceResult result = Try(most);
    if (result.outcome == Outcome::kPlaced || most == least) return result;
    result = Try(least);
    if (result.outcome != Outcome::kPlaced) return result;
    for (std::size_t g = 0; g < least.size(); ++g) Grow(least, g, result);
    return result;
  }

 private:
  int Devices(std::size_t group) const {
    return planner_.index.Get(plan_.groups[group].variants.front()).shape().devices();
  }

  /// Raises group `g` to the largest size that still fits with the others as they are.
  void Grow(Sizes& sizes, std::size_t g, PlaceResult& best) {
    const GroupPlan& group = plan_.groups[g];
    std::int32_t low = 0;  // steps known to fit
    std::int32_t high = (group.replicas - group.min_replicas + group.step - 1) / group.step;
    while (low < high) {
      const std::int32_t middle = low + (high - low + 1) / 2;
      Sizes wanted = sizes;
      wanted[g] = std::min(group.replicas, group.min_replicas + middle * group.step);
      PlaceResult result = Try(wanted);
      if (result.outcome == Outcome::kPlaced) {
        low = middle;
        best = std::move(result);
      } else {
        high = middle - 1;
      }
    }
    sizes[g] = std::min(group.replicas, group.min_replicas + low * group.step);
  }

  /// Domains of a level in which each group alone has room.
  std::vector<DomainIndex> Candidates(LevelIndex level, const Sizes& sizes) {
    const std::size_t domains = planner_.state.tables().topology->domains(level).size();
    std::vector<bool> fits(domains, true);
    std::vector<std::int64_t> room(domains);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
      std::vector<std::int32_t> most(domains);
      for (const ProfileId id : plan_.groups[g].variants) {
        const auto capacity = planner_.index.Get(id).capacity(level);
        for (std::size_t d = 0; d < domains; ++d) most[d] = std::max(most[d], capacity[d]);
      }
      for (std::size_t d = 0; d < domains; ++d) {
        fits[d] = fits[d] && most[d] >= sizes[g];
        room[d] += most[d];
      }
    }
    planner_.work += static_cast<std::int64_t>(domains * plan_.groups.size());
    std::vector<DomainIndex> candidates;
    for (DomainIndex d = 0; d < domains; ++d) {
      if (fits[d]) candidates.push_back(d);
    }
    if (planner_.strategy.descends) {  // tightest first
      std::ranges::stable_sort(candidates, {}, [&room](DomainIndex d) { return room[d]; });
    }
    return candidates;
  }

  PlaceResult Try(const Sizes& sizes) {
    std::int32_t tried =
        0;  // on the present level: many small domains must not use up the larger ones' tries
    bool any = false;
    // A spread is over the whole allowed domain; everything else goes as low as it can.
    const bool descend = planner_.strategy.descends && !plan_.spread_level;
    for (LevelIndex level = descend ? 0 : level_; level <= level_; ++level) {
      tried = 0;
      for (const DomainIndex d : Candidates(level, sizes)) {
        any = true;
        if (++tried > planner_.search_limit) {
          if (level < level_) break;
          return Failure(Outcome::kSearchEnded, ReasonCode::kSearchLimit, planner_.search_limit,
                         -1);
        }
        if (auto groups = Build({level, d}, sizes))
          return Placed(planner_.state, std::move(*groups));
      }
    }
    if (!any) return WhyNoCandidate(sizes);
    // One group's spread was solved exactly in every domain; several groups were built greedily,
    // which proves nothing.
    if (plan_.groups.size() == 1)
      return Failure(Outcome::kNotNow, ReasonCode::kSpread, sizes.front(), 0);
    return Failure(Outcome::kSearchEnded, ReasonCode::kTogether, tried, -1);
  }

  PlaceResult WhyNoCandidate(const Sizes& sizes) {
    for (std::size_t g = 0; g < sizes.size(); ++g) {
      std::optional<PlaceResult> closest;
      for (const ProfileId id : plan_.groups[g].variants) {
        const Profile& profile = planner_.index.Get(id);
        if (MostIn(profile.capacity(level_)) >= sizes[g]) {
          closest.reset();
          break;
        }
        PlaceResult why = WhyTooLittle(plan_, profile, level_, sizes[g], static_cast<int>(g));
        if (!closest || why.reason.count < closest->reason.count) closest = std::move(why);
      }
      if (closest) return *closest;
    }
    return Failure(Outcome::kNotNow, ReasonCode::kTogether, 0, -1);
  }

  /// All groups inside one domain, each beside those placed before it.
  std::optional<std::vector<Ranks>> Build(DomainRef domain, const Sizes& sizes) {
    std::vector<Ranks> groups(sizes.size());
    for (const GroupPlan& group : plan_.groups) {
      for (const ProfileId id : group.variants)
        planner_.index.Get(id);  // up to date before the trial
    }
    planner_.state.BeginTrial();
    bool complete = true;
    for (const std::size_t g : order_) {
      auto ranks = BuildGroup(domain, g, sizes[g]);
      complete = ranks.has_value();
      if (!complete) break;
      groups[g] = std::move(*ranks);
    }
    planner_.state.UndoTrial();
    if (!complete) return std::nullopt;
    return groups;
  }

  /// Finds places for one group and claims them in the running trial.
  std::optional<Ranks> BuildGroup(DomainRef domain, std::size_t g, std::int32_t size) {
    for (const ProfileId id : plan_.groups[g].variants) {
      const auto shares = PlaceInside(planner_, plan_, id, domain, size);
      if (!shares) continue;
      const Shape& shape = planner_.index.Get(id).shape();
      Ranks ranks = MakeRanks(planner_.state, shape, *shares);
      planner_.work += size;
      for (const model::ReplicaPlacement& rank : ranks)
        planner_.state.Claim({rank, shape.request()});
      return ranks;
    }
    return std::nullopt;
  }

  Planner& planner_;
  const GangPlan& plan_;
  LevelIndex level_;
  std::vector<std::size_t> order_;
};

}  // namespace

PlaceResult PlaceGang(Planner& planner, const GangPlan& plan, LevelIndex required) {
  if (plan.fault)
    return {.outcome = Outcome::kNever, .reason = *plan.fault, .group = -1, .placement = nullptr};
  if (plan.groups.size() == 1 && !plan.spread_level) return PlaceSingle(planner, plan, required);
  return Construction(planner, plan, required).Run();
}

std::optional<PlaceResult> ProveNever(Planner& planner, const GangPlan& plan) {
  if (plan.fault) return Failure(Outcome::kNever, plan.fault->code, plan.fault->count, -1);
  LevelIndex widest = plan.required;
  for (const RelaxPlan& step : plan.relax) widest = std::max(widest, step.required);
  widest = std::min(widest, plan.fabric);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const GroupPlan& group = plan.groups[g];
    std::optional<PlaceResult> closest;
    for (const ProfileId id : group.variants) {
      const Profile& empty = planner.index.WhenEmpty(id);
      if (MostIn(empty.capacity(widest)) >= group.min_replicas) {
        closest.reset();
        break;
      }
      PlaceResult why = WhyTooLittle(plan, empty, widest, group.min_replicas, static_cast<int>(g));
      why.outcome = Outcome::kNever;
      if (!closest || why.reason.count < closest->reason.count) closest = std::move(why);
    }
    if (closest) return closest;
  }
  return std::nullopt;
}

}  // namespace muster::engine
