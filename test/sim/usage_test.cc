// SPDX-License-Identifier: Apache-2.0
#include "sim/usage.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::sim {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Usage, IntervalsAreMeansOfWhatHeld) {
  UsageRecorder usage(base::Instant{0});
  usage.AddAllocated(1000);
  usage.AddCapacity(2000);
  usage.Advance(base::Instant{1'000'000});
  usage.AddWaiting(4);
  usage.Advance(base::Instant{1'500'000});
  const auto intervals = usage.Intervals();
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[0].width, base::Seconds(1));
  EXPECT_EQ(intervals[0].allocated_milli, 1000);
  EXPECT_EQ(intervals[0].waiting_jobs, 0);
  EXPECT_EQ(intervals[1].width, base::Microseconds(500'000));
  EXPECT_EQ(intervals[1].capacity_milli, 2000);
  EXPECT_EQ(intervals[1].waiting_jobs, 4);
  EXPECT_DOUBLE_EQ(usage.AllocatedHours(), 1.5 / 3600);
}

// The widest interval and its end were computed in 64 bits: an endless loop near their limit.
TEST(Usage, TimesMayReachTheEndsOfTheirRange) {
  constexpr std::pair<std::int64_t, std::int64_t> kSpans[] = {
      {0, kMax}, {0, kMax - 1}, {kMax - 5, kMax}, {kMin, kMax}, {kMin, 0}};
  for (const auto& [from, to] : kSpans) {
    UsageRecorder usage(base::Instant{from});
    usage.AddAllocated(3000);
    usage.Advance(base::Instant{to});
    const auto intervals = usage.Intervals();
    ASSERT_FALSE(intervals.empty()) << from << " to " << to;
    EXPECT_LE(intervals.size(), static_cast<std::size_t>(UsageRecorder::kBuckets));
    Wide covered = 0;
    for (const UsageInterval& each : intervals) {
      covered += each.width.value();
      EXPECT_EQ(each.allocated_milli, 3000) << from << " to " << to;
    }
    EXPECT_TRUE(covered == Wide{to} - from) << from << " to " << to;
  }
}

TEST(Scaled, StopsAtItsBound) {
  EXPECT_EQ(Scaled(7, 3, 2), 10);
  EXPECT_EQ(Scaled(kMax, 1'000'000, 1'000'000), kMax);
  EXPECT_EQ(Scaled(kMax, 4000, 1), kMostScaled);
  // 100 years on one of 4,000 replicas.
  const std::int64_t years = base::Hours(24 * 365 * 100).value();
  EXPECT_EQ(Scaled(years, 4000, 1), kMostScaled);
  EXPECT_EQ(ScaledUpAtMost(years, 4000, 1, std::int64_t{1} << 60), std::int64_t{1} << 60);
}

}  // namespace
}  // namespace muster::sim
