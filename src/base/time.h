// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "base/quantity.h"

namespace muster::base {

/// A span of time in microseconds.
using Duration = Quantity<struct DurationTag>;

constexpr Duration Microseconds(std::int64_t n) { return Duration::Of(n); }
constexpr Duration Seconds(std::int64_t n) { return Duration::Of(1) * 1'000'000 * n; }
constexpr Duration Minutes(std::int64_t n) { return Seconds(60) * n; }
constexpr Duration Hours(std::int64_t n) { return Seconds(3600) * n; }

/// A point in time: microseconds since an origin that the owner of the clock chose (the Unix epoch
/// live, the start of the trace in the simulator). The engine only compares and subtracts.
struct Instant {
  std::int64_t us = 0;

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant at, Duration span) {
    return {(Duration::Of(at.us) + span).value()};
  }
  friend constexpr Duration operator-(Instant to, Instant from) {
    return Duration::Of(to.us) - Duration::Of(from.us);
  }
};

}  // namespace muster::base
