// SPDX-License-Identifier: Apache-2.0
// The transport: HTTP/1.1 on a Unix socket and on TCP (TLS where it leaves the machine),
// server-sent events, limits. One thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/route.h"
#include "base/result.h"
#include "server/front.h"

namespace muster::api {

struct Limits {
  std::size_t body_bytes = std::size_t{16} << 20;
  std::size_t header_bytes = 16 * 1024;
  std::size_t connections = 2048;
  std::size_t connections_per_user = 512;  ///< by uid, token or address
  std::int64_t header_ms = 10'000;  ///< from accept or the last answer's next byte to a whole head
  std::int64_t body_ms = 60'000;    ///< from the head to a whole body, and for writing an answer
  std::int64_t idle_ms = 120'000;   ///< between requests
  std::int64_t stream_poll_ms =
      1000;  ///< streams are asked at least this often; a comment keeps them alive every 15 s
};

/// Who the bearer of a token is. Called on the transport's thread; must be quick. `kNotAllowed`:
/// unknown, expired or revoked.
using Authenticate = std::function<base::Result<server::Caller>(std::string_view token)>;
/// Who the process at the other end of the Unix socket is.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
};
using IdentifyPeer = std::function<server::Caller(const Peer& peer)>;

struct HttpOptions {
  std::string socket_path;  ///< empty: no Unix socket
  /// Who may open the socket: 0600 (own user) or 0666 (any local user; identity is the peer's uid).
  std::uint32_t socket_mode = 0600;
  std::string listen;       ///< "127.0.0.1:7070", "[::1]:7070", ":0" picks a port; empty: no TCP
  std::string certificate;  ///< PEM files; both or none
  std::string key;
  Limits limits;
  Authenticate authenticate;   ///< absent: no tokens are accepted, TCP callers are refused but for
                               ///< open routes
  IdentifyPeer identify_peer;  ///< needed with a Unix socket
};

class HttpServer {
 public:
  /// Binds and starts the thread. Beyond loopback it refuses without certificate and tokens. A Unix
  /// socket that a live server answers on is `kRefused`; a dead one is replaced.
  static base::Result<std::unique_ptr<HttpServer>> Start(server::Front& front, HttpOptions options);
  virtual ~HttpServer() = default;  ///< as `Stop`
  /// Ends accepting, lets answers go out for up to 2 s, closes, joins the thread.
  virtual void Stop() = 0;
  /// The TCP port in use; 0 without.
  virtual std::uint16_t port() const = 0;
};

}  // namespace muster::api
