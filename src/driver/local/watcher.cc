// SPDX-License-Identifier: Apache-2.0
#include "driver/local/watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <future>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "driver/local/cgroup.h"
#include "driver/local/files.h"
#include "driver/local/launch_plan.h"
#include "driver/local/log_file.h"
#include "driver/local/process_tree.h"
#include "posix/lock.h"

namespace muster::driver {
namespace {

constexpr int kRetryMs = 100;
constexpr std::chrono::seconds kOrphanPatience{10};
constexpr int kMostParents = 1024;

std::int64_t SteadyUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint32_t RandomStart() {
  std::uint32_t number = 0;
  (void)getrandom(&number, sizeof(number), 0);
  return number;
}

/// "12-3".
std::optional<GangId> GangOfFolder(std::string_view name) {
  const std::vector<std::string_view> parts = base::Split(name, '-');
  GangId id;
  if (parts.size() != 2) return std::nullopt;
  const auto parse = [](std::string_view text, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (!parse(parts[0], id.job.value) || !parse(parts[1], id.attempt.value)) return std::nullopt;
  return id;
}

}  // namespace

LocalDriver::Watcher::Watcher(const LocalDriverOptions& options, Sink sink)
    : options_(options), sink_(std::move(sink)), ports_(options.ports, RandomStart()) {
  options_.state_dir = std::filesystem::absolute(options_.state_dir).lexically_normal().string();
  gangs_folder_ = options_.state_dir + "/gangs";
  logs_folder_ = options_.state_dir + "/logs";
  if (options_.supervisor_command.empty()) {
    options_.supervisor_command = {"/proc/self/exe", "supervise"};
  }
}

LocalDriver::Watcher::~Watcher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  eventfd_write(wake_.number(), 1);
  thread_.join();
}

// Opening.

base::Status LocalDriver::Watcher::Open() {
  if (base::Status taken = TakeFolder(); !taken) return taken;
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.number()}};
  if (!epoll_.IsOpen() || !wake_.IsOpen() ||
      epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, wake_.number(), &event) != 0) {
    return FileError("watch", options_.state_dir, errno);
  }
  if (base::Status opened = OpenNodes(); !opened) return opened;
  OpenGangs();
  // Signals to the server are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {};
}

base::Status LocalDriver::Watcher::TakeFolder() {
  for (const std::string& path : {gangs_folder_, logs_folder_}) {
    if (base::Status made = MakeFolders(path); !made) return made;
  }
  const std::string path = options_.state_dir + "/lock";
  lock_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_.IsOpen()) return FileError("open", path, errno);
  if (posix::LockPatiently(lock_.number(), LOCK_EX) == 0) return {};
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return base::Error{
      base::ErrorCode::kRefused,
      base::Format("another server uses the folder '{}'; stop it, or give this one a "
                   "folder of its own",
                   options_.state_dir)};
}

base::Status LocalDriver::Watcher::OpenNodes() {
  std::string held = "no cgroups: processes are tracked by parent";
  if (options_.cgroups) {
    const CgroupTree groups = CgroupTree::Find(*options_.cgroups);
    held = groups.Held();
    if (groups.usable()) {
      cgroups_ = PlannedCgroups{.root = options_.cgroups->root,
                                .folder = options_.cgroups->folder,
                                .has_limits = !options_.virtual_layout.has_value()};
    }
  }
  base::Result<LocalNodes> nodes =
      FindNodes(options_.discovery, options_.virtual_layout, held, options_.state_dir + "/nodes");
  if (!nodes) return nodes.error();
  nodes_ = std::move(*nodes);
  for (const NodeFound& node : nodes_.found) sink_(node);
  for (const std::string& name : nodes_.missing) sink_(NodeMissing{name});
  if (nodes_.is_virtual || nodes_.machine.gpus.empty()) return {};
  base::Result<Nvml> nvml = Nvml::Open(options_.discovery.nvml);
  if (!nvml) return {};
  nvml_.emplace(std::move(*nvml));
  gpu_watch_.emplace(*nvml_, GpuWatchOptions{.node = nodes_.machine.spec.name,
                                             .gpus = nodes_.machine.gpus,
                                             .root = options_.discovery.root});
  return {};
}

void LocalDriver::Watcher::OpenGangs() {
  for (const std::string& name : NamesIn(gangs_folder_)) {
    const std::optional<GangId> id = GangOfFolder(name);
    if (!id) continue;
    base::Result<Gang> gang = Gang::Reopen(*id, {gangs_folder_ + "/" + name});
    if (!gang) continue;
    if (gang->port() != 0 && !gang->HasEnded()) ports_.Restore(gang->port());
    Add(std::move(*gang), false);
  }
  log_bytes_ = TrimLogs(logs_folder_, INT64_MAX, [](GangId) { return true; });
  Trim();
}

// The face.

std::vector<GangId> LocalDriver::Watcher::Adopt(const std::vector<Expected>& expected) {
  auto unknown = std::make_shared<std::promise<std::vector<GangId>>>();
  auto orphans_gone = std::make_shared<std::promise<void>>();
  std::future<std::vector<GangId>> answer = unknown->get_future();
  std::future<void> gone = orphans_gone->get_future();
  Post([this, unknown, orphans_gone, expected] {
    on_orphans_gone_ = [orphans_gone] { orphans_gone->set_value(); };
    unknown->set_value(TakeOver(expected));
  });
  // What the server gives away next must be free by then; what cannot die does not hold it up.
  gone.wait_for(kOrphanPatience);
  return answer.get();
}

void LocalDriver::Watcher::Give(const Order& order) {
  Post([this, order] { std::visit([this](const auto& kind) { Take(kind); }, order); });
}

void LocalDriver::Watcher::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  eventfd_write(wake_.number(), 1);
}

// The thread.

void LocalDriver::Watcher::Run() {
  LookAtAll(false);
  while (true) {
    if (!RunTasks()) return;
    if (wants_retry_) LookAtAll(true);
    if (on_orphans_gone_ && std::none_of(gangs_.begin(), gangs_.end(), [](const auto& entry) {
          return entry.second.gang.IsAbandoned();
        })) {
      (*std::exchange(on_orphans_gone_, std::nullopt))();
    }
    if (gpu_watch_ && SteadyUs() >= next_poll_us_) PollDevices();
    Wait();
  }
}

int LocalDriver::Watcher::TimeoutMs() const {
  if (wants_retry_) return kRetryMs;
  if (!gpu_watch_) return -1;
  return static_cast<int>(
      std::clamp<std::int64_t>((next_poll_us_ - SteadyUs()) / 1000 + 1, 0, 3'600'000));
}

void LocalDriver::Watcher::Wait() {
  std::array<epoll_event, 64> events{};
  const int count =
      epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), TimeoutMs());
  for (int i = 0; i < count; ++i) {
    const int number = events[static_cast<std::size_t>(i)].data.fd;
    if (number == wake_.number()) {
      eventfd_t ignored = 0;
      eventfd_read(wake_.number(), &ignored);
    } else if (const auto owner = owners_.find(number); owner != owners_.end()) {
      LookAt(owner->second);
    }
  }
}

/// Runs what was posted. False: there is nothing more to come.
bool LocalDriver::Watcher::RunTasks() {
  while (true) {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return !is_closing_;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void LocalDriver::Watcher::Tell(std::vector<Observation> observations) {
  for (Observation& observation : observations) sink_(std::move(observation));
}

// Gangs.

void LocalDriver::Watcher::Add(Gang gang, bool is_told) {
  const GangId id = gang.id();
  for (const int number : gang.Descriptors()) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = number}};
    owners_[number] = id;
    // What cannot be waited for is looked at time and again.
    if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, number, &event) != 0) unwatched_.insert(id);
  }
  const bool has_port = gang.port() != 0 && !gang.HasEnded();
  gangs_.insert_or_assign(id,
                          Entry{.gang = std::move(gang), .is_told = is_told, .has_port = has_port});
}

bool LocalDriver::Watcher::WantsRetry(const Gang& gang) const {
  return gang.WantsRetry() || (unwatched_.contains(gang.id()) && !gang.IsGone());
}

void LocalDriver::Watcher::LookAt(GangId id) {
  const auto entry = gangs_.find(id);
  if (entry == gangs_.end()) return;
  Gang& gang = entry->second.gang;
  std::vector<Observation> news = gang.Look();
  if (WantsRetry(gang)) wants_retry_ = true;
  // Before the server is told, whose next launch may need it.
  if (gang.HasEnded()) ReleasePort(entry->second);
  if (gang.IsAbandoned()) {
    if (gang.IsGone()) Drop(id);
  } else if (entry->second.is_told) {
    Tell(std::move(news));
  }
}

/// Once: the next gang may have it by then.
void LocalDriver::Watcher::ReleasePort(Entry& entry) {
  if (!std::exchange(entry.has_port, false)) return;
  ports_.Release(entry.gang.port());
}

void LocalDriver::Watcher::LookAtAll(bool only_retries) {
  wants_retry_ = false;
  std::vector<GangId> ids;
  for (const auto& [id, entry] : gangs_) {
    if (!only_retries || WantsRetry(entry.gang)) ids.push_back(id);
  }
  for (const GangId id : ids) LookAt(id);
}

void LocalDriver::Watcher::Drop(GangId id) {
  const auto entry = gangs_.find(id);
  entry->second.gang.RemoveFolder();
  ReleasePort(entry->second);
  unwatched_.erase(id);
  gangs_.erase(entry);
  log_bytes_ += LogBytes(LogFolder(logs_folder_, id));
  Trim();
}

std::vector<GangId> LocalDriver::Watcher::TakeOver(const std::vector<Expected>& expected) {
  std::vector<GangId> unknown;
  for (const Expected& gang : expected) {
    const auto entry = gangs_.find(gang.gang);
    if (entry == gangs_.end() || !entry->second.gang.IsReadable()) {
      unknown.push_back(gang.gang);
      continue;
    }
    entry->second.is_told = true;
    entry->second.gang.Approve();
    Tell(entry->second.gang.Everything());
    LookAt(gang.gang);
  }
  std::vector<GangId> orphans;
  for (const auto& [id, entry] : gangs_) {
    if (!entry.is_told) orphans.push_back(id);
  }
  for (const GangId id : orphans) {
    gangs_.at(id).gang.Abandon();
    LookAt(id);
  }
  return unknown;
}

base::Result<Plan> LocalDriver::Watcher::PlanFor(const driver::Launch& launch) {
  const base::Result<std::uint16_t> port = ports_.Lease();
  if (!port) return port.error();
  base::Result<Plan> plan =
      MakePlan(launch, {.nodes = &nodes_,
                        .allow_root = options_.allow_root,
                        .master_port = *port,
                        .logs = logs_folder_,
                        .log_bytes_per_rank = options_.log_limit_per_rank.value(),
                        .cgroups = cgroups_});
  if (!plan) ports_.Release(*port);
  return plan;
}

void LocalDriver::Watcher::Take(const driver::Launch& launch) {
  const GangId id = launch.gang;
  if (gangs_.contains(id)) return;
  base::Result<Plan> plan = PlanFor(launch);
  if (!plan) {
    Add(Gang::Refused(id, launch.replicas.size(), plan.error().ToString()), true);
    return Tell(gangs_.at(id).gang.Everything());
  }
  const std::uint16_t port = plan->master_port;
  const std::string path = base::Format("{}/{}-{}", gangs_folder_, id.job.value, id.attempt.value);
  Gang gang = Gang::Launch({path}, std::move(*plan), options_.supervisor_command);
  if (gang.port() == 0 || gang.HasEnded()) ports_.Release(port);
  const std::vector<Observation> known = gang.Everything();
  Add(std::move(gang), true);
  Tell(known);
  LookAt(id);
}

void LocalDriver::Watcher::Take(const driver::Stop& stop) {
  const auto entry = gangs_.find(stop.gang);
  if (entry != gangs_.end()) entry->second.gang.Stop(stop.grace);
}

void LocalDriver::Watcher::Take(const driver::Signal& signal) {
  const auto entry = gangs_.find(signal.gang);
  const std::optional<int> number = SignalNumber(signal.name);
  if (entry != gangs_.end() && number) entry->second.gang.Signal(*number);
}

void LocalDriver::Watcher::Take(const driver::Forget& forget) {
  const auto entry = gangs_.find(forget.gang);
  if (entry == gangs_.end()) return;
  entry->second.gang.Abandon();
  LookAt(forget.gang);
}

void LocalDriver::Watcher::Trim() {
  // A tenth more than needed, so that it is not every job's turn to look at all logs.
  if (log_bytes_ <= options_.log_limit.value()) return;
  log_bytes_ = TrimLogs(logs_folder_, options_.log_limit.value() / 10 * 9,
                        [this](GangId id) { return gangs_.contains(id); });
}

// Devices.

void LocalDriver::Watcher::PollDevices() {
  Tell(gpu_watch_->Poll([this](pid_t pid) { return IsOurs(pid); }));
  next_poll_us_ = SteadyUs() + options_.watch_interval.value();
}

/// Below one of our supervisors.
bool LocalDriver::Watcher::IsOurs(pid_t pid) const {
  for (int parents = 0; parents < kMostParents && pid > 1; ++parents) {
    for (const auto& [id, entry] : gangs_) {
      const std::vector<std::int64_t>& supervisors = entry.gang.supervisors();
      if (std::find(supervisors.begin(), supervisors.end(), pid) != supervisors.end()) return true;
    }
    const std::optional<ProcessFacts> facts = ReadProcess(pid);
    if (!facts) return true;  // it has just ended, so it uses nothing
    pid = facts->parent;
  }
  return false;
}

}  // namespace muster::driver
