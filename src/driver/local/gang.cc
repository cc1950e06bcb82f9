// SPDX-License-Identifier: Apache-2.0
#include "driver/local/gang.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "driver/local/cgroup.h"
#include "driver/local/environment.h"
#include "driver/local/files.h"
#include "driver/local/process_tree.h"
#include "driver/local/spawn.h"
#include "driver/local/supervisor.h"

namespace muster::driver {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

constexpr base::Duration kGroupPatience = base::Microseconds(500'000);
constexpr std::size_t kMostErrorBytes = 4096;

/// With starts of neighbouring ranks told in one.
std::vector<Observation> Joined(std::vector<Observation> news) {
  std::vector<Observation> joined;
  for (Observation& observation : news) {
    const auto* started = std::get_if<RanksStarted>(&observation);
    auto* last = joined.empty() ? nullptr : std::get_if<RanksStarted>(&joined.back());
    if (started != nullptr && last != nullptr &&
        last->ranks.first + last->ranks.count == started->ranks.first) {
      last->ranks.count += started->ranks.count;
    } else {
      joined.push_back(std::move(observation));
    }
  }
  return joined;
}

}  // namespace

// Beginning.

Gang::Gang(GangId id, GangFolder folder, Plan plan)
    : id_(id), folder_(std::move(folder)), plan_(std::move(plan)) {
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    links_.push_back({.events = EventReader(folder_.Events(node))});
  }
  started_.resize(plan_.ranks.size());
  ended_.resize(plan_.ranks.size());
}

Gang Gang::Refused(GangId id, std::size_t ranks, const std::string& text) {
  Gang gang(id, {}, {});
  gang.started_.resize(ranks);
  gang.ended_.assign(ranks, RankExit{.kind = RankExit::Kind::kNotStarted, .text = text});
  return gang;
}

Gang Gang::Launch(GangFolder folder, Plan plan, std::span<const std::string> supervisor_command) {
  const GangId id = plan.launch.gang;
  Gang gang(id, std::move(folder), std::move(plan));
  gang.Approve();
  if (const base::Status wrote = gang.WriteDown(); !wrote) {
    gang.RemoveFolder();
    return Refused(id, gang.started_.size(),
                   "the gang was not started: " + wrote.error().ToString());
  }
  for (std::size_t node = 0; node < gang.links_.size(); ++node) {
    const base::Status opened = gang.OpenLink(node, supervisor_command);
    if (opened) continue;
    gang.Abort(opened.error().ToString());
    break;
  }
  return gang;
}

base::Status Gang::WriteDown() const {
  // Of a start that was cut off before its plan was whole: it never ran.
  std::error_code ignored;
  std::filesystem::remove_all(folder_.path, ignored);
  for (const std::string& path : {folder_.path, plan_.log_folder}) {
    if (base::Status made = MakeFolders(path); !made) return made;
  }
  if (base::Status wrote = WritePlan(folder_, plan_); !wrote) return wrote;
  return SyncFolder(std::filesystem::path(folder_.path).parent_path().string());
}

base::Status Gang::OpenLink(std::size_t node, std::span<const std::string> supervisor_command) {
  Link& link = links_[node];
  const std::string alive = folder_.Alive(node);
  const std::string orders = folder_.Orders(node);
  for (const std::string& path : {alive, orders}) {
    if (mkfifo(path.c_str(), 0600) != 0) return FileError("make the pipe", path, errno);
  }
  // For writing too, so that an order that is given before the supervisor reads is kept.
  posix::Descriptor orders_end(open(orders.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!orders_end.IsOpen()) return FileError("open", orders, errno);
  posix::Descriptor alive_end(open(alive.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!alive_end.IsOpen()) return FileError("open", alive, errno);
  const posix::Descriptor held_end(
      open(alive.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!held_end.IsOpen()) return FileError("open", alive, errno);
  const base::Result<pid_t> child = SpawnSupervisor({.command = supervisor_command,
                                                     .folder = folder_,
                                                     .node = node,
                                                     .alive = held_end.number(),
                                                     .orders = orders_end.number()});
  if (!child) return child.error();
  link.child = *child;
  link.alive = std::move(alive_end);
  link.orders = std::move(orders_end);
  return {};
}

base::Result<Gang> Gang::Reopen(GangId id, GangFolder folder) {
  base::Result<Plan> plan = ReadPlan(folder);
  if (!plan && plan.error().code != ErrorCode::kNotFound) {
    return Unreadable(id, std::move(folder), plan.error().ToString());
  }
  const Error never_began{ErrorCode::kNotFound, "the gang never began"};
  if (!plan) {
    Gang(id, std::move(folder), {}).RemoveFolder();
    return never_began;
  }
  Gang gang(id, std::move(folder), std::move(*plan));
  for (std::size_t node = 0; node < gang.links_.size(); ++node) gang.ReopenLink(node);
  std::vector<Observation> known;
  for (std::size_t node = 0; node < gang.links_.size(); ++node) gang.ReadEvents(node, known);
  const bool is_anyone_there = std::any_of(
      gang.links_.begin(), gang.links_.end(),
      [](const Link& l) { return l.alive.IsOpen() || l.has_begun || !l.fault.empty(); });
  if (!is_anyone_there) {
    gang.RemoveFolder();
    return never_began;
  }
  // What ran shows that all were ready once; after a restart of the machine it does not matter.
  gang.is_going_ = gang.is_going_ || !known.empty() || gang.plan_.boot_id != BootId();
  return gang;
}

/// All that can be done without knowing the plan, by what is the same in every version: kill it.
Gang Gang::Unreadable(GangId id, GangFolder folder, const std::string& why) {
  Plan plan;
  for (std::size_t node = 0; node < model::kMaxDevicesPerNode * 64; ++node) {
    if (access(folder.Alive(node).c_str(), F_OK) != 0) break;
    plan.nodes.emplace_back();
  }
  Gang gang(id, std::move(folder), std::move(plan));
  gang.is_readable_ = false;
  gang.is_going_ = true;
  for (std::size_t node = 0; node < gang.links_.size(); ++node) {
    gang.links_[node].fault = why;
    gang.ReopenLink(node);
  }
  return gang;
}

void Gang::ReopenLink(std::size_t node) {
  Link& link = links_[node];
  link.alive.Reset(
      open(folder_.Alive(node).c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  // Nobody writes: nobody is left. From here on, the end of the last writer shows as a hang-up.
  if (link.alive.IsOpen() && !DrainAlive(link)) link.alive.Reset();
  link.is_swept = link.alive.IsOpen();
  if (!link.alive.IsOpen()) return;
  // For reading too, or the write after its end would be a signal to us.
  link.orders.Reset(
      open(folder_.Orders(node).c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
}

void Gang::Abort(const std::string& text) {
  if (!abort_text_.empty()) return;
  abort_text_ = "the gang was not started: " + text;
  is_going_ = true;  // never again
  SendAll({.kind = SupervisorOrder::Kind::kStop});
}

// Looking.

bool Gang::HasEnded() const {
  return IsGone() || (is_readable_ && std::all_of(ended_.begin(), ended_.end(),
                                                  [](const auto& end) { return end.has_value(); }));
}

bool Gang::IsGone() const {
  return std::all_of(links_.begin(), links_.end(),
                     [](const Link& link) { return !link.alive.IsOpen() && link.is_swept; });
}

bool Gang::WantsRetry() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) {
    return !link.is_swept || (link.child != 0 && !link.alive.IsOpen());
  });
}

std::vector<int> Gang::Descriptors() const {
  std::vector<int> numbers;
  for (const Link& link : links_) {
    if (link.alive.IsOpen()) numbers.push_back(link.alive.number());
  }
  return numbers;
}

/// Takes the wake bytes. False: all who could write are gone.
bool Gang::DrainAlive(Link& link) {
  std::array<char, 4096> room{};
  while (true) {
    const ssize_t got = read(link.alive.number(), room.data(), room.size());
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    return got < 0;
  }
}

std::vector<Observation> Gang::Look() {
  std::vector<Observation> news;
  for (std::size_t node = 0; node < links_.size(); ++node) {
    Link& link = links_[node];
    if (link.child != 0 && !link.alive.IsOpen() && waitpid(link.child, nullptr, WNOHANG) != 0) {
      link.child = 0;
    }
    if (!link.is_swept) {
      if (!is_going_) Abort(WhyBeginFailed(node));
      LoseRanks(node, news);
    }
    if (!link.alive.IsOpen()) continue;
    const bool is_alive = DrainAlive(link);
    ReadEvents(node, news);  // after the bytes, so that nothing stays unread behind a taken byte
    if (is_alive) continue;
    link.alive.Reset();
    link.orders.Reset();
    if (link.child != 0 && waitpid(link.child, nullptr, WNOHANG) != 0) link.child = 0;
    if (!is_going_) Abort(WhyBeginFailed(node));
    LoseRanks(node, news);
  }
  Advance(news);
  return Joined(std::move(news));
}

void Gang::ReadEvents(std::size_t node, std::vector<Observation>& news) {
  Link& link = links_[node];
  if (!link.fault.empty()) return;
  const auto events = link.events.ReadNew();
  if (!events) {
    link.fault = events.error().message;
    is_going_ = true;  // for all that can be known
    SendTo(link, {.kind = SupervisorOrder::Kind::kStop});
    return;
  }
  for (const TaskEvent& event : *events) {
    if (event.kind == TaskEvent::Kind::kBegun) {
      link.has_begun = true;
      supervisors_.push_back(event.pid);
    } else {
      TakeEvent(event, news);
    }
  }
}

void Gang::TakeEvent(const TaskEvent& event, std::vector<Observation>& news) {
  const auto rank = static_cast<std::size_t>(event.rank);
  if (event.rank < 0 || rank >= started_.size()) return;
  if (event.kind == TaskEvent::Kind::kStarted) {
    if (started_[rank]) return;
    started_[rank] = true;
    news.emplace_back(RanksStarted{id_, {.first = event.rank, .count = 1}});
  } else if (abort_text_.empty()) {
    End(rank, event.exit, news);
  }
}

void Gang::End(std::size_t rank, RankExit exit, std::vector<Observation>& news) {
  if (ended_[rank]) return;
  ended_[rank] = std::move(exit);
  news.emplace_back(RankEnded{id_, static_cast<std::int32_t>(rank), *ended_[rank]});
}

bool Gang::IsOn(std::size_t rank, std::size_t node) const {
  return static_cast<std::size_t>(plan_.ranks[rank].node) == node;
}

bool Gang::HasOpenRanks(std::size_t node) const {
  for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
    if (IsOn(rank, node) && !ended_[rank]) return true;
  }
  return false;
}

/// The supervisor of `node` is gone: ranks that it left without a word are lost, once nothing of
/// them runs.
void Gang::LoseRanks(std::size_t node, std::vector<Observation>& news) {
  if (!is_readable_ || !HasOpenRanks(node)) {
    links_[node].is_swept = true;
    return;
  }
  Sweep(node);
  if (!links_[node].is_swept || !abort_text_.empty()) return;
  std::string text = "the supervisor on this node vanished";
  if (!links_[node].fault.empty()) text = "the supervisor cannot be read: " + links_[node].fault;
  if (plan_.boot_id != BootId()) text = "the machine was restarted";
  for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
    if (IsOn(rank, node)) End(rank, {.kind = RankExit::Kind::kLost, .text = text}, news);
  }
}

/// Kills what supervisor and keepers, who would have, could not: they were all killed at once.
void Gang::Sweep(std::size_t node) {
  Link& link = links_[node];
  link.is_swept = true;
  if (plan_.boot_id != BootId()) return;
  if (plan_.cgroups) {
    const CgroupTree groups =
        CgroupTree::Find({.root = plan_.cgroups->root, .folder = plan_.cgroups->folder});
    for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
      if (!groups.usable() || !IsOn(rank, node) || ended_[rank]) continue;
      base::Result<Cgroup> group = groups.Open(CgroupName(plan_, static_cast<std::int32_t>(rank)));
      if (!group) continue;
      if (!group->KillAll(kGroupPatience) || !group->Remove()) link.is_swept = false;
    }
  }
  if (!KillByVariable(InvocationVariable(plan_, node))) link.is_swept = false;
}

std::string Gang::WhyBeginFailed(std::size_t node) const {
  std::string text =
      Format("the supervisor of node {} ended before it began", base::Quote(plan_.nodes[node]));
  if (const auto errors = ReadOwnFile(folder_.Errors(node), kMostErrorBytes)) {
    const std::string_view said(reinterpret_cast<const char*>(errors->data()), errors->size());
    if (!base::Trim(said).empty()) text += Format(": {}", base::Trim(said));
  }
  return text;
}

/// Sends the gang off when all are ready, and takes leave of one that could not begin.
void Gang::Advance(std::vector<Observation>& news) {
  const auto is_ready = [](const Link& link) { return link.has_begun && link.alive.IsOpen(); };
  if (is_approved_ && !is_going_ && std::all_of(links_.begin(), links_.end(), is_ready)) {
    is_going_ = true;
    SendAll({.kind = SupervisorOrder::Kind::kGo});
  }
  if (abort_text_.empty() || !IsGone()) return;
  for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
    End(rank, {.kind = RankExit::Kind::kNotStarted, .text = abort_text_}, news);
  }
  RemoveFolder();
}

std::vector<Observation> Gang::Everything() const {
  std::vector<Observation> all;
  for (std::size_t rank = 0; rank < started_.size(); ++rank) {
    if (!started_[rank]) continue;
    all.emplace_back(RanksStarted{id_, {.first = static_cast<std::int32_t>(rank), .count = 1}});
  }
  for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
    if (ended_[rank]) {
      all.emplace_back(RankEnded{id_, static_cast<std::int32_t>(rank), *ended_[rank]});
    }
  }
  return Joined(std::move(all));
}

// Orders.

void Gang::SendTo(Link& link, const SupervisorOrder& order) {
  if (!link.orders.IsOpen()) return;
  const auto bytes = EncodeOrder(order);
  // A pipe that is full has four thousand orders in it that the supervisor has yet to take.
  (void)WriteAll(link.orders.number(),
                 std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void Gang::SendAll(const SupervisorOrder& order) {
  for (Link& link : links_) SendTo(link, order);
}

void Gang::Stop(base::Duration grace) {
  is_going_ = true;  // one that was not sent off never is
  SendAll({.kind = SupervisorOrder::Kind::kStop, .grace_us = grace.value()});
}

void Gang::Signal(int number) {
  SendAll({.kind = SupervisorOrder::Kind::kSignal, .number = number});
}

void Gang::Abandon() {
  is_abandoned_ = true;
  Stop(base::Duration());
}

void Gang::RemoveFolder() {
  if (folder_.path.empty()) return;
  std::error_code ignored;  // what is left is found, and removed, by the next run
  std::filesystem::remove_all(folder_.path, ignored);
}

std::optional<int> SignalNumber(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

}  // namespace muster::driver
