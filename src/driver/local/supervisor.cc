// SPDX-License-Identifier: Apache-2.0
#include "driver/local/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "driver/local/cgroup.h"
#include "driver/local/events.h"
#include "driver/local/files.h"
#include "driver/local/keeper.h"
#include "driver/local/local_driver.h"
#include "driver/local/log_file.h"
#include "driver/local/orders.h"
#include "driver/local/process_tree.h"
#include "driver/local/task_start.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStrayPause{20};    ///< between rounds of killing what a keeper left behind
constexpr milliseconds kRetryPause{1000};  ///< before events that did not fit are tried again
constexpr std::size_t kOutputBlock = 65536;
constexpr int kMostBlocksAtOnce = 16;  ///< of one rank, before the others get their turn
constexpr std::int64_t kLongestGraceUs = std::int64_t{365} * 24 * 3600 * 1'000'000;

struct SupervisedRank {
  std::int32_t rank = 0;
  pid_t keeper = 0;
  posix::Descriptor socket;  ///< open: the keeper has more to say
  posix::Descriptor output;
  std::optional<RankLog> log;
  std::optional<Cgroup> cgroup;
  std::optional<RankExit> exit;  ///< set: over, and only to be recorded
  bool is_stray = false;         ///< its keeper vanished; what it left is being killed
  bool is_recorded = false;
};

class Supervisor {
 public:
  Supervisor(const Plan& plan, std::size_t node, EventWriter events)
      : plan_(plan), events_(std::move(events)), block_(kOutputBlock, '\0') {
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
      if (static_cast<std::size_t>(plan.ranks[rank].node) == node) {
        ranks_.push_back({.rank = static_cast<std::int32_t>(rank)});
      }
    }
  }

  void Run() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_.Reset(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
    Record({.kind = TaskEvent::Kind::kBegun, .pid = getpid()});
    while (true) {
      Reap();
      KillStrays();
      CheckGrace();
      RecordEnds();
      FlushEvents();
      if (IsFinished()) return;
      Wait();
    }
  }

 private:
  bool IsFinished() const {
    return unwritten_.empty() && std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
             return rank.is_recorded && rank.keeper == 0;
           });
  }

  // Orders.

  void TakeOrders() {
    std::array<std::uint8_t, kOrderBytes> bytes{};
    while (read(kOrdersDescriptor, bytes.data(), bytes.size()) ==
           static_cast<ssize_t>(bytes.size())) {
      const SupervisorOrder order = DecodeOrder(bytes);
      switch (order.kind) {
        case SupervisorOrder::Kind::kGo:
          if (!is_started_) Start();
          break;
        case SupervisorOrder::Kind::kStop:
          Stop(order.grace_us);
          break;
        case SupervisorOrder::Kind::kSignal:
          SendToKeepers({.kind = KeeperOrder::Kind::kSignal, .number = order.number});
          break;
      }
    }
  }

  void SendToKeepers(const KeeperOrder& order) {
    for (const SupervisedRank& rank : ranks_) {
      if (!rank.socket.IsOpen()) continue;
      send(rank.socket.number(), &order, sizeof(order), MSG_NOSIGNAL);
      // Where we are not root, a job could have stopped it.
      if (rank.keeper != 0) kill(rank.keeper, SIGCONT);
    }
  }

  void Stop(std::int64_t grace_us) {
    const auto grace =
        std::chrono::microseconds(std::clamp<std::int64_t>(grace_us, 0, kLongestGraceUs));
    const Clock::time_point deadline = Clock::now() + grace;
    if (!is_stopping_) {
      is_stopping_ = true;
      kill_at_ = deadline;
      SendToKeepers({.kind = KeeperOrder::Kind::kTerminate});
    } else if (kill_at_) {
      kill_at_ = std::min(*kill_at_, deadline);
    }
    if (is_started_) return;
    is_started_ = true;  // a later kGo starts nothing
    for (SupervisedRank& rank : ranks_) {
      rank.exit = RankExit{.kind = RankExit::Kind::kStopped, .text = "stopped before it began"};
    }
  }

  void CheckGrace() {
    if (!kill_at_ || Clock::now() < *kill_at_) return;
    kill_at_.reset();
    is_killed_ = true;
    SendToKeepers({.kind = KeeperOrder::Kind::kKill});
  }

  // Starting.

  void Start() {
    is_started_ = true;
    const base::Result<TaskAccount> account = LookUpAccount(plan_.launch.owner);
    std::optional<CgroupTree> groups;
    if (plan_.cgroups) {
      groups = CgroupTree::Find({.root = plan_.cgroups->root, .folder = plan_.cgroups->folder});
    }
    for (SupervisedRank& rank : ranks_) {
      rank.log.emplace(plan_.log_folder, rank.rank, plan_.log_bytes_per_rank);
      const base::Status status =
          account ? StartRank(rank, *account, groups) : base::Status(account.error());
      if (status) continue;
      rank.exit = RankExit{.kind = RankExit::Kind::kNotStarted, .text = status.error().ToString()};
    }
  }

  base::Status StartRank(SupervisedRank& rank, const TaskAccount& account,
                         const std::optional<CgroupTree>& groups) {
    if (groups && groups->usable()) {
      base::Result<Cgroup> group = groups->Create(CgroupName(plan_, rank.rank), Limits(rank.rank));
      if (!group) return group.error();
      rank.cgroup = std::move(*group);
    }
    std::array<int, 2> pipe_ends{-1, -1};
    std::array<int, 2> socket_ends{-1, -1};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return FileError("make", "a pipe", errno);
    posix::Descriptor output(pipe_ends[0]);
    const posix::Descriptor output_end(pipe_ends[1]);
    // The tasks' end blocks: output waits for us rather than being lost.
    fcntl(output.number(), F_SETFL, O_RDONLY | O_NONBLOCK);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socket_ends.data()) != 0) {
      return FileError("make", "a socket", errno);
    }
    posix::Descriptor socket(socket_ends[0]);
    const posix::Descriptor socket_end(socket_ends[1]);
    const pid_t keeper = fork();
    if (keeper < 0) {
      return base::Error{base::ErrorCode::kExhausted,
                         base::Format("cannot start a process: {}", ErrnoText(errno))};
    }
    if (keeper == 0) {
      RunKeeper({.plan = &plan_,
                 .rank = rank.rank,
                 .account = &account,
                 .cgroup = rank.cgroup ? &*rank.cgroup : nullptr,
                 .socket = socket_end.number(),
                 .output = output_end.number(),
                 .alive = kAliveDescriptor});
    }
    rank.keeper = keeper;
    rank.socket = std::move(socket);
    rank.output = std::move(output);
    return {};
  }

  CgroupLimits Limits(std::int32_t rank) const {
    if (!plan_.cgroups->has_limits) return {};
    const Replica& replica = plan_.launch.replicas[static_cast<std::size_t>(rank)];
    return {.cpu = replica.cpu,
            .memory = replica.memory,
            .denied_gpus = plan_.ranks[static_cast<std::size_t>(rank)].denied_gpus};
  }

  // What keepers say.

  void ReadSocket(SupervisedRank& rank) {
    std::array<char, 16384> room{};
    while (rank.socket.IsOpen()) {
      const ssize_t got = recv(rank.socket.number(), room.data(), room.size(), MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      const std::optional<KeeperReport> report =
          got > 0 ? DecodeReport({room.data(), static_cast<std::size_t>(got)}) : std::nullopt;
      if (!report) {
        rank.socket.Reset();
        rank.is_stray = true;
      } else if (report->is_end) {
        rank.socket.Reset();
        rank.exit = is_stopping_ ? StoppedExit(report->exit) : report->exit;
      } else {
        Record({.kind = TaskEvent::Kind::kStarted, .rank = rank.rank});
      }
    }
  }

  /// After a stop only people care how it ended.
  RankExit StoppedExit(const RankExit& exit) const {
    std::string text = is_killed_ ? "killed after its grace: " : "";
    switch (exit.kind) {
      case RankExit::Kind::kExited:
        text += base::Format("exit status {}", exit.code);
        break;
      case RankExit::Kind::kSignalled:
        text += base::Format("signal {}", exit.code);
        break;
      default:
        text += exit.text;
    }
    return {.kind = RankExit::Kind::kStopped, .text = std::move(text)};
  }

  void Reap() {
    signalfd_siginfo ignored{};
    while (read(signals_.number(), &ignored, sizeof(ignored)) > 0) {
    }
    int status = 0;
    while (const pid_t pid = waitpid(-1, &status, WNOHANG)) {
      if (pid < 0) return;
      for (SupervisedRank& rank : ranks_) {
        if (rank.keeper != pid) continue;
        rank.keeper = 0;
        ReadSocket(rank);  // its last words, or that there were none
        keeper_status_ = status;
      }
    }
  }

  /// Ends what keepers that vanished have left: everything below us that is below no keeper.
  void KillStrays() {
    const auto is_stray = [](const SupervisedRank& rank) { return rank.is_stray && !rank.exit; };
    if (std::none_of(ranks_.begin(), ranks_.end(), is_stray)) return;
    std::vector<pid_t> keepers;
    for (const SupervisedRank& rank : ranks_) {
      if (rank.keeper != 0) keepers.push_back(rank.keeper);
      if (is_stray(rank) && rank.cgroup) (void)rank.cgroup->KillAll(base::Microseconds(100'000));
    }
    // A keeper that closed its socket without a word and lives on is of no use.
    for (const SupervisedRank& rank : ranks_) {
      if (is_stray(rank) && rank.keeper != 0) kill(rank.keeper, SIGKILL);
    }
    KillDescendants(getpid(), keepers);
    Reap();
    if (!Descendants(getpid(), keepers).empty()) return;
    for (SupervisedRank& rank : ranks_) {
      if (!is_stray(rank) || rank.keeper != 0) continue;
      const std::string how = WIFSIGNALED(keeper_status_) ? base::Format("was killed by signal {}",
                                                                         WTERMSIG(keeper_status_))
                                                          : std::string("ended early");
      rank.exit = RankExit{.kind = RankExit::Kind::kLost,
                           .text = base::Format("the process that kept this rank {}", how)};
    }
  }

  // Output.

  /// False: there is no more for now.
  bool ReadOutput(SupervisedRank& rank) {
    const ssize_t got = read(rank.output.number(), block_.data(), block_.size());
    if (got < 0) return errno == EINTR;
    if (got == 0) {
      rank.output.Reset();
      return false;
    }
    rank.log->Append(std::string_view(block_).substr(0, static_cast<std::size_t>(got)));
    return true;
  }

  // Recording.

  void RecordEnds() {
    for (SupervisedRank& rank : ranks_) {
      if (!rank.exit || rank.is_recorded) continue;
      // All who wrote are gone, so what is in the pipe is all there will be.
      while (rank.output.IsOpen() && ReadOutput(rank)) {
      }
      rank.output.Reset();
      if (rank.log) rank.log->Finish();
      if (rank.cgroup) (void)rank.cgroup->Remove();
      rank.cgroup.reset();
      rank.is_recorded = true;
      Record({.kind = TaskEvent::Kind::kEnded, .rank = rank.rank, .exit = *rank.exit});
    }
  }

  void Record(TaskEvent event) {
    unwritten_.push_back(std::move(event));
    FlushEvents();
  }

  void FlushEvents() {
    if (unwritten_.empty() || Clock::now() < retry_at_) return;
    while (!unwritten_.empty()) {
      if (!events_.Append(unwritten_.front())) {
        retry_at_ = Clock::now() + kRetryPause;
        break;
      }
      unwritten_.pop_front();
    }
    // Full means that the driver has not looked yet, and will.
    (void)WriteAll(kAliveDescriptor, "!");
  }

  // Waiting.

  int TimeoutMs() const {
    std::optional<Clock::time_point> until = kill_at_;
    const auto no_later_than = [&until](Clock::time_point at) {
      until = until ? std::min(*until, at) : at;
    };
    if (!unwritten_.empty()) no_later_than(retry_at_);
    const bool has_stray = std::any_of(
        ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank.is_stray && !rank.exit; });
    if (has_stray) no_later_than(Clock::now() + kStrayPause);
    if (!until) return -1;
    const auto left = std::chrono::ceil<milliseconds>(*until - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  void Wait() {
    std::vector<pollfd> watched{{.fd = signals_.number(), .events = POLLIN, .revents = 0},
                                {.fd = kOrdersDescriptor, .events = POLLIN, .revents = 0}};
    for (const SupervisedRank& rank : ranks_) {  // negative ones are passed over
      watched.push_back({.fd = rank.socket.number(), .events = POLLIN, .revents = 0});
      watched.push_back({.fd = rank.output.number(), .events = POLLIN, .revents = 0});
    }
    if (poll(watched.data(), watched.size(), TimeoutMs()) <= 0) return;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      SupervisedRank& rank = ranks_[i];
      if (watched[2 + 2 * i].revents != 0) ReadSocket(rank);
      if (watched[3 + 2 * i].revents == 0) continue;
      for (int block = 0; block < kMostBlocksAtOnce && ReadOutput(rank); ++block) {
      }
    }
    if (watched[1].revents != 0) TakeOrders();
  }

  const Plan& plan_;
  EventWriter events_;
  std::string block_;
  std::vector<SupervisedRank> ranks_;
  posix::Descriptor signals_;
  std::deque<TaskEvent> unwritten_;
  Clock::time_point retry_at_{};
  bool is_started_ = false;
  bool is_stopping_ = false;
  bool is_killed_ = false;  ///< the grace is over
  std::optional<Clock::time_point> kill_at_;
  int keeper_status_ = 0;  ///< of the last keeper that ended
};

/// Lets go of whoever started us.
void BecomeSupervisor() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  umask(077);
  (void)chdir("/");
  prctl(PR_SET_NAME, "muster-super");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  CloseAllBut({kAliveDescriptor, kOrdersDescriptor});
  for (const int number : {kAliveDescriptor, kOrdersDescriptor}) {
    fcntl(number, F_SETFD, FD_CLOEXEC);
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
  }
  // A root supervisor is the last to go when memory runs out; others are refused this.
  const posix::Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.IsOpen()) (void)WriteAll(score.number(), "-900");
}

}  // namespace

std::string CgroupName(const Plan& plan, std::int32_t rank) {
  return base::Format("{}-{}-{}-{}", plan.launch.gang.job.value, plan.launch.gang.attempt.value,
                      rank, plan.invocation.substr(0, 8));
}

int Supervise(const GangFolder& folder, std::size_t node) {
  BecomeSupervisor();
  const auto fail = [](const base::Error& error) {
    std::fprintf(stderr, "%s\n", error.ToString().c_str());
    return 1;
  };
  const base::Result<Plan> plan = ReadPlan(folder);
  if (!plan) return fail(plan.error());
  base::Result<EventWriter> events = EventWriter::Create(folder.Events(node), plan->ranks.size());
  if (!events) return fail(events.error());
  Supervisor(*plan, node, std::move(*events)).Run();
  return 0;
}

int RunSupervisor(std::span<const char* const> arguments) {
  const auto fail = [] {
    std::fputs("supervise: for Muster itself, which starts supervisors with a folder and a node\n",
               stderr);
    return 2;
  };
  if (arguments.size() != 2 || fcntl(kAliveDescriptor, F_GETFD) < 0 ||
      fcntl(kOrdersDescriptor, F_GETFD) < 0) {
    return fail();
  }
  const std::string_view text(arguments[1]);
  std::size_t node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + text.size()) return fail();
  return Supervise({arguments[0]}, node);
}

}  // namespace muster::driver
