// SPDX-License-Identifier: Apache-2.0
// One rank's keeper: a process between supervisor and tasks, forked by the supervisor. It starts
// the rank's processes, and all their descendants stay below it, so it knows when the rank is
// really gone. Supervisor and keepers guard each other: where the supervisor vanishes, its keepers
// kill their ranks; where a keeper vanishes, the supervisor does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/local/cgroup.h"
#include "driver/local/plan.h"
#include "driver/local/task_start.h"

namespace muster::driver {

/// From supervisor to keeper, one a message.
struct KeeperOrder {
  enum class Kind : std::uint8_t {
    kSignal,     ///< `number` to the main processes
    kTerminate,  ///< SIGTERM to every process; what is left waits for `kKill`
    kKill,       ///< everything, until nothing is left
  };
  Kind kind = Kind::kSignal;
  std::int32_t number = 0;
};

/// From keeper to supervisor, one a message. After the end it exits.
struct KeeperReport {
  bool is_end = false;  ///< else: every process runs its command
  RankExit exit;
};
std::string EncodeReport(const KeeperReport& report);
/// Empty: not a report.
std::optional<KeeperReport> DecodeReport(std::string_view bytes);

struct KeeperSetup {
  const Plan* plan = nullptr;
  std::int32_t rank = 0;
  const TaskAccount* account = nullptr;
  const Cgroup* cgroup = nullptr;  ///< null: none
  int socket = -1;                 ///< to the supervisor; its end is the supervisor's
  int output = -1;                 ///< for the tasks' output
  int alive = -1;                  ///< held open until the end
};

/// The whole life of a keeper, in a forked child with all signals blocked; never returns. Closes
/// every descriptor that it was not given.
///
/// A rank ends when its main processes have ended; whatever they leave behind is killed at once
/// (while stopping, when the grace is over). When one of several main processes fails, the others
/// get SIGTERM and 2 s.
[[noreturn]] void RunKeeper(const KeeperSetup& setup);

/// Closes every descriptor above standard error but `kept`.
void CloseAllBut(std::vector<int> kept);

}  // namespace muster::driver
