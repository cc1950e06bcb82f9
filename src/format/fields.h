// SPDX-License-Identifier: Apache-2.0
// Codecs of values that several documents hold, and the ranges that keep sums over a whole cluster
// in 64 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "format/codec.h"
#include "model/cluster.h"

namespace muster::format {

// Most of each on one node; times the most nodes (2^20) each sum fits 63 bits, but for memory,
// whose sum is checked.
inline constexpr base::MilliCpu kMostCpu = base::MilliCpu::Of(std::int64_t{1'000'000} * 1000);
inline constexpr base::Bytes kMostMemory = base::Bytes::Of(std::int64_t{1} << 50);
inline constexpr base::Bytes kMostMemoryInAll = base::Bytes::Of(std::int64_t{1} << 62);
inline constexpr std::int64_t kMostNics = 1024;
inline constexpr std::int64_t kMostExtended = std::int64_t{1} << 40;

/// A map of names to texts, sorted by name.
Codec<model::Labels> LabelsCodec();

/// Topology levels, outermost first: names, or maps of name, label and bandwidth.
Codec<std::vector<model::Level>> LevelsCodec();

/// Reads an entry that is in no table as a named amount ("npu: 4") into `out`, unless its name is a
/// slip for one of `known` ("gpus", "Memory").
void DecodeExtended(const Entry& entry, std::span<const std::string_view> known, Decoder& decoder,
                    std::vector<model::NamedAmount>& out);
/// Appends the named amounts to an encoded map.
void EncodeExtended(const std::vector<model::NamedAmount>& amounts, Value& map);
Shape ExtendedShape();

/// A map of the keys in `rows`; every other key is a named resource in `extended`, a member of T.
template <class T>
Codec<T> StructWithExtended(std::vector<KeyOf<T>> rows,
                            std::vector<model::NamedAmount> T::*extended) {
  Codec<T> codec;
  codec.shape = ShapeOf(rows);
  codec.shape.parts = {ExtendedShape()};
  codec.decode = [=](const Value& value, Decoder& decoder) {
    T out{};
    DecodeKeys(rows, value, decoder, out, [&](const Entry& entry, T& into) {
      DecodeExtended(entry, NamesOf(rows), decoder, into.*extended);
    });
    return out;
  };
  codec.encode = [=](const T& value) {
    Value map = EncodeKeys(rows, value);
    EncodeExtended(value.*extended, map);
    return map;
  };
  return codec;
}

}  // namespace muster::format
