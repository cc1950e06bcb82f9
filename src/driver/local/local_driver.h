// SPDX-License-Identifier: Apache-2.0
// The driver for one machine: real processes, on this machine's devices or on a virtual layout of
// them.
//
// Each gang has, on each of its nodes, a supervisor: a process of its own that outlives the server.
// Supervisor and driver meet in the gang's folder (`gang_files.h`), so a server that comes back
// finds what went on meanwhile. All state belongs to one watcher thread; orders are queued for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "driver/driver.h"
#include "driver/local/cgroup.h"
#include "driver/local/discovery.h"
#include "driver/local/ports.h"
#include "driver/local/virtual_nodes.h"

namespace muster::driver {

struct LocalDriverOptions {
  /// Plans, events and logs; made where it is missing, for the server's account alone. One driver
  /// at a time: a second one's `Open` is refused. Keep it on a local disk.
  std::string state_dir;
  /// Where the machine is looked for, and with which NVML.
  DiscoveryOptions discovery;
  /// Cuts the machine into virtual nodes; none: one node, as found.
  std::optional<VirtualLayout> virtual_layout;
  /// Groups of every rank are made below `cgroups.folder`. None: processes are tracked by parent.
  std::optional<CgroupOptions> cgroups = CgroupOptions{};
  PortRange ports;
  /// How a supervisor is started; the driver adds its arguments. Empty: this program with
  /// `supervise`. `/proc/self/exe` stays the running program when its file is replaced.
  std::vector<std::string> supervisor_command;
  /// May a root server run jobs of uid 0? Other servers run jobs of their own uid alone.
  bool allow_root = false;
  base::Bytes log_limit_per_rank = base::Bytes::Of(std::int64_t{64} << 20);
  /// Of all logs together: beyond it, those of the oldest finished attempts go.
  base::Bytes log_limit = base::Bytes::Of(std::int64_t{10} << 30);
  /// Between looks at devices' health and their foreign users.
  base::Duration watch_interval = base::Seconds(5);
};

class LocalDriver final : public Driver {
 public:
  explicit LocalDriver(LocalDriverOptions options);
  /// Closes; what runs goes on.
  ~LocalDriver() override;
  LocalDriver(const LocalDriver&) = delete;
  LocalDriver& operator=(const LocalDriver&) = delete;

  base::Status Open(Sink sink) override;
  std::vector<GangId> Adopt(const std::vector<Expected>& expected) override;
  void Give(const Order& order) override;
  base::Result<LogChunk> ReadLog(const LogRequest& request) const override;
  void Close() override;

 private:
  class Watcher;
  LocalDriverOptions options_;
  std::unique_ptr<Watcher> watcher_;
};

/// The body of a supervisor process: `muster supervise FOLDER NODE`, without those first two words.
/// For the driver alone: it passes open descriptors. Returns the exit status.
int RunSupervisor(std::span<const char* const> arguments);

}  // namespace muster::driver
