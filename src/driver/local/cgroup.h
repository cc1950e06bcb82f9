// SPDX-License-Identifier: Apache-2.0
// Control groups: bounds on what the processes of a gang take of a machine, and a sure way to find
// and kill all of them. Works with v2, v1, both mounted side by side (hybrid), and none: then
// nothing is bound, everything here does nothing, and `Held` says so.
//
// What a group cannot enforce is never an error: `Held` tells people what holds.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace muster::driver {

struct CgroupOptions {
  std::string root;               ///< goes before /proc and the mount points; for tests
  std::string folder = "muster";  ///< of all groups of this server; one server each
};

struct CgroupLimits {
  base::MilliCpu cpu;              ///< its share where CPUs are short; 0: that of any other group
  bool cpu_is_ceiling = false;     ///< no more than `cpu` also where CPUs idle
  base::Bytes memory;              ///< 0: no bound. Swap counts where the kernel can tell
  std::int64_t processes = 32768;  ///< and threads; 0: no bound
  std::vector<std::int32_t> denied_gpus;  ///< N of each /dev/nvidiaN that it may not open
};

/// What can be bound.
enum class CgroupKind : std::uint8_t { kCpu, kMemory, kPids, kDevices, kLast = kDevices };
inline constexpr std::size_t kCgroupKinds = static_cast<std::size_t>(CgroupKind::kLast) + 1;
/// By which version each kind is bound: 2, 1, or 0 for not at all.
using CgroupBacking = std::array<std::uint8_t, kCgroupKinds>;

/// One group: a folder in each hierarchy that is used. The end of this object leaves the group as
/// it is. One thread at a time; any process of this machine with the right to may open it again.
class Cgroup {
 public:
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  const std::string& name() const { return name_; }

  /// For clone3 with CLONE_INTO_CGROUP; closed with this object. -1: no v2 here.
  int v2_fd() const { return v2_fd_; }
  /// The v1 files that a child writes "0" into before it becomes the task (which needs the
  /// privileges of the server still). Empty: no v1 here.
  const std::vector<std::string>& entry_files() const { return entry_files_; }
  /// Moves a process with its threads into the group, in every hierarchy, from outside.
  /// `kNotFound`: it has ended; `kNotAllowed`; `kIo`.
  base::Status Enter(pid_t pid) const;

  /// All processes in it and in groups below it, sorted.
  std::vector<pid_t> Pids() const;
  /// Kills every process in it, also those that appear meanwhile, and waits until it is empty. The
  /// caller must not be in it. `kUnavailable`: some are still there after `patience` (waiting for a
  /// device or disk); calling again is fine. Afterwards nothing may start in it any more.
  base::Status KillAll(base::Duration patience = base::Seconds(10)) const;
  /// Processes killed for the memory limit so far. Empty: nobody counts.
  std::optional<std::int64_t> OomKills() const;
  /// Removes the empty group; one that is gone already is fine. `kUnavailable`: processes are in
  /// it.
  base::Status Remove();

  /// Which limits really hold: "memory and pids by cgroup v1; cpu not limited; devices advisory".
  std::string Held() const;
  const CgroupBacking& backing() const { return backing_; }

 private:
  friend class CgroupTree;
  Cgroup() = default;
  std::vector<std::string> Folders() const;

  std::string name_;
  std::string v2_folder_;                ///< empty: none
  std::vector<std::string> v1_folders_;  ///< one a hierarchy
  std::vector<std::string> entry_files_;
  int v2_fd_ = -1;
  CgroupBacking backing_{};
  bool cpu_ceiling_ = false;
};

/// Where groups can be made on this machine.
class CgroupTree {
 public:
  /// Reads what is mounted and tries what can be written; makes the folder `options.folder` there.
  /// Never fails: where nothing can be written it is a tree that does nothing.
  static CgroupTree Find(const CgroupOptions& options);

  /// False: processes have to be tracked by session and parent.
  bool usable() const { return !hierarchies_.empty(); }
  /// Whether a process can be started inside of a group and killed with it in one step.
  bool has_v2() const;
  /// What a group here will hold, for people, as `Cgroup::Held`.
  std::string Held() const;

  /// Makes the group and sets its limits; one that is there is taken over. `kInvalid`: `name` is
  /// not made of letters, digits, `-`, `_` and `.`; `kExhausted`: no more groups or memory; `kIo`:
  /// none of the folders could be made.
  base::Result<Cgroup> Create(std::string_view name, const CgroupLimits& limits) const;
  /// A group made earlier, also by another run of the program. `kNotFound`: there is none. On a
  /// tree that does nothing: one that does nothing. Its `Held` calls devices advisory, since the
  /// kernel does not tell which are denied.
  base::Result<Cgroup> Open(std::string_view name) const;
  /// Of all groups that are there, sorted.
  std::vector<std::string> Names() const;

 private:
  struct Hierarchy {
    bool v2 = false;
    std::string folder;                      ///< where the groups are
    std::array<bool, kCgroupKinds> kinds{};  ///< what it can bound
  };

  Cgroup Attach(std::string_view name) const;

  std::vector<Hierarchy> hierarchies_;
};

}  // namespace muster::driver
