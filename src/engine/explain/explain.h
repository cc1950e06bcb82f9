// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/explain/explanation.h"
#include "engine/state/tables.h"

namespace muster::engine {

/// Why the job is where it is, from the tables alone: works on a copy (O(1)) and may run on any
/// thread. `work_limit` bounds the search as a pass's budget does.
Explanation ExplainJob(const Tables& tables, model::JobId job, std::int64_t work_limit);

}  // namespace muster::engine
