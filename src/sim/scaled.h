// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace muster::sim {

__extension__ using Wide = __int128;

/// Where `Scaled` stops.
inline constexpr std::int64_t kMostScaled = std::numeric_limits<std::int64_t>::max();

/// a x b / c, rounded down, without overflow in between, and `kMostScaled` where it would be more;
/// all non-negative, c positive.
constexpr std::int64_t Scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  const Wide scaled = Wide{a} * b / c;
  return scaled < kMostScaled ? static_cast<std::int64_t>(scaled) : kMostScaled;
}

/// As `Scaled`, rounded up, and `most` where it would be more.
constexpr std::int64_t ScaledUpAtMost(std::int64_t a, std::int64_t b, std::int64_t c,
                                      std::int64_t most) {
  const Wide scaled = (Wide{a} * b + c - 1) / c;
  return scaled < most ? static_cast<std::int64_t>(scaled) : most;
}

/// Thousandths of a unit x microseconds, as unit-hours for people.
inline double UnitHours(Wide milli_us) {
  return static_cast<double>(milli_us) / (1000.0 * 3600.0 * 1e6);
}

}  // namespace muster::sim
