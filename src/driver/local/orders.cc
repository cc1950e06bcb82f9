// SPDX-License-Identifier: Apache-2.0
#include "driver/local/orders.h"

namespace muster::driver {

std::array<std::uint8_t, kOrderBytes> EncodeOrder(const SupervisorOrder& order) {
  std::array<std::uint8_t, kOrderBytes> bytes{};
  bytes[0] = static_cast<std::uint8_t>(order.kind);
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[4 + i] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(order.number) >> (8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[8 + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(order.grace_us) >> (8 * i));
  }
  return bytes;
}

SupervisorOrder DecodeOrder(const std::array<std::uint8_t, kOrderBytes>& bytes) {
  std::uint32_t number = 0;
  std::uint64_t grace_us = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::uint32_t{bytes[4 + i]} << (8 * i);
  for (std::size_t i = 0; i < 8; ++i) grace_us |= std::uint64_t{bytes[8 + i]} << (8 * i);
  return {.kind = static_cast<SupervisorOrder::Kind>(bytes[0]),
          .number = static_cast<std::int32_t>(number),
          .grace_us = static_cast<std::int64_t>(grace_us)};
}

}  // namespace muster::driver
