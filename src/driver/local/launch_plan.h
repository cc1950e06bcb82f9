// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "driver/driver.h"
#include "driver/local/local_nodes.h"
#include "driver/local/plan.h"

namespace muster::driver {

/// What of a plan does not follow from the launch.
struct PlanFacts {
  const LocalNodes* nodes = nullptr;
  bool allow_root = false;
  std::uint16_t master_port = 0;
  std::string logs;  ///< the folder of all logs
  std::int64_t log_bytes_per_rank = 0;
  std::optional<PlannedCgroups> cgroups;
};

/// The plan of a launch, under an invocation of its own, or why it may not or cannot be run here:
/// `kNotAllowed` the account, `kNotFound` a node or device, `kInvalid` text that no process can be
/// given.
base::Result<Plan> MakePlan(const Launch& launch, const PlanFacts& facts);

}  // namespace muster::driver
