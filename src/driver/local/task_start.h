// SPDX-License-Identifier: Apache-2.0
// The last steps of a new process before it becomes a job's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/local/cgroup.h"
#include "driver/local/environment.h"
#include "driver/local/plan.h"

namespace muster::driver {

/// The account that tasks run as, looked up once by the supervisor.
struct TaskAccount {
  AccountFacts facts;
  std::vector<gid_t> groups;
  bool is_switched = false;  ///< false: the supervisor's own account, nothing is set
};

/// Reads the account's home, shell and groups. `kNotAllowed`: this process may not become it.
base::Result<TaskAccount> LookUpAccount(const Identity& owner);

struct TaskStart {
  const Plan* plan = nullptr;
  TaskPlace place;
  const TaskAccount* account = nullptr;
  const Cgroup* cgroup = nullptr;  ///< null: none
  pid_t keeper = 0;                ///< the parent; the task dies with it
  int output = -1;                 ///< becomes standard output and error
  int failure = -1;                ///< takes the text of what went wrong; closed by a good start
};

/// To be called in a forked child with one thread, and never returns. Session, group, limits and
/// account first; only then, as the user, secret files, checkpoint folder and workdir are touched,
/// and the command is run: its arguments as they are, never through a shell.
[[noreturn]] void BecomeTask(const TaskStart& start);

}  // namespace muster::driver
