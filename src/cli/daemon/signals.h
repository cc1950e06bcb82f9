// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace muster::cli {

/// Takes SIGTERM, SIGINT and SIGHUP for as long as it lives, and lets SIGPIPE pass without effect.
/// One at a time in a process. By handlers, not by blocking or ignoring: what a server starts must
/// not inherit either.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The next signal; 0 where none came in time.
  int Wait(std::int64_t timeout_ms);
};

}  // namespace muster::cli
