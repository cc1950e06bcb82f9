// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace muster::sim {

__extension__ using Wide = __int128;

/// a x b / c, rounded down, without overflow in between; all non-negative, c positive, the result
/// in 64 bits.
constexpr std::int64_t Scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(Wide{a} * b / c);
}

/// As `Scaled`, rounded up.
constexpr std::int64_t ScaledUp(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>((Wide{a} * b + c - 1) / c);
}

}  // namespace muster::sim
