// SPDX-License-Identifier: Apache-2.0
// Calls a server: what the command line uses. Blocking, one connection kept open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::api {

/// Where a server is: "unix:/run/muster/muster.sock" or a path with a '/' in it,
/// "http://127.0.0.1:7070", "https://muster.example:7070". Over http a token goes to this machine
/// only.
struct Target {
  std::string address;
  std::string token;           ///< empty: none
  std::string ca_certificate;  ///< PEM file for https; empty: the system's
  std::int64_t timeout_ms = 30'000;
};

struct ClientResponse {
  int status = 0;
  std::string content_type;
  std::string body;
};

/// Of one thread at a time.
class Client {
 public:
  /// Checks the address only; the connection is made by the first call.
  static base::Result<std::unique_ptr<Client>> Make(const Target& target);
  virtual ~Client() = default;

  using Headers = std::vector<std::pair<std::string, std::string>>;
  /// One request, retried once on a stale connection if it is safe to (GET, or with an idempotency
  /// key). No server, or none that answers in time: `kUnavailable` with the address in the text.
  virtual base::Result<ClientResponse> Call(std::string_view method, std::string_view target,
                                            std::string_view body = "",
                                            const Headers& headers = {}) = 0;
  /// Reads server-sent events until `take(id, event, data)` returns false, the server ends the
  /// stream, or the connection breaks or is silent for long (`kUnavailable`). A refusal is the
  /// error of `ErrorOf`. `id` is the last one given: where to go on, by `Last-Event-ID`.
  virtual base::Status Stream(std::string_view target, const Headers& headers,
                              const std::function<bool(std::string_view id, std::string_view event,
                                                       std::string_view data)>& take) = 0;
};

/// The fault that a response with an error status tells, its code from the status (404 kNotFound,
/// 403 and 401 kNotAllowed, 409 and 422 and 429 kRefused, 400 kInvalid, 503 kUnavailable...). All
/// faults of a document stand in its message, a line each.
base::Error ErrorOf(const ClientResponse& response);

}  // namespace muster::api
