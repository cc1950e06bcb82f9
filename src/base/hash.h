// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace muster::base {

/// A 64-bit hash of a byte stream that is the same on every machine and compiler (FNV-1a, with a
/// final mix). For comparing runs, not for security.
class StreamHash {
 public:
  void Add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) {
      state_ = (state_ ^ byte) * 0x100000001B3ULL;
    }
  }
  std::uint64_t Value() const {
    std::uint64_t z = state_;
    z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDULL;
    z = (z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53ULL;
    return z ^ (z >> 33);
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

}  // namespace muster::base
