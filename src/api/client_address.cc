// SPDX-License-Identifier: Apache-2.0
#include "api/client_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>

#include "api/http_server_target.h"
#include "api/listen.h"
#include "base/strings.h"
#include "base/units.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;

base::Result<ServerAddress> UnixAddress(std::string_view path) {
  if (path.size() > kMaxSocketPath) {
    return Error{ErrorCode::kInvalid,
                 base::Format("the socket path {} has {} bytes; the system's limit is {}", path,
                              path.size(), kMaxSocketPath)};
  }
  if (path.empty()) return Error{ErrorCode::kInvalid, "the socket path is empty"};
  return ServerAddress{.socket_path = std::string(path), .authority = "localhost"};
}

Error Bad(std::string_view text, std::string_view what) {
  return {ErrorCode::kInvalid,
          base::Format("the server address {} {}; write unix:/run/muster/muster.sock, "
                       "http://127.0.0.1:7070 or https://HOST:PORT",
                       base::Quote(text), what)};
}

/// The number behind the last ':' that is not inside brackets; nothing: `fallback`.
base::Result<std::uint16_t> PortOf(std::string_view authority, std::uint16_t fallback) {
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    return fallback;
  }
  const auto port = base::ParseCount(authority.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return Bad(authority, "has no port of 1 to 65535");
  return static_cast<std::uint16_t>(*port);
}

}  // namespace

base::Result<ServerAddress> ParseServerAddress(std::string_view text) {
  if (text.starts_with("unix:")) return UnixAddress(text.substr(5));
  ServerAddress address;
  std::string_view rest = text;
  if (text.starts_with("https://")) {
    address.tls = true;
    rest.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (text.find("://") == std::string_view::npos &&
             text.find('/') != std::string_view::npos) {
    return UnixAddress(text);
  } else {
    return Bad(text, "is of no known kind");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto host = HostOf(rest);
  if (!host) return Bad(text, "has no host, or more than a host and a port");
  const auto port = PortOf(rest, address.tls ? 443 : 80);
  if (!port) return port.error();
  address.host = *host;
  address.port = *port;
  address.authority = rest;
  return address;
}

base::Result<std::vector<SystemAddress>> Resolve(const ServerAddress& address) {
  if (!address.socket_path.empty()) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(static_cast<char*>(at.sun_path), address.socket_path.data(),
                address.socket_path.size());
    return std::vector<SystemAddress>{
        {.family = AF_UNIX, .bytes = std::string(reinterpret_cast<const char*>(&at), sizeof at)}};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return Error{ErrorCode::kUnavailable,
                 base::Format("cannot find the host {}: {}", address.host, ::gai_strerror(error))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<SystemAddress> all;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    all.push_back(
        {.family = at->ai_family,
         .bytes = std::string(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen)});
  }
  return all;
}

bool StaysHere(const ServerAddress& address) {
  if (!address.socket_path.empty() || address.host == "localhost") return true;
  in6_addr bytes{};
  const bool is_number = ::inet_pton(AF_INET, address.host.c_str(), &bytes) == 1 ||
                         ::inet_pton(AF_INET6, address.host.c_str(), &bytes) == 1;
  return is_number && IsLoopback(address.host);
}

}  // namespace muster::api
