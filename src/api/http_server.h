// SPDX-License-Identifier: Apache-2.0
// The transport: HTTP/1.1 on a Unix socket and on TCP (TLS where it leaves the machine),
// server-sent events, limits. One thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  /// From the whole request to the answer of its handler; then 503, and the answer is dropped.
  std::int64_t answer_ms = 120'000;
  std::int64_t stream_poll_ms = 1000;       ///< streams are asked at least this often
  std::int64_t stream_comment_ms = 15'000;  ///< a quiet stream gets a comment; tokens are checked
  /// Bodies and answers in memory, of all connections together; more than that: 503.
  std::size_t buffered_bytes = std::size_t{256} << 20;
};

/// Who the bearer of a token is. Called on the transport's thread, for each request; must be quick.
/// `kNotAllowed`: unknown, expired or revoked. Its `from` gets the address put in front.
using Authenticate = std::function<base::Result<server::Caller>(std::string_view token)>;
/// Who the process at the other end of the Unix socket is.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
};
/// Called on the transport's thread, once for each connection.
using IdentifyPeer = std::function<server::Caller(const Peer& peer)>;

struct HttpOptions {
  std::string socket_path;  ///< empty: no Unix socket
  /// Who may open the socket: 0600 (own user) or 0666 (any local user; identity is the peer's uid).
  std::uint32_t socket_mode = 0600;
  /// "127.0.0.1:7070", "[::1]:7070"; ":0" is a free port on 127.0.0.1; empty: no TCP.
  std::string listen;
  std::string certificate;  ///< PEM files; both or none
  std::string key;
  Limits limits;
  Authenticate authenticate;   ///< absent: no tokens are accepted, TCP callers are refused but for
                               ///< open routes
  IdentifyPeer identify_peer;  ///< needed with a Unix socket
  /// Names besides localhost, 127.0.0.1 and ::1 by which a listener on loopback may be called
  /// (behind a proxy). Any other `Host` is refused there: it is how a web page would get in.
  std::vector<std::string> host_names;
  std::span<const Route> routes;  ///< empty: `Routes()`
};

class HttpServer {
 public:
  /// Binds and starts the thread. Beyond loopback it refuses without certificate and tokens. A Unix
  /// socket that a live server answers on is `kRefused`; a dead one is replaced.
  static base::Result<std::unique_ptr<HttpServer>> Start(server::Front& front, HttpOptions options);
  virtual ~HttpServer() = default;  ///< as `Stop`
  /// Ends accepting, lets answers go out for up to 2 s, closes, joins the thread.
  virtual void Stop() = 0;
  /// The TCP port in use; 0 without TCP.
  virtual std::uint16_t port() const = 0;
};

}  // namespace muster::api
