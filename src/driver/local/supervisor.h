// SPDX-License-Identifier: Apache-2.0
// The process that looks after a gang's ranks on one node. It is started by the driver, outlives
// it, and ends when every rank has ended and that is on disk.
//
//   driver -> supervisor (N.orders, N.alive, N.events) -> keeper of each rank -> tasks
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/local/plan.h"

namespace muster::driver {

/// Descriptors that a supervisor finds open.
inline constexpr int kAliveDescriptor = 3;
inline constexpr int kOrdersDescriptor = 4;

/// The control group of a rank; no other launch has one of this name.
std::string CgroupName(const Plan& plan, std::int32_t rank);

/// Starts nothing before `kGo`, so that a gang runs on all of its nodes or on none.
/// Returns the exit status.
int Supervise(const GangFolder& folder, std::size_t node);

}  // namespace muster::driver
