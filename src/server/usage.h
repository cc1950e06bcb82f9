// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "engine/state/view.h"
#include "server/picture.h"

namespace muster::server {

/// Adds what an attempt that has ended took, split at midnight UTC. Its time counts as lost from
/// its last checkpoint on where it ended by a fault or was sent back to the queue. Beyond
/// `kKeptUsageDays` the oldest are forgotten.
void AddUsage(UsageDays& days, const JobRecord& job, const AttemptRecord& attempt,
              const engine::View& view);

}  // namespace muster::server
