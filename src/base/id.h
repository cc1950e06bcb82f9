// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace muster::base {

/// A small dense number that names a row of one table. `Tag` keeps ids of different tables apart;
/// there is no conversion to or from integers but `.value`.
template <class Tag>
struct Id {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Id, Id) = default;

  /// The id that names no row.
  static constexpr Id None() { return Id{UINT32_MAX}; }
  constexpr bool IsNone() const { return value == UINT32_MAX; }
};

}  // namespace muster::base

template <class Tag>
struct std::hash<muster::base::Id<Tag>> {
  std::size_t operator()(muster::base::Id<Tag> id) const noexcept { return id.value; }
};
