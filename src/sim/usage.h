// SPDX-License-Identifier: Apache-2.0
// What was in use and who waited, over time, in bounded memory: at most `kBuckets` intervals of
// equal width, which doubles whenever the run outgrows them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/scaled.h"

namespace muster::sim {

/// Means over one interval. Amounts in thousandths of a GPU, or of a CPU on a cluster without GPUs.
struct UsageInterval {
  base::Instant from;
  base::Duration width;
  std::int64_t allocated_milli = 0;
  std::int64_t capacity_milli = 0;
  std::int64_t waiting_jobs = 0;
};

class UsageRecorder {
 public:
  static constexpr int kBuckets = 120;

  /// `start` is where the first interval begins.
  explicit UsageRecorder(base::Instant start) : start_(start), last_(start) {}

  /// Takes the present levels as having held until `now`, which never goes back.
  void Advance(base::Instant now);
  void AddAllocated(std::int64_t milli) { level_[kAllocated] += milli; }
  void AddCapacity(std::int64_t milli) { level_[kCapacity] += milli; }
  void AddWaiting(std::int64_t jobs) { level_[kWaiting] += jobs; }
  std::int64_t waiting() const { return level_[kWaiting]; }

  std::vector<UsageInterval> Intervals() const;
  /// Unit-hours in use, and there, since the start.
  double AllocatedHours() const { return Hours(kAllocated); }
  double CapacityHours() const { return Hours(kCapacity); }

 private:
  enum Level : std::uint8_t { kAllocated, kCapacity, kWaiting, kLevels };
  using Sums = std::array<Wide, kLevels>;

  double Hours(Level level) const;
  void Widen();

  base::Instant start_;
  base::Instant last_;
  std::int64_t width_us_ = 1'000'000;
  std::array<std::int64_t, kLevels> level_{};
  std::array<Sums, kBuckets> buckets_{};
};

}  // namespace muster::sim
