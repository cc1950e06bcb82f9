// SPDX-License-Identifier: Apache-2.0
// The address of a server as a person wrote it, and the addresses of the system behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::api {

struct ServerAddress {
  std::string socket_path;  ///< of a Unix socket; else empty
  bool tls = false;
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
  std::string authority;  ///< for the header `Host`
};
base::Result<ServerAddress> ParseServerAddress(std::string_view text);

/// A socket address as bytes: `sockaddr_un`, `sockaddr_in`, `sockaddr_in6`.
struct SystemAddress {
  int family = 0;
  std::string bytes;
};
/// All of them, in the order to try. Names are looked up, which may take as long as the system
/// lets it. `kUnavailable`: no such host.
base::Result<std::vector<SystemAddress>> Resolve(const ServerAddress& address);

/// Does every byte to this address stay on this machine?
bool StaysHere(const ServerAddress& address);

}  // namespace muster::api
