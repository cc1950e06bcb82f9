// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "model/job.h"

namespace muster::model {

/// Largest gang that the engine accepts, over all groups: bounds memory and search.
inline constexpr std::int64_t kMaxReplicas = 1 << 20;
/// Most task groups of a job: a launcher, workers, parameter servers and some more.
inline constexpr std::size_t kMaxGroups = 64;
/// Most GPU models that a group may name: each is tried by itself.
inline constexpr std::size_t kMaxModels = 64;

/// Rules between the fields of a request (each field's own range is checked where its text is
/// parsed). Every fault found; `where` is the path of the field in the job document
/// ("spec.tasks[0].minReplicas"). The engine takes only requests without faults.
base::Errors CheckRequest(const GangRequest& request);

}  // namespace muster::model
