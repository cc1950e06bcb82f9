// SPDX-License-Identifier: Apache-2.0
#include "driver/local/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "driver/local/files.h"
#include "driver/local/supervisor.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

/// posix_spawn's two objects.
class SpawnSettings {
 public:
  SpawnSettings() {
    MUSTER_CHECK(posix_spawn_file_actions_init(&actions_) == 0);
    MUSTER_CHECK(posix_spawnattr_init(&attributes_) == 0);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A copy above the numbers that the child is to have, so that none is overwritten before its turn.
posix::Descriptor MovedUp(int number) {
  constexpr int kFirst = 16;
  return posix::Descriptor(fcntl(number, F_DUPFD_CLOEXEC, kFirst));
}

}  // namespace

base::Result<pid_t> SpawnSupervisor(const SupervisorStart& start) {
  const posix::Descriptor alive = MovedUp(start.alive);
  const posix::Descriptor orders = MovedUp(start.orders);
  const posix::Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::string errors = start.folder.Errors(start.node);
  if (!alive.IsOpen() || !orders.IsOpen() || !nothing.IsOpen()) {
    return FileError("start", "a supervisor", errno);
  }
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(settings.actions(), nothing.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(settings.actions(), nothing.number(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(settings.actions(), STDERR_FILENO, errors.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  posix_spawn_file_actions_adddup2(settings.actions(), alive.number(), kAliveDescriptor);
  posix_spawn_file_actions_adddup2(settings.actions(), orders.number(), kOrdersDescriptor);
  posix_spawn_file_actions_addclosefrom_np(settings.actions(), kOrdersDescriptor + 1);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(settings.attributes(), &all);
  // Blocked until it has taken care of them: a signal to us and ours must not end it.
  posix_spawnattr_setsigmask(settings.attributes(), &all);
  posix_spawnattr_setflags(settings.attributes(),
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments(start.command.begin(), start.command.end());
  arguments.push_back(start.folder.path);
  arguments.push_back(base::Format("{}", start.node));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int error_number = posix_spawn(&pid, arguments[0].c_str(), settings.actions(),
                                       settings.attributes(), pointers.data(), environ);
  if (error_number != 0) return FileError("start the supervisor", arguments[0], error_number);
  return pid;
}

}  // namespace muster::driver
