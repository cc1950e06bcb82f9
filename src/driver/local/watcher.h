// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "driver/local/gang.h"
#include "driver/local/gpu_watch.h"
#include "driver/local/local_driver.h"
#include "driver/local/local_nodes.h"
#include "driver/local/nvml.h"
#include "driver/local/ports.h"
#include "posix/descriptor.h"

namespace muster::driver {

/// The one thread that owns the gangs: takes orders, reads what supervisors wrote, and looks after
/// the devices. It waits for descriptors and due times, and never polls.
class LocalDriver::Watcher {
 public:
  Watcher(const LocalDriverOptions& options, Sink sink);
  ~Watcher();

  /// Finds nodes and gangs, reports the nodes, starts the thread.
  base::Status Open();
  std::vector<GangId> Adopt(const std::vector<Expected>& expected);
  void Give(const Order& order);

 private:
  struct Entry {
    Gang gang;
    bool is_told = false;  ///< the server is told of it: launched in this run, or adopted
    bool has_port = false;
  };

  // In the caller's thread, before the watcher's begins.
  base::Status TakeFolder();
  base::Status OpenNodes();
  void OpenGangs();

  // In the watcher's thread.
  void Run();
  void Wait();
  int TimeoutMs() const;
  bool RunTasks();
  void Post(std::function<void()> task);
  std::vector<GangId> TakeOver(const std::vector<Expected>& expected);
  void Take(const driver::Launch& launch);
  void Take(const driver::Stop& stop);
  void Take(const driver::Forget& forget);
  void Take(const driver::Signal& signal);
  base::Result<Plan> PlanFor(const driver::Launch& launch);
  void Add(Gang gang, bool is_told);
  bool WantsRetry(const Gang& gang) const;
  void LookAt(GangId id);
  void LookAtAll(bool only_retries);
  void ReleasePort(Entry& entry);
  void Drop(GangId id);
  void PollDevices();
  bool IsOurs(pid_t pid) const;
  void Tell(std::vector<Observation> observations);
  void Trim();

  LocalDriverOptions options_;
  Sink sink_;
  std::string gangs_folder_;
  std::string logs_folder_;
  posix::Descriptor lock_;
  LocalNodes nodes_;
  std::optional<PlannedCgroups> cgroups_;
  std::optional<Nvml> nvml_;
  std::optional<GpuWatch> gpu_watch_;
  PortLeases ports_;
  std::map<GangId, Entry> gangs_;
  std::unordered_map<int, GangId> owners_;  ///< descriptor -> gang
  std::set<GangId> unwatched_;              ///< some of whose descriptors could not be waited for
  std::int64_t log_bytes_ = 0;              ///< of all gangs that are dropped
  std::int64_t next_poll_us_ = 0;           ///< of the steady clock
  bool wants_retry_ = false;
  std::optional<std::function<void()>> on_orphans_gone_;

  posix::Descriptor epoll_;
  posix::Descriptor wake_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool is_closing_ = false;                  // guarded by mutex_
  std::thread thread_;
};

}  // namespace muster::driver
