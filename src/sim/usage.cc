// SPDX-License-Identifier: Apache-2.0
#include "sim/usage.h"

#include <algorithm>

namespace muster::sim {

void UsageRecorder::Advance(base::Instant now) {
  // In 128 bits: the distance of two times, and the end of the last interval, can be beyond 64.
  while (Wide{now.us} - start_.us > Wide{kBuckets} * width_us_) Widen();
  while (last_ < now) {
    const auto bucket = static_cast<std::int64_t>((Wide{last_.us} - start_.us) / width_us_);
    const Wide end = start_.us + Wide{bucket + 1} * width_us_;
    const std::int64_t until = end < now.us ? static_cast<std::int64_t>(end) : now.us;
    Sums& sums = buckets_[static_cast<std::size_t>(bucket)];
    for (std::size_t i = 0; i < kLevels; ++i) sums[i] += Wide{level_[i]} * (Wide{until} - last_.us);
    last_.us = until;
  }
}

void UsageRecorder::Widen() {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    for (std::size_t level = 0; level < kLevels; ++level) {
      buckets_[i][level] =
          2 * i + 1 < kBuckets ? buckets_[2 * i][level] + buckets_[2 * i + 1][level] : 0;
    }
  }
  width_us_ *= 2;
}

std::vector<UsageInterval> UsageRecorder::Intervals() const {
  std::vector<UsageInterval> out;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const Wide begin = start_.us + Wide{i} * width_us_;
    if (begin >= last_.us) break;
    const base::Instant from{static_cast<std::int64_t>(begin)};
    const auto width =
        static_cast<std::int64_t>(std::min<Wide>(width_us_, Wide{last_.us} - from.us));
    const auto mean = [&](Level level) {
      return static_cast<std::int64_t>(buckets_[i][level] / width);
    };
    out.push_back(
        {from, base::Microseconds(width), mean(kAllocated), mean(kCapacity), mean(kWaiting)});
  }
  return out;
}

double UsageRecorder::Hours(Level level) const {
  Wide sum = 0;
  for (const Sums& sums : buckets_) sum += sums[level];
  return UnitHours(sum);
}

}  // namespace muster::sim
