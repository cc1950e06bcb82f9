// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"

namespace muster::server {

/// Where the server's time comes from; tests turn it by hand. Used by the server's thread alone.
class Clock {
 public:
  virtual ~Clock() = default;
  /// µs since the Unix epoch. It may jump; the server never lets its own time go back.
  virtual base::Instant Now() = 0;
  /// Steady, for spans: µs since some origin.
  virtual base::Duration Steady() = 0;
};

}  // namespace muster::server
