// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "server/server.h"

namespace muster::server {

/// The system's clocks.
class SystemClock : public Clock {
 public:
  base::Instant Now() override;
  base::Duration Steady() override;
};

/// Steps a server until told to stop, resting while there is nothing to do.
class Loop {
 public:
  Loop(Server& server, Clock& clock) : server_(server), clock_(clock) {}

  /// Returns after `Stop`.
  void Run();
  /// From any thread.
  void Stop();

 private:
  Server& server_;
  Clock& clock_;
  std::atomic<bool> stop_ = false;
};

}  // namespace muster::server
