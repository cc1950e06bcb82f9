// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/capacity/index.h"
#include "engine/state/state.h"
#include "model/job.h"
#include "model/reason.h"

namespace muster::engine {

/// One task group against the cluster as it is.
struct GroupPlan {
  std::int32_t replicas = 0;
  std::int32_t min_replicas = 0;
  std::int32_t step = 1;
  /// Ways to fill it, tried in order: one a device model where models may not be mixed.
  std::vector<ProfileId> variants;
};

/// The weakest constraint from `after` on.
struct RelaxPlan {
  base::Duration after;
  LevelIndex required = 0;
};

/// A request with names resolved: levels to indices, shapes to profiles. Good for one version of
/// the topology and of the hardware.
struct GangPlan {
  std::vector<GroupPlan> groups;
  LevelIndex required = 0;  ///< all replicas inside one domain of it
  LevelIndex fabric = 0;    ///< never beyond one domain of it, whatever is relaxed
  std::vector<RelaxPlan> relax;
  std::optional<LevelIndex> spread_level;
  std::int32_t max_skew = 1;
  std::optional<model::Reason>
      fault;  ///< names that the cluster does not have: can never be placed

  /// The constraint of a job that has waited for `waited`.
  LevelIndex RequiredAfter(base::Duration waited) const;
};

GangPlan PlanGang(const model::GangRequest& request, const State& state, CapacityIndex& index);

}  // namespace muster::engine
