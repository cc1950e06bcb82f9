// SPDX-License-Identifier: Apache-2.0
// From a gang to devices: the search. What fits comes from the capacity index, which of several is
// taken from a strategy.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "engine/capacity/index.h"
#include "engine/placement/gang.h"
#include "engine/placement/strategy.h"
#include "engine/state/state.h"
#include "model/decision.h"
#include "model/reason.h"

namespace muster::engine {

/// What a search needs. The state is changed only inside trials that are undone before `PlaceGang`
/// returns.
struct Planner {
  State& state;
  CapacityIndex& index;
  const Strategy& strategy;
  base::Rng rng;
  std::int32_t search_limit = 64;  ///< most constructions tried
  std::int64_t work = 0;           ///< units used: domains looked at and nodes taken
};

/// `placement` is set iff `outcome` is kPlaced. Otherwise `reason` is what stood in the way: first,
/// for the group at index `group` (-1: all together), with as many replicas missing as
/// `reason.count` says.
struct PlaceResult {
  model::Outcome outcome = model::Outcome::kNotNow;
  model::Reason reason;
  int group = -1;
  model::GangPlacementPtr placement;
};

/// Finds room for the whole gang inside one domain of `required` (or lower), all groups or none.
/// Kept: every rule of the plan. The result is a function of state, plan, level and the planner's
/// random stream.
///
/// *NotNow* and *Never* are proofs: a necessary condition fails (too few slots in every domain, a
/// group's spread has no solution). A construction that fails although the necessary conditions
/// hold is *SearchEnded*.
PlaceResult PlaceGang(Planner& planner, const GangPlan& plan, LevelIndex required);

/// A proof that the gang would not fit the cluster as it stands even if it were idle, healthy and
/// ready, under the weakest constraint that its relax steps lead to; nothing if there is no such
/// proof. Looks at every node.
std::optional<PlaceResult> ProveNever(Planner& planner, const GangPlan& plan);

}  // namespace muster::engine
