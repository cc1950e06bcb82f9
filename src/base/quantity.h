// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace muster::base {

/// An exact amount of one thing, in its smallest unit (milli-CPU, byte, microsecond...). `Tag`
/// keeps units apart. Explicit both ways, no floating point; arithmetic that would overflow is a
/// bug of the caller and ends the program: amounts are bounded where text becomes a quantity.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity Of(std::int64_t amount) { return Quantity(amount); }
  static constexpr Quantity Max() { return Quantity(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t value() const { return value_; }
  constexpr bool IsZero() const { return value_ == 0; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    std::int64_t out = 0;
    MUSTER_CHECK(!__builtin_add_overflow(a.value_, b.value_, &out));
    return Quantity(out);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    std::int64_t out = 0;
    MUSTER_CHECK(!__builtin_sub_overflow(a.value_, b.value_, &out));
    return Quantity(out);
  }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) {
    std::int64_t out = 0;
    MUSTER_CHECK(!__builtin_mul_overflow(a.value_, factor, &out));
    return Quantity(out);
  }
  /// How many whole `b` fit into `a`; both non-negative, `b` positive.
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) {
    MUSTER_CHECK(b.value_ > 0);
    return a.value_ / b.value_;
  }
  /// One of `parts` equal parts, rounded towards zero; `parts` positive.
  friend constexpr Quantity operator/(Quantity a, std::int64_t parts) {
    MUSTER_CHECK(parts > 0);
    return Quantity(a.value_ / parts);
  }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
  constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }

 private:
  explicit constexpr Quantity(std::int64_t value) : value_(value) {}
  std::int64_t value_ = 0;
};

}  // namespace muster::base
