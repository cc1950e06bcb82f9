// SPDX-License-Identifier: Apache-2.0
// Orders to a supervisor, through a pipe: 16 bytes each, so that a write is whole or nothing.
// Unlike plans and events these bytes stay as they are in every version: a driver must always be
// able to stop what another version started.
#pragma once

#include <array>
#include <cstdint>

namespace muster::driver {

struct SupervisorOrder {
  enum class Kind : std::uint8_t {
    kGo = 1,      ///< every supervisor of the gang is ready: start the tasks
    kStop = 2,    ///< within `grace_us`
    kSignal = 3,  ///< `number` to the main processes
  };
  Kind kind = Kind::kGo;
  std::int32_t number = 0;
  std::int64_t grace_us = 0;
  friend bool operator==(const SupervisorOrder&, const SupervisorOrder&) = default;
};

inline constexpr std::size_t kOrderBytes = 16;

/// Kind in byte 0, `number` in 4 to 7, `grace_us` in 8 to 15, little-endian; the rest is 0.
std::array<std::uint8_t, kOrderBytes> EncodeOrder(const SupervisorOrder& order);
/// A kind that is none of the above is for the taker to pass over.
SupervisorOrder DecodeOrder(const std::array<std::uint8_t, kOrderBytes>& bytes);

}  // namespace muster::driver
