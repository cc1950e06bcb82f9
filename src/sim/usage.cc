// SPDX-License-Identifier: Apache-2.0
#include "sim/usage.h"

#include <algorithm>

namespace muster::sim {

void UsageRecorder::Advance(base::Instant now) {
  while (now.us - start_.us > kBuckets * width_us_) Widen();
  while (last_ < now) {
    const std::int64_t bucket = (last_.us - start_.us) / width_us_;
    const std::int64_t until = std::min(now.us, start_.us + (bucket + 1) * width_us_);
    Sums& sums = buckets_[static_cast<std::size_t>(bucket)];
    for (std::size_t i = 0; i < kLevels; ++i) sums[i] += Wide{level_[i]} * (until - last_.us);
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
    const base::Instant from{start_.us + static_cast<std::int64_t>(i) * width_us_};
    if (from >= last_) break;
    const std::int64_t width = std::min(width_us_, last_.us - from.us);
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
  return static_cast<double>(sum) / (1000.0 * 3600.0 * 1e6);
}

}  // namespace muster::sim
