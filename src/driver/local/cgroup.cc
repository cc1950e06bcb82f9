// SPDX-License-Identifier: Apache-2.0
#include "driver/local/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "driver/local/cgroup_files.h"

namespace muster::driver {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

constexpr std::size_t kMostProcsBytes = std::size_t{16} << 20;
// Groups below groups that a job made itself.
constexpr int kDeepest = 32;
constexpr std::int64_t kCpuPeriodUs = 100'000;
constexpr int kNvidiaMajor = 195;
// v1 writes "no limit" as the largest number of whole pages.
constexpr std::int64_t kV1NoMemoryLimit = std::int64_t{1} << 62;

constexpr std::array<std::string_view, kCgroupKinds> kControllers = {"cpu", "memory", "pids",
                                                                     "devices"};

constexpr std::size_t Index(CgroupKind kind) { return static_cast<std::size_t>(kind); }

std::string Enumerated(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string HeldText(const CgroupBacking& backing, bool cpu_ceiling) {
  std::array<std::vector<std::string>, 3> by_version;
  for (std::size_t kind = 0; kind < kCgroupKinds; ++kind) {
    if (kind == Index(CgroupKind::kDevices) && backing[kind] == 0) continue;
    const bool share = kind == Index(CgroupKind::kCpu) && backing[kind] != 0 && !cpu_ceiling;
    by_version[backing[kind]].push_back(share ? "cpu share" : std::string(kControllers[kind]));
  }
  std::vector<std::string> parts;
  for (const int version : {2, 1}) {
    const std::vector<std::string>& words = by_version[static_cast<std::size_t>(version)];
    if (!words.empty()) parts.push_back(Format("{} by cgroup v{}", Enumerated(words), version));
  }
  if (!by_version[0].empty()) parts.push_back(Enumerated(by_version[0]) + " not limited");
  if (backing[Index(CgroupKind::kDevices)] == 0) parts.emplace_back("devices advisory");
  return base::Join(parts, "; ");
}

constexpr std::string_view kNothingHeld = "no cgroups: processes are tracked by session and parent";

bool IsGroupName(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name != "." && name != ".." &&
         std::ranges::all_of(name, [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

void AddPids(const std::string& folder, int depth, std::vector<pid_t>& pids) {
  const std::string text =
      ReadSmallFile(folder + "/cgroup.procs", kMostProcsBytes).value_or(std::string());
  for (const std::string_view line : base::Split(text, '\n')) {
    // 0 is a process that has no number in our namespace; sending it a signal would hit ourselves.
    const std::optional<std::int64_t> pid = WholeNumber(line);
    if (pid && *pid > 0) pids.push_back(static_cast<pid_t>(*pid));
  }
  if (depth == 0) return;
  for (const std::string& name : FoldersIn(folder))
    AddPids(Format("{}/{}", folder, name), depth - 1, pids);
}

base::Status RemoveFolder(const std::string& folder, int depth) {
  if (depth > 0) {
    for (const std::string& name : FoldersIn(folder)) {
      if (base::Status status = RemoveFolder(Format("{}/{}", folder, name), depth - 1); !status)
        return status;
    }
  }
  if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return {};
  return SystemError("rmdir " + folder, errno);
}

/// A process that cannot be mistaken for a later one of the same number.
class ProcessFd {
 public:
  explicit ProcessFd(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ProcessFd(ProcessFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProcessFd& operator=(ProcessFd&&) = delete;
  ~ProcessFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  void Kill() const { ::syscall(SYS_pidfd_send_signal, fd_, SIGKILL, nullptr, 0); }

 private:
  int fd_;
};

/// Kills those of `pids` that are still members once they are held fast, and waits until one of
/// them has ended, at most `most_ms`.
void KillSome(const Cgroup& group, const std::vector<pid_t>& pids, int most_ms) {
  // As many at a time as descriptors are likely to be left; the rest in the next round.
  constexpr std::size_t kAtATime = 256;
  std::vector<std::pair<pid_t, ProcessFd>> held;
  for (const pid_t pid : pids) {
    ProcessFd process(pid);
    if (process.fd() >= 0) {
      held.emplace_back(pid, std::move(process));
    } else if (errno != ESRCH) {
      ::kill(pid, SIGKILL);  // an old kernel, or no descriptors: rather the small risk than not
    }
    if (held.size() == kAtATime) break;
  }
  const std::vector<pid_t> members = group.Pids();
  std::vector<pollfd> ends;
  for (const auto& [pid, process] : held) {
    if (!std::ranges::binary_search(members, pid)) continue;
    process.Kill();
    ends.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
  }
  // None could be held: they have just ended, or there are no descriptors left; look again soon.
  ::poll(ends.data(), ends.size(), ends.empty() ? std::min(most_ms, 1) : most_ms);
}

/// cgroup.subtree_control of `folder` hands the controller on to the groups below.
bool HandsOn(const std::string& folder, std::string_view controller) {
  const std::string path = folder + "/cgroup.subtree_control";
  if (HasWord(ReadSmallFile(path).value_or(""), controller)) return true;
  return WriteSmallFile(path, Format("+{}", controller)).has_value();
}

/// The folder for our groups below `top` or, where that may not be, below our own group; empty when
/// neither can be.
std::string PlaceFor(const CgroupMount& mount, const std::string& folder) {
  for (const std::string& base : {mount.top, mount.own}) {
    std::string place = Format("{}/{}", base, folder);
    if (MakeFolder(place) && ::access(place.c_str(), W_OK | X_OK) == 0) return place;
  }
  return {};
}

std::int64_t SharesOf(base::MilliCpu cpu) {
  return std::clamp<std::int64_t>(cpu.value() * 1024 / 1000, 2, 262'144);
}

std::int64_t QuotaOf(base::MilliCpu cpu) {
  return std::max<std::int64_t>(cpu.value() * (kCpuPeriodUs / 1000), 1000);
}

// Failures to write a limit are not looked at: what holds is read back from the kernel.
void Set(const std::string& path, std::string_view text) { (void)WriteSmallFile(path, text); }

void SetV2(const std::string& folder, const CgroupLimits& limits) {
  if (!limits.cpu.IsZero()) {
    // The kernel's own scale: 1 to 10000, 100 by default; 1 to 262144 shares spread over it.
    Set(folder + "/cpu.weight", Format("{}", 1 + (SharesOf(limits.cpu) - 2) * 9999 / 262'142));
    if (limits.cpu_is_ceiling)
      Set(folder + "/cpu.max", Format("{} {}", QuotaOf(limits.cpu), kCpuPeriodUs));
  }
  if (!limits.memory.IsZero()) {
    Set(folder + "/memory.max", Format("{}", limits.memory.value()));
    Set(folder + "/memory.swap.max", "0");
  }
  if (limits.processes > 0) Set(folder + "/pids.max", Format("{}", limits.processes));
}

/// True when no device is left that it was to deny.
bool SetV1(const std::string& folder, const CgroupLimits& limits) {
  if (!limits.cpu.IsZero()) {
    Set(folder + "/cpu.shares", Format("{}", SharesOf(limits.cpu)));
    if (limits.cpu_is_ceiling) {
      Set(folder + "/cpu.cfs_period_us", Format("{}", kCpuPeriodUs));
      Set(folder + "/cpu.cfs_quota_us", Format("{}", QuotaOf(limits.cpu)));
    }
  }
  if (!limits.memory.IsZero()) {
    const std::string bytes = Format("{}", limits.memory.value());
    // Memory with swap may not be below memory: the order depends on what was set before.
    Set(folder + "/memory.limit_in_bytes", bytes);
    Set(folder + "/memory.memsw.limit_in_bytes", bytes);
    Set(folder + "/memory.limit_in_bytes", bytes);
  }
  if (limits.processes > 0) Set(folder + "/pids.max", Format("{}", limits.processes));
  // A group may open everything that its parent may, but what is taken out; a group that is taken
  // over starts anew.
  Set(folder + "/devices.allow", "a");
  return std::ranges::all_of(limits.denied_gpus, [&](std::int32_t minor) {
    const std::string device = Format("c {}:{} rwm", kNvidiaMajor, minor);
    return WriteSmallFile(folder + "/devices.deny", device).has_value();
  });
}

bool IsNumberBelow(const std::string& path, std::int64_t bound) {
  const std::optional<std::int64_t> number = WholeNumber(ReadSmallFile(path).value_or(""));
  return number && *number >= 0 && *number < bound;
}

/// What the kernel says about a group.
struct Found {
  std::array<bool, kCgroupKinds> held{};
  bool cpu_ceiling = false;
};

Found ReadBack(const std::string& folder, bool v2) {
  constexpr std::int64_t kAny = INT64_MAX;
  Found found;
  const auto held = [&found](CgroupKind kind) -> bool& { return found.held[Index(kind)]; };
  held(CgroupKind::kPids) = IsNumberBelow(folder + "/pids.max", kAny);
  if (v2) {
    held(CgroupKind::kCpu) = ReadSmallFile(folder + "/cpu.weight").has_value();
    const std::string ceiling = ReadSmallFile(folder + "/cpu.max").value_or("max");
    found.cpu_ceiling = !ceiling.starts_with("max");
    held(CgroupKind::kMemory) = IsNumberBelow(folder + "/memory.max", kAny);
    return found;
  }
  held(CgroupKind::kCpu) = ReadSmallFile(folder + "/cpu.shares").has_value();
  found.cpu_ceiling = IsNumberBelow(folder + "/cpu.cfs_quota_us", kAny);
  held(CgroupKind::kMemory) = IsNumberBelow(folder + "/memory.limit_in_bytes", kV1NoMemoryLimit);
  return found;
}

}  // namespace

Cgroup::Cgroup(Cgroup&& other) noexcept
    : name_(std::move(other.name_)),
      v2_folder_(std::move(other.v2_folder_)),
      v1_folders_(std::move(other.v1_folders_)),
      entry_files_(std::move(other.entry_files_)),
      v2_fd_(std::exchange(other.v2_fd_, -1)),
      backing_(other.backing_),
      cpu_ceiling_(other.cpu_ceiling_) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  if (this == &other) return *this;
  if (v2_fd_ >= 0) ::close(v2_fd_);
  name_ = std::move(other.name_);
  v2_folder_ = std::move(other.v2_folder_);
  v1_folders_ = std::move(other.v1_folders_);
  entry_files_ = std::move(other.entry_files_);
  v2_fd_ = std::exchange(other.v2_fd_, -1);
  backing_ = other.backing_;
  cpu_ceiling_ = other.cpu_ceiling_;
  return *this;
}

Cgroup::~Cgroup() {
  if (v2_fd_ >= 0) ::close(v2_fd_);
}

std::vector<std::string> Cgroup::Folders() const {
  std::vector<std::string> folders = v1_folders_;
  if (!v2_folder_.empty()) folders.push_back(v2_folder_);
  return folders;
}

base::Status Cgroup::Enter(pid_t pid) const {
  for (const std::string& folder : Folders()) {
    if (base::Status status = WriteSmallFile(folder + "/cgroup.procs", Format("{}", pid)); !status)
      return status;
  }
  return {};
}

std::vector<pid_t> Cgroup::Pids() const {
  // A process may be in some hierarchies only: someone who was allowed to may have moved it.
  std::vector<pid_t> pids;
  for (const std::string& folder : Folders()) AddPids(folder, kDeepest, pids);
  std::ranges::sort(pids);
  const auto repeated = std::ranges::unique(pids);
  pids.erase(repeated.begin(), repeated.end());
  return pids;
}

base::Status Cgroup::KillAll(base::Duration patience) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::microseconds(patience.value());
  // Without cgroup.kill (v1, Linux before 5.14) processes that start others could outrun us: none
  // may start any more.
  for (const std::string& folder : Folders()) Set(folder + "/pids.max", "0");
  while (true) {
    if (!v2_folder_.empty()) Set(v2_folder_ + "/cgroup.kill", "1");
    const std::vector<pid_t> pids = Pids();
    if (pids.empty()) return {};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return Error{ErrorCode::kUnavailable,
                   Format("{} processes of cgroup {} do not end though killed (process {} first): "
                          "they wait for a device or disk; try again later",
                          pids.size(), name_, pids.front()),
                   {}};
    }
    KillSome(*this, pids, static_cast<int>(std::min<std::int64_t>(left, 100)));
  }
}

std::optional<std::int64_t> Cgroup::OomKills() const {
  if (!v2_folder_.empty()) {
    const base::Result<std::string> events = ReadSmallFile(v2_folder_ + "/memory.events");
    if (events) return KeyedNumber(*events, "oom_kill");
  }
  for (const std::string& folder : v1_folders_) {
    const base::Result<std::string> control = ReadSmallFile(folder + "/memory.oom_control");
    if (control) return KeyedNumber(*control, "oom_kill");
  }
  return std::nullopt;
}

base::Status Cgroup::Remove() {
  for (const std::string& folder : Folders()) {
    if (base::Status status = RemoveFolder(folder, kDeepest); !status) return status;
  }
  return {};
}

std::string Cgroup::Held() const {
  if (Folders().empty()) return std::string(kNothingHeld);
  return HeldText(backing_, cpu_ceiling_);
}

CgroupTree CgroupTree::Find(const CgroupOptions& options) {
  MUSTER_CHECK(IsGroupName(options.folder));
  CgroupTree tree;
  for (const CgroupMount& mount : CgroupMounts(options.root)) {
    Hierarchy found{.v2 = mount.v2};
    bool wanted = mount.v2;
    for (std::size_t kind = 0; kind < kCgroupKinds; ++kind) {
      found.kinds[kind] =
          std::ranges::find(mount.controllers, kControllers[kind]) != mount.controllers.end();
      wanted = wanted || found.kinds[kind];
    }
    if (!wanted || (mount.v2 && tree.has_v2())) continue;
    found.folder = PlaceFor(mount, options.folder);
    if (found.folder.empty()) continue;
    if (mount.v2) {
      const std::string base = found.folder.substr(0, found.folder.rfind('/'));
      const std::string available = ReadSmallFile(base + "/cgroup.controllers").value_or("");
      for (std::size_t kind = 0; kind < kCgroupKinds; ++kind) {
        found.kinds[kind] = HasWord(available, kControllers[kind]) &&
                            HandsOn(base, kControllers[kind]) &&
                            HandsOn(found.folder, kControllers[kind]);
      }
    }
    tree.hierarchies_.push_back(std::move(found));
  }
  return tree;
}

bool CgroupTree::has_v2() const {
  return std::ranges::any_of(hierarchies_, [](const Hierarchy& h) { return h.v2; });
}

std::string CgroupTree::Held() const {
  if (!usable()) return std::string(kNothingHeld);
  CgroupBacking backing{};
  for (const Hierarchy& hierarchy : hierarchies_) {
    for (std::size_t kind = 0; kind < kCgroupKinds; ++kind) {
      if (hierarchy.kinds[kind]) backing[kind] = hierarchy.v2 ? 2 : 1;
    }
  }
  return HeldText(backing, false);
}

base::Result<Cgroup> CgroupTree::Create(std::string_view name, const CgroupLimits& limits) const {
  if (!IsGroupName(name)) {
    return Error{ErrorCode::kInvalid,
                 Format("{} is no name of a cgroup: 1 to 128 letters, digits, '-', '_' and '.'",
                        base::Quote(name)),
                 {}};
  }
  std::optional<Error> fault;
  bool made = false;
  std::uint8_t devices = 0;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const std::string folder = Format("{}/{}", hierarchy.folder, name);
    if (base::Status status = MakeFolder(folder); !status) {
      fault = std::move(status.error());
      continue;
    }
    made = true;
    if (hierarchy.v2) {
      SetV2(folder, limits);
    } else if (SetV1(folder, limits) && hierarchy.kinds[Index(CgroupKind::kDevices)]) {
      devices = 1;  // the kernel does not list what was taken out
    }
  }
  if (fault && !made) {
    if (fault->code != ErrorCode::kExhausted) fault->code = ErrorCode::kIo;
    return *std::move(fault);
  }
  Cgroup group = Attach(name);
  group.backing_[Index(CgroupKind::kDevices)] = devices;
  return group;
}

base::Result<Cgroup> CgroupTree::Open(std::string_view name) const {
  if (usable() && (!IsGroupName(name) || !std::ranges::binary_search(Names(), name))) {
    return Error{ErrorCode::kNotFound, Format("there is no cgroup {}", base::Quote(name)), {}};
  }
  return Attach(name);
}

std::vector<std::string> CgroupTree::Names() const {
  std::vector<std::string> names;
  for (const Hierarchy& hierarchy : hierarchies_) {
    for (std::string& name : FoldersIn(hierarchy.folder)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

Cgroup CgroupTree::Attach(std::string_view name) const {
  Cgroup group;
  group.name_ = name;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const std::string folder = Format("{}/{}", hierarchy.folder, name);
    if (::access(folder.c_str(), F_OK) != 0) continue;
    if (hierarchy.v2) {
      group.v2_folder_ = folder;
      group.v2_fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else {
      group.v1_folders_.push_back(folder);
      group.entry_files_.push_back(folder + "/cgroup.procs");
    }
    const Found found = ReadBack(folder, hierarchy.v2);
    for (std::size_t kind = 0; kind < kCgroupKinds; ++kind) {
      if (hierarchy.kinds[kind] && found.held[kind]) group.backing_[kind] = hierarchy.v2 ? 2 : 1;
    }
    group.cpu_ceiling_ = group.cpu_ceiling_ || found.cpu_ceiling;
  }
  return group;
}

}  // namespace muster::driver
