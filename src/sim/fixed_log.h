// SPDX-License-Identifier: Apache-2.0
// Logarithm and power to base 2 in whole numbers. The math library's differ in the last digit
// between compilers and levels of optimisation, and a generated workload must not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"

namespace muster::sim {

inline constexpr int kLogBits = 16;  ///< a logarithm is in 1/65,536

/// log2(x) rounded down to 1/65,536; x at least 1.
constexpr std::int64_t Log2(std::uint64_t x) {
  MUSTER_CHECK(x > 0);
  const auto whole = static_cast<int>(std::bit_width(x)) - 1;
  // The mantissa, in [1, 2) with 31 bits after the point: squaring it gives the next bit of the
  // logarithm.
  std::uint64_t mantissa = whole >= 31 ? x >> (whole - 31) : x << (31 - whole);
  std::int64_t log = whole;
  for (int bit = 0; bit < kLogBits; ++bit) {
    mantissa = (mantissa * mantissa) >> 31;
    const bool one = mantissa >> 32 != 0;
    if (one) mantissa >>= 1;
    log = 2 * log + (one ? 1 : 0);
  }
  return log;
}

namespace internal {

constexpr std::uint64_t SquareRoot(std::uint64_t x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= x) root |= bit;
  }
  return root;
}

/// 2^(1/2), 2^(1/4)... with 31 bits after the point.
inline constexpr auto kRoots = [] {
  std::array<std::uint64_t, kLogBits> roots{};
  std::uint64_t value = std::uint64_t{2} << 31;
  for (std::uint64_t& root : roots) root = value = SquareRoot(value << 31);
  return roots;
}();

}  // namespace internal

/// 2^(log / 65,536), rounded down; `log` in [0, 62 x 65,536).
constexpr std::uint64_t Exp2(std::int64_t log) {
  MUSTER_CHECK(log >= 0 && log < (std::int64_t{62} << kLogBits));
  std::uint64_t mantissa = std::uint64_t{1} << 31;
  for (int bit = 0; bit < kLogBits; ++bit) {
    const bool one = ((log >> (kLogBits - 1 - bit)) & 1) != 0;
    if (one) mantissa = (mantissa * internal::kRoots[static_cast<std::size_t>(bit)]) >> 31;
  }
  const auto whole = static_cast<int>(log >> kLogBits);
  return whole >= 31 ? mantissa << (whole - 31) : mantissa >> (31 - whole);
}

}  // namespace muster::sim
