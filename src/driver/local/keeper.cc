// SPDX-License-Identifier: Apache-2.0
#include "driver/local/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "base/strings.h"
#include "driver/local/files.h"
#include "driver/local/process_tree.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSiblingGrace{2000};
constexpr milliseconds kLeastPause{2};  ///< between rounds of killing
constexpr milliseconds kMostPause{1000};
/// The control group's own kill is tried this long; then the tree is killed as well.
constexpr base::Duration kGroupPatience = base::Microseconds(100'000);

RankExit ExitOf(int status) {
  if (WIFSIGNALED(status)) {
    return {.kind = RankExit::Kind::kSignalled, .code = WTERMSIG(status)};
  }
  return {.kind = RankExit::Kind::kExited, .code = WEXITSTATUS(status)};
}

class Keeper {
 public:
  explicit Keeper(const KeeperSetup& setup) : setup_(setup) {}

  void Run() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_.Reset(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
    StartAll();
    while (true) {
      ReadFailures();
      const bool has_children = Reap();
      Decide(has_children);
      if (!has_children && EveryMainEnded()) break;
      if (is_killing_ && has_children) KillRound();
      Wait();
    }
    Report({.is_end = true, .exit = Result()});
  }

 private:
  /// A process that was started here, not by another one.
  struct Main {
    pid_t pid = 0;
    posix::Descriptor failure;  ///< open: not known yet whether the command runs
    std::string failure_text;
    bool has_ended = false;
  };

  void StartAll() {
    const std::int32_t processes = ProcessesOf(*setup_.plan, setup_.rank);
    for (std::int32_t local = 0; local < processes && !failure_; ++local) StartOne(local);
    // Only tasks write from here on, so that its end is theirs.
    close(setup_.output);
  }

  void StartOne(std::int32_t local) {
    std::array<int, 2> pipe_ends{-1, -1};
    if (pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return NotStarted("pipe", errno);
    posix::Descriptor failure(pipe_ends[0]);
    const posix::Descriptor failure_end(pipe_ends[1]);
    const pid_t keeper = getpid();
    const pid_t pid = fork();
    if (pid < 0) return NotStarted("fork", errno);
    if (pid == 0) {
      close(setup_.alive);
      close(setup_.socket);
      BecomeTask({.plan = setup_.plan,
                  .place = {setup_.rank, local},
                  .account = setup_.account,
                  .cgroup = setup_.cgroup,
                  .keeper = keeper,
                  .output = setup_.output,
                  .failure = failure_end.number()});
    }
    mains_.push_back({.pid = pid, .failure = std::move(failure)});
  }

  void NotStarted(std::string_view what, int error_number) {
    failure_ = RankExit{
        .kind = RankExit::Kind::kNotStarted,
        .text = base::Format("cannot start a process ({}): {}", what, ErrnoText(error_number))};
    is_killing_ = true;
  }

  void ReadFailures() {
    for (Main& main : mains_) {
      std::array<char, 4096> room{};
      while (main.failure.IsOpen()) {
        const ssize_t got = read(main.failure.number(), room.data(), room.size());
        if (got < 0) break;
        main.failure_text.append(room.data(), static_cast<std::size_t>(got));
        if (got > 0) continue;
        main.failure.Reset();
        if (main.failure_text.empty()) continue;
        if (!failure_ || failure_->kind != RankExit::Kind::kNotStarted) {
          failure_ = RankExit{.kind = RankExit::Kind::kNotStarted, .text = main.failure_text};
        }
        is_killing_ = true;
      }
    }
  }

  /// Collects the dead. False: there are no children, so no descendants either.
  bool Reap() {
    while (true) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid == 0) return true;
      if (pid < 0 && errno != EINTR) return false;
      const auto is_it = [pid](const Main& main) { return main.pid == pid; };
      const auto main = std::find_if(mains_.begin(), mains_.end(), is_it);
      if (main == mains_.end()) continue;
      ReadFailures();  // what it said before it ended
      main->has_ended = true;
      const RankExit exit = ExitOf(status);
      if (failure_ || exit == RankExit{}) continue;
      failure_ = exit;
      if (!is_stopping_ && !is_killing_ && !EveryMainEnded()) {
        Terminate();
        sibling_deadline_ = Clock::now() + kSiblingGrace;
      }
    }
  }

  void Decide(bool has_children) {
    const auto runs = [](const Main& main) {
      return !main.failure.IsOpen() && main.failure_text.empty();
    };
    if (!is_started_ && !mains_.empty() && std::all_of(mains_.begin(), mains_.end(), runs) &&
        !(failure_ && failure_->kind == RankExit::Kind::kNotStarted)) {
      is_started_ = true;
      Report({.is_end = false});
    }
    if (EveryMainEnded() && !is_stopping_) is_killing_ = true;
    // What a main process forked while it was told has nobody left who could tell it. Before that,
    // what is new may be there to save its state.
    if (is_stopping_ && !is_killing_ && has_children && EveryMainEnded()) Terminate();
    if (sibling_deadline_ && Clock::now() >= *sibling_deadline_) is_killing_ = true;
  }

  bool EveryMainEnded() const {
    return std::all_of(mains_.begin(), mains_.end(), [](const Main& m) { return m.has_ended; });
  }

  /// Once to each process.
  void Terminate() {
    for (const ProcessFacts& process : Descendants(getpid())) {
      if (process.IsDead() || !told_.emplace(process.pid, process.start).second) continue;
      SignalProcess(process, SIGTERM);
      SignalProcess(process, SIGCONT);  // one that is stopped could not obey
    }
  }

  void KillRound() {
    if (setup_.cgroup != nullptr) (void)setup_.cgroup->KillAll(kGroupPatience);
    KillDescendants(getpid());
    pause_ = std::min(pause_ * 2, kMostPause);
  }

  void Wait() {
    std::vector<pollfd> watched{{.fd = signals_.number(), .events = POLLIN, .revents = 0}};
    if (has_supervisor_) watched.push_back({.fd = setup_.socket, .events = POLLIN, .revents = 0});
    for (const Main& main : mains_) {
      if (main.failure.IsOpen()) {
        watched.push_back({.fd = main.failure.number(), .events = POLLIN, .revents = 0});
      }
    }
    int timeout_ms = -1;
    if (sibling_deadline_ && !is_killing_) {
      const auto left = std::chrono::ceil<milliseconds>(*sibling_deadline_ - Clock::now());
      timeout_ms = static_cast<int>(std::max(left, milliseconds{0}).count());
    }
    if (is_killing_) timeout_ms = static_cast<int>(pause_.count());
    poll(watched.data(), watched.size(), timeout_ms);
    signalfd_siginfo ignored{};
    while (read(signals_.number(), &ignored, sizeof(ignored)) > 0) {
    }
    TakeOrders();
  }

  void TakeOrders() {
    while (has_supervisor_) {
      KeeperOrder order;
      const ssize_t got = recv(setup_.socket, &order, sizeof(order), MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got != sizeof(order)) {
        has_supervisor_ = false;  // nobody would see what runs from here on
        is_killing_ = true;
        return;
      }
      Obey(order);
    }
  }

  void Obey(KeeperOrder order) {
    switch (order.kind) {
      case KeeperOrder::Kind::kSignal:
        // Before its command runs, a process would die of it.
        ReadFailures();
        for (const Main& main : mains_) {
          if (!main.has_ended && !main.failure.IsOpen()) kill(main.pid, order.number);
        }
        return;
      case KeeperOrder::Kind::kTerminate:
        if (!is_stopping_) Terminate();
        is_stopping_ = true;
        sibling_deadline_.reset();
        return;
      case KeeperOrder::Kind::kKill:
        is_killing_ = true;
        return;
    }
  }

  RankExit Result() const {
    RankExit exit = failure_.value_or(RankExit{});
    if (setup_.cgroup == nullptr || !failure_ || exit.kind == RankExit::Kind::kNotStarted) {
      return exit;
    }
    const std::int64_t killed = setup_.cgroup->OomKills().value_or(0);
    if (killed == 0) return exit;
    const base::Bytes memory =
        setup_.plan->launch.replicas[static_cast<std::size_t>(setup_.rank)].memory;
    const std::string how = exit.kind == RankExit::Kind::kSignalled ? "signal" : "exit status";
    return {.kind = RankExit::Kind::kOutOfMemory,
            .code = exit.code,
            .text = base::Format("out of memory: {} of its processes killed at the limit of {}; "
                                 "the command ended with {} {}",
                                 killed, base::FormatBytes(memory), how, exit.code)};
  }

  void Report(const KeeperReport& report) {
    const std::string bytes = EncodeReport(report);
    if (has_supervisor_) send(setup_.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  KeeperSetup setup_;
  posix::Descriptor signals_;
  std::vector<Main> mains_;
  std::optional<RankExit> failure_;  ///< the first; one to start counts most
  bool is_started_ = false;
  bool is_stopping_ = false;
  bool is_killing_ = false;
  bool has_supervisor_ = true;
  std::optional<Clock::time_point> sibling_deadline_;
  std::set<std::pair<pid_t, std::uint64_t>> told_;  ///< to terminate: number and start
  milliseconds pause_ = kLeastPause;
};

}  // namespace

std::string EncodeReport(const KeeperReport& report) {
  std::string bytes(6, '\0');
  bytes[0] = report.is_end ? '\1' : '\0';
  bytes[1] = static_cast<char>(report.exit.kind);
  std::memcpy(bytes.data() + 2, &report.exit.code, sizeof(report.exit.code));
  return bytes + report.exit.text;
}

std::optional<KeeperReport> DecodeReport(std::string_view bytes) {
  if (bytes.size() < 6 || bytes[1] < 0 || bytes[1] > static_cast<char>(RankExit::Kind::kLast)) {
    return std::nullopt;
  }
  KeeperReport report{.is_end = bytes[0] != '\0'};
  report.exit.kind = static_cast<RankExit::Kind>(bytes[1]);
  std::memcpy(&report.exit.code, bytes.data() + 2, sizeof(report.exit.code));
  report.exit.text = std::string(bytes.substr(6));
  return report;
}

void CloseAllBut(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned int first = STDERR_FILENO + 1;
  for (const int number : kept) {
    const auto keep = static_cast<unsigned int>(number);
    if (number < 0 || keep < first) continue;
    if (keep > first) close_range(first, keep - 1, 0);
    first = keep + 1;
  }
  close_range(first, ~0U, 0);
}

void RunKeeper(const KeeperSetup& setup) {
  std::vector<int> kept{setup.socket, setup.output, setup.alive};
  if (setup.cgroup != nullptr) kept.push_back(setup.cgroup->v2_fd());
  CloseAllBut(kept);
  prctl(PR_SET_NAME, base::Format("muster-rank-{}", setup.rank).c_str());
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Keeper(setup).Run();
  _exit(0);
}

}  // namespace muster::driver
