// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/check.h"

namespace muster::base {

/// A stream of reproducible random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Our own,
/// since the standard library's distributions differ between implementations. One word of state, so
/// that it can be stored in a snapshot.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, bound); `bound` positive. Lemire's method with rejection, so exactly uniform.
  constexpr std::uint64_t Below(std::uint64_t bound) {
    MUSTER_CHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(Next()) * bound;
    auto low = static_cast<std::uint64_t>(product);
    if (low < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        product = static_cast<Wide>(Next()) * bound;
        low = static_cast<std::uint64_t>(product);
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in [0, 1) with 53 bits. For the simulator's workloads and reports; never for a
  /// decision.
  constexpr double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  constexpr std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace muster::base
