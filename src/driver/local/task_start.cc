// SPDX-License-Identifier: Apache-2.0
#include "driver/local/task_start.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "driver/local/files.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

/// Linux' own bound on one argument or variable.
constexpr std::size_t kMostSecretBytes = 131072;

[[noreturn]] void Fail(const TaskStart& start, const std::string& text) {
  WriteAll(start.failure, text);
  _exit(127);
}

std::string Shown(std::string_view text) { return "'" + base::Printable(text) + "'"; }

[[noreturn]] void FailOn(const TaskStart& start, std::string_view what, int error_number) {
  Fail(start, base::Format("{}: {}", what, ErrnoText(error_number)));
}

const model::TaskCommand& CommandOf(const TaskStart& start) {
  const Launch& launch = start.plan->launch;
  const Replica& replica = launch.replicas[static_cast<std::size_t>(start.place.rank)];
  return launch.groups[static_cast<std::size_t>(replica.group)].command;
}

void ResetSignals() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// As much as is allowed; a task that needs more says so itself.
void SetLimits() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  // RDMA pins the memory that it sends from.
  const rlimit endless{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &endless) != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
  if (getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
  }
  // The supervisor may be spared when memory runs out; its tasks are not.
  const posix::Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.IsOpen()) WriteAll(score.number(), "100");
}

void SwitchAccount(const TaskStart& start) {
  const Identity& owner = start.plan->launch.owner;
  const TaskAccount& account = *start.account;
  if (account.is_switched) {
    if (setgroups(account.groups.size(), account.groups.data()) != 0 ||
        setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
        setresuid(owner.uid, owner.uid, owner.uid) != 0) {
      const int error_number = errno;
      FailOn(start,
             base::Format("cannot become user {} (uid {}, gid {})", Shown(owner.user), owner.uid,
                          owner.gid),
             error_number);
    }
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    FailOn(start, "cannot give up new privileges", errno);
  }
  umask(022);
  // After the account is set, which would take it back.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.keeper) _exit(127);
}

/// The content of a secret file, without one line end. Opened as the user, so that nothing is read
/// that the user could not.
std::string ReadSecret(const TaskStart& start, const std::string& variable,
                       const std::string& named) {
  std::string path = named;
  if (path == "~" || path.starts_with("~/")) path = start.account->facts.home + path.substr(1);
  const std::string what =
      base::Format("cannot read {} for the secret variable {}", Shown(path), Shown(variable));
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.IsOpen()) FailOn(start, what, errno);
  std::string value(kMostSecretBytes + 1, '\0');
  std::size_t size = 0;
  while (size < value.size()) {
    const ssize_t got = read(file.number(), value.data() + size, value.size() - size);
    if (got < 0) FailOn(start, what, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostSecretBytes) {
    Fail(start, base::Format("{}: it has more than {} bytes", what, kMostSecretBytes));
  }
  value.resize(size);
  if (value.ends_with('\n')) value.pop_back();
  if (value.find('\0') != std::string::npos) {
    Fail(start, what + ": it has a NUL byte, which no variable can hold");
  }
  return value;
}

void EnterWorkdir(const TaskStart& start) {
  const std::string& named = CommandOf(start).workdir;
  if (named.empty()) {
    if (chdir(start.account->facts.home.c_str()) != 0 && chdir("/") != 0) {
      FailOn(start, "cannot enter '/'", errno);
    }
    return;
  }
  std::string path = named;
  if (path == "~" || path.starts_with("~/")) path = start.account->facts.home + path.substr(1);
  if (chdir(path.c_str()) != 0) {
    FailOn(start, base::Format("cannot enter the working directory {}", Shown(path)), errno);
  }
}

/// Of the attempt alone, below the job's, which may be missing too.
void MakeCheckpointFolder(const TaskStart& start) {
  const std::string path = CheckpointFolder(start.plan->launch);
  std::size_t end = 0;
  while (end < path.size()) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) == 0 || errno == EEXIST) continue;
    const int error_number = errno;
    // What is there need not be ours to write to ("/" on a read-only disk).
    struct stat facts {};
    if (stat(part.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) continue;
    FailOn(start, base::Format("cannot make the checkpoint folder {}", Shown(part)), error_number);
  }
}

void ConnectStreams(const TaskStart& start) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(start.output, STDOUT_FILENO) < 0 ||
      dup2(start.output, STDERR_FILENO) < 0) {
    FailOn(start, "cannot connect the standard streams", errno);
  }
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

std::string_view ValueOf(const std::vector<std::string>& environment, std::string_view prefix) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(prefix)) return std::string_view(variable).substr(prefix.size());
  }
  return {};
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The two signals that libc keeps to itself, which a spawned process finds ignored. By the
/// kernel's own call and struct (all zeros), and last: libc needs them to switch accounts.
void ResetLibrarySignals() {
  const std::array<std::uint64_t, 4> usual{};
  for (const int signal : {32, 33}) {
    syscall(SYS_rt_sigaction, signal, usual.data(), nullptr, sizeof(std::uint64_t));
  }
}

/// Why `execve` failed, in words of the job.
[[noreturn]] void FailToRun(const TaskStart& start, const std::string& command, int error_number) {
  std::string text = base::Format("cannot run {}: {}", Shown(command), ErrnoText(error_number));
  if (error_number == ENOEXEC) {
    text += "; a script needs a first line such as #!/bin/sh";
  } else if (error_number == E2BIG) {
    text += "; arguments and environment together, or one of them, are too large for this machine";
  }
  Fail(start, text);
}

[[noreturn]] void Run(const TaskStart& start, std::vector<std::string> environment) {
  std::vector<std::string> arguments = CommandOf(start).command;
  if (arguments.empty() || arguments[0].empty()) Fail(start, "there is no command to run");
  const std::string command = arguments[0];
  const std::string search(ValueOf(environment, "PATH="));
  ResetLibrarySignals();
  std::vector<char*> argument_pointers = Pointers(arguments);
  std::vector<char*> environment_pointers = Pointers(environment);
  const auto execute = [&](const std::string& path) {
    execve(path.c_str(), argument_pointers.data(), environment_pointers.data());
    return errno;
  };
  if (command.find('/') != std::string::npos) FailToRun(start, command, execute(command));
  bool is_forbidden = false;
  for (const std::string_view folder : base::Split(search, ':')) {
    const std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + command;
    const int error_number = execute(path);
    if (error_number == EACCES) is_forbidden = true;
    if (error_number == ENOENT || error_number == ENOTDIR || error_number == EACCES) continue;
    FailToRun(start, path, error_number);
  }
  if (is_forbidden) FailToRun(start, command, EACCES);
  Fail(start, base::Format("cannot run {}: no such command in PATH ({})", Shown(command),
                           base::Printable(search)));
}

}  // namespace

base::Result<TaskAccount> LookUpAccount(const Identity& owner) {
  TaskAccount account{.facts = {.home = "/", .shell = "/bin/sh"}};
  std::vector<char> room(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(owner.uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) {
    account.facts = {.home = entry.pw_dir, .shell = entry.pw_shell};
  }
  account.is_switched = geteuid() == 0;
  if (!account.is_switched) {
    if (owner.uid == geteuid()) return account;
    return base::Error{
        base::ErrorCode::kNotAllowed,
        base::Format(
            "user {} (uid {}) cannot be served: this server runs as uid {} and not as root",
            Shown(owner.user), owner.uid, geteuid())};
  }
  account.groups = {owner.gid};
  if (owner.user.empty()) return account;
  int count = 64;
  account.groups.resize(static_cast<std::size_t>(count));
  while (getgrouplist(owner.user.c_str(), owner.gid, account.groups.data(), &count) < 0) {
    if (static_cast<std::size_t>(count) <= account.groups.size()) count *= 2;
    account.groups.resize(static_cast<std::size_t>(count));
  }
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

void BecomeTask(const TaskStart& start) {
  ResetSignals();
  setsid();
  if (start.cgroup != nullptr) {
    if (const base::Status entered = start.cgroup->Enter(getpid()); !entered) {
      Fail(start, "cannot enter the control group of the rank: " + entered.error().ToString());
    }
  }
  SetLimits();
  SwitchAccount(start);
  model::Labels secrets = CommandOf(start).secret_env;
  for (auto& [variable, value] : secrets) value = ReadSecret(start, variable, value);
  MakeCheckpointFolder(start);
  EnterWorkdir(start);
  ConnectStreams(start);
  Run(start, TaskEnvironment(*start.plan, start.place, start.account->facts, secrets));
}

}  // namespace muster::driver
