// SPDX-License-Identifier: Apache-2.0
// What the program takes from its surroundings besides the command line, in one value, so that
// tests can make it up.
#pragma once

#include <cstdint>
#include <string>

namespace muster::cli {

struct Environment {
  std::uint32_t uid = 0;
  std::string user;         ///< the account's name; empty: it has none
  std::string home;         ///< HOME
  std::string config_home;  ///< XDG_CONFIG_HOME, or what stands for it
  std::string state_home;   ///< XDG_STATE_HOME, or what stands for it
  std::string server;       ///< MUSTER_SERVER
  std::string token;        ///< MUSTER_TOKEN
  /// Where the machine's own server listens.
  std::string system_socket = "/run/muster/muster.sock";
};

Environment ReadEnvironment();

/// Where a server of this user keeps what it has; empty: there is no home to put it into.
std::string DefaultStateDir(const Environment& environment);
/// The socket of the server whose state is there.
std::string SocketOf(const Environment& environment, const std::string& state_dir);

}  // namespace muster::cli
