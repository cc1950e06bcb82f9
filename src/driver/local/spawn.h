// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"
#include "driver/local/plan.h"

namespace muster::driver {

struct SupervisorStart {
  std::span<const std::string> command;  ///< what folder and node are added to
  GangFolder folder;
  std::size_t node = 0;
  int alive = -1;   ///< its end of the pipe, for writing
  int orders = -1;  ///< its end, for reading
};

/// Starts a supervisor in a session of its own. It stays our child, so nobody else can collect it,
/// and goes to init when we end. Its descriptors are the two, so both pipes have no gap: from here
/// until it ends somebody holds them.
base::Result<pid_t> SpawnSupervisor(const SupervisorStart& start);

}  // namespace muster::driver
