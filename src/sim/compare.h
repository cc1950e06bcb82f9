// SPDX-License-Identifier: Apache-2.0
// Two or more ways of scheduling the same jobs, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload.h"
#include "sim/report.h"
#include "sim/simulator.h"

namespace muster::sim {

/// One way of scheduling, run with one or more seeds.
struct Contender {
  std::string name;
  std::vector<SimulationResult>
      runs;  ///< one a seed, the same seeds in the same order for every contender
};

/// A 95 % interval.
struct Interval {
  double low = 0;
  double high = 0;
};

/// One metric of one contender.
struct ComparedValue {
  double mean = 0;                   ///< over the seeds
  std::optional<double> deviation;   ///< standard deviation over the seeds, if there are several
  double difference = 0;             ///< to the first contender
  std::optional<Interval> interval;  ///< of the difference: paired bootstrap over jobs
  std::optional<Interval> relative;  ///< likewise, as a part of the first contender's mean
};

struct ComparedMetric {
  std::string_view key;               ///< "completion_mean_s"
  std::string text;                   ///< "mean completion time"
  std::string_view unit;              ///< "s", "%", "x", "hours" or empty
  std::vector<ComparedValue> values;  ///< one a contender
  bool may_be_left_out = false;       ///< a person need not see it where it is 0 for all
};

struct Comparison {
  std::vector<std::string> names;
  std::int64_t seeds = 0;
  std::int64_t paired_jobs =
      0;  ///< jobs that are over under every contender and seed: the bootstrap's sample
  std::string_view unit;        ///< "GPU" or "CPU"
  bool same_decisions = false;  ///< of all contenders, seed by seed
  std::vector<ComparedMetric> metrics;
};

/// `contenders` must not be empty, and each have as many runs of `workload` as the first. `seed` is
/// of the bootstrap.
Comparison Compare(const model::Workload& workload, std::span<const Contender> contenders,
                   std::uint64_t seed);

/// A metric of the same jobs under the first contender, and how much more it is under another.
struct PairedSample {
  std::vector<double> first;
  std::vector<double> difference;
};
struct BootstrapIntervals {
  Interval difference;  ///< of its mean
  Interval relative;    ///< of its mean over the mean of `first`
};
/// 95 % intervals by the percentile bootstrap over the jobs.
BootstrapIntervals Bootstrap(const PairedSample& sample, std::uint64_t seed);

}  // namespace muster::sim
