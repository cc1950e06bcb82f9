// SPDX-License-Identifier: Apache-2.0
// Checksums over what is stored, its number included, so that a row in another's place shows too.
// Part of the format: a change needs a new one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace muster::journal {

class Checksum {
 public:
  Checksum& Add(std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes{};
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(number);
      number >>= 8;
    }
    hash_.Add(bytes);
    return *this;
  }
  /// With its length, so that the end of one text and the start of the next cannot be traded.
  Checksum& Add(std::string_view text) {
    return Add(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  Checksum& Add(std::span<const std::uint8_t> bytes) {
    Add(std::uint64_t{bytes.size()});
    hash_.Add(bytes);
    return *this;
  }
  std::uint64_t Value() const { return hash_.Value(); }

 private:
  base::StreamHash hash_;
};

/// Of a record, and of the bytes of a snapshot.
inline std::uint64_t ChecksumOf(std::uint64_t sequence, std::span<const std::uint8_t> bytes) {
  return Checksum().Add(sequence).Add(bytes).Value();
}

}  // namespace muster::journal
