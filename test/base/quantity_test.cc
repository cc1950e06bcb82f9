// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/id.h"
#include "base/time.h"
#include "base/units.h"

namespace muster::base {
namespace {

// No way in or out but the explicit one, and no mixing of units.
static_assert(!std::is_constructible_v<MilliGpu, std::int64_t>);
static_assert(!std::is_constructible_v<MilliGpu, double>);
static_assert(!std::is_convertible_v<MilliGpu, std::int64_t>);
static_assert(!std::is_constructible_v<MilliGpu, MilliCpu>);
static_assert(!std::is_convertible_v<Id<struct OneTag>, std::uint32_t>);
static_assert(!std::is_constructible_v<Id<struct OneTag>, Id<struct OtherTag>>);
static_assert(std::is_trivially_copyable_v<MilliGpu> && sizeof(MilliGpu) == 8);
static_assert(Id<struct OneTag>::None().IsNone() && !Id<struct OneTag>{}.IsNone());

using Q = Quantity<struct TestTag>;

TEST(Quantity, Arithmetic) {
  Q amount = Q::Of(7);
  EXPECT_EQ(amount + Q::Of(3), Q::Of(10));
  EXPECT_EQ(amount - Q::Of(9), Q::Of(-2));
  EXPECT_EQ(amount * 3, Q::Of(21));
  EXPECT_EQ(amount / Q::Of(2), 3);
  EXPECT_EQ(amount / 2, Q::Of(3));
  amount += Q::Of(1);
  amount -= Q::Of(3);
  EXPECT_EQ(amount, Q::Of(5));
  EXPECT_LT(amount, Q::Max());
  EXPECT_TRUE(Q{}.IsZero());
}

TEST(QuantityDeathTest, OverflowEndsTheProgram) {
  const Q most = Q::Max();
  const Q least = Q::Of(INT64_MIN);
  EXPECT_DEATH(static_cast<void>(most + Q::Of(1)), "internal error at .*quantity.h");
  EXPECT_DEATH(static_cast<void>(least - Q::Of(1)), "internal error at .*quantity.h");
  EXPECT_DEATH(static_cast<void>(most * 2), "internal error at .*quantity.h");
  EXPECT_DEATH(static_cast<void>(least * -1), "internal error at .*quantity.h");
}

TEST(QuantityDeathTest, DivisionByNothingEndsTheProgram) {
  EXPECT_DEATH(static_cast<void>(Q::Of(1) / Q{}), "b.value_ > 0 does not hold");
  EXPECT_DEATH(static_cast<void>(Q::Of(1) / 0), "parts > 0 does not hold");
}

TEST(Time, InstantsAreApartByDurations) {
  const Instant noon{Hours(12).value()};
  EXPECT_EQ(noon + Minutes(90) - noon, Seconds(5400));
  EXPECT_LT(noon, noon + Microseconds(1));
  EXPECT_EQ(noon - (noon + Seconds(1)), Seconds(-1));
}

TEST(TimeDeathTest, TheEndOfTimeIsNotPassed) {
  const Instant last{INT64_MAX};
  EXPECT_DEATH(static_cast<void>(last + Microseconds(1)), "internal error");
}

}  // namespace
}  // namespace muster::base
