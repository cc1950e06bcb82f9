// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/id.h"

namespace muster::model {

/// Jobs are numbered by whoever submits them (server, simulator), densely and upwards.
using JobId = base::Id<struct JobTag>;
/// Rows of the engine's tables, given in order of first appearance and never reused.
using NodeId = base::Id<struct NodeTag>;
using QueueId = base::Id<struct QueueTag>;
using UserId = base::Id<struct UserTag>;

/// Number of a start of a job, from 1. A message about an older attempt changes nothing.
using Attempt = base::Id<struct AttemptTag>;

}  // namespace muster::model
