// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace muster::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A folder of the XDG rules: they say that what is not absolute does not count.
std::string XdgFolder(const char* name, const std::string& home, const char* below_home) {
  const std::string given = Variable(name);
  if (given.starts_with('/')) return given;
  return home.empty() ? "" : home + below_home;
}

}  // namespace

Environment ReadEnvironment() {
  Environment environment;
  environment.uid = geteuid();
  environment.home = Variable("HOME");
  std::array<char, 16'384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(environment.uid, &entry, room.data(), room.size(), &found) == 0 &&
      found != nullptr) {
    environment.user = entry.pw_name;
    if (environment.home.empty()) environment.home = entry.pw_dir;
  }
  environment.config_home = XdgFolder("XDG_CONFIG_HOME", environment.home, "/.config");
  environment.state_home = XdgFolder("XDG_STATE_HOME", environment.home, "/.local/state");
  environment.server = Variable("MUSTER_SERVER");
  environment.token = Variable("MUSTER_TOKEN");
  return environment;
}

std::string DefaultStateDir(const Environment& environment) {
  if (environment.uid == 0) return "/var/lib/muster";
  return environment.state_home.empty() ? "" : environment.state_home + "/muster";
}

std::string SocketOf(const Environment& environment, const std::string& state_dir) {
  // A second server of root's, to try something, must not take the machine's socket.
  const bool machines = environment.uid == 0 && state_dir == DefaultStateDir(environment);
  return machines ? environment.system_socket : state_dir + "/muster.sock";
}

}  // namespace muster::cli
