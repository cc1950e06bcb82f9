// SPDX-License-Identifier: Apache-2.0
#include "sim/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "sim/compare.h"
#include "sim/usage.h"
#include "test/sim/builders.h"

namespace muster::sim::test {
namespace {

TEST(Distribute, PercentilesAreNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Distribution out = Distribute(values);
  EXPECT_EQ(out.count, 100);
  EXPECT_DOUBLE_EQ(out.mean, 50.5);
  EXPECT_DOUBLE_EQ(out.p50, 50);
  EXPECT_DOUBLE_EQ(out.p90, 90);
  EXPECT_DOUBLE_EQ(out.p99, 99);
  EXPECT_DOUBLE_EQ(out.max, 100);
  EXPECT_EQ(Distribute({}).count, 0);
  EXPECT_DOUBLE_EQ(Distribute({7}).p99, 7);
}

/// Two jobs of 1 and 16 GPUs; the second waited `wait_s`.
SimulationResult MakeResult(std::int64_t wait_s) {
  SimulationResult result;
  result.jobs.resize(2);
  result.jobs[0] = {.fate = Fate::kCompleted, .started = true, .end = At(100), .size_milli = 1000};
  result.jobs[1] = {.fate = Fate::kFailed,
                    .started = true,
                    .restarts = 2,
                    .first_start = At(wait_s),
                    .end = At(wait_s + 50),
                    .waited = base::Seconds(wait_s),
                    .lost = base::Seconds(3600),
                    .slowdown_ppm = 1'500'000,
                    .size_milli = 16'000};
  result.allocated_hours = 3;
  result.capacity_hours = 12;
  result.lost_hours = 2;
  return result;
}

TEST(Summarize, CountsByFateAndSize) {
  const auto workload =
      MakeWorkload({{}, {.duration_s = 50, .replicas = 2, .gpus = 8, .comm_permille = 200}});
  const Report report = Summarize(workload, MakeResult(200));
  EXPECT_EQ(report.fates[static_cast<std::size_t>(Fate::kCompleted)], 1);
  EXPECT_EQ(report.fates[static_cast<std::size_t>(Fate::kFailed)], 1);
  EXPECT_EQ(report.queued, 1);
  EXPECT_DOUBLE_EQ(report.completion_s.mean, (100 + 250) / 2.0);
  EXPECT_DOUBLE_EQ(report.wait_s.mean, 100);
  EXPECT_DOUBLE_EQ(report.makespan_s, 250);
  EXPECT_DOUBLE_EQ(report.utilisation, 0.25);
  EXPECT_DOUBLE_EQ(report.slowdown_bound, 1.5);
  EXPECT_DOUBLE_EQ(report.slowdown_all, 1.25);
  EXPECT_DOUBLE_EQ(report.lost_hours, 2);
  EXPECT_EQ(report.restarts, 2);
  EXPECT_EQ(report.sizes[0].jobs, 1);
  EXPECT_EQ(report.sizes[2].jobs, 1);
  EXPECT_DOUBLE_EQ(report.sizes[2].completion_s.mean, 250);
}

TEST(Compare, CountsWhatTheClusterHas) {
  const auto workload = MakeWorkload({{}, {}});
  SimulationResult result = MakeResult(10);
  result.counts_gpus = false;
  const std::vector<Contender> contenders{{"a", {result}}, {"b", {result}}};
  const Comparison comparison = Compare(workload, contenders, 1);
  EXPECT_EQ(comparison.unit, "CPU");
  EXPECT_TRUE(comparison.same_decisions);
  const auto hours = std::ranges::find(comparison.metrics, "unit_hours", &ComparedMetric::key);
  ASSERT_NE(hours, comparison.metrics.end());
  EXPECT_EQ(hours->text, "CPU-hours in use");
  double jobs = 0;
  for (const char* key : {"completed", "failed", "cancelled", "timed_out", "unfinished",
                          "still_waiting", "not_submitted", "rejected", "never_started"}) {
    const auto metric = std::ranges::find(comparison.metrics, key, &ComparedMetric::key);
    ASSERT_NE(metric, comparison.metrics.end()) << key;
    jobs += metric->values[0].mean;
  }
  EXPECT_EQ(jobs, 2);
  result.decision_hash = 7;
  EXPECT_FALSE(
      Compare(workload, std::vector<Contender>{contenders[0], {"c", {result}}}, 1).same_decisions);
}

TEST(Compare, DifferencesAreToTheFirst) {
  const auto workload = MakeWorkload({{}, {.duration_s = 50, .replicas = 2, .gpus = 8}});
  const std::vector<Contender> contenders{{"slow", {MakeResult(200), MakeResult(300)}},
                                          {"fast", {MakeResult(100), MakeResult(100)}}};
  const Comparison comparison = Compare(workload, contenders, 1);
  EXPECT_EQ(comparison.seeds, 2);
  EXPECT_EQ(comparison.paired_jobs, 2);
  const auto wait = std::ranges::find(comparison.metrics, "wait_mean_s", &ComparedMetric::key);
  ASSERT_NE(wait, comparison.metrics.end());
  EXPECT_DOUBLE_EQ(wait->values[0].mean, 125);
  EXPECT_NEAR(wait->values[0].deviation.value_or(0), 35.355, 0.001);
  EXPECT_DOUBLE_EQ(wait->values[1].difference, -75);
  ASSERT_TRUE(wait->values[1].interval);
  EXPECT_DOUBLE_EQ(wait->values[1].interval->low, -150);  // both draws are the second job
  EXPECT_DOUBLE_EQ(wait->values[1].interval->high, 0);
}

TEST(Bootstrap, CoversTheMeanAndShrinksWithTheSample) {
  base::Rng rng(3);
  std::vector<double> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(rng.Unit());
  const BootstrapIntervals both = Bootstrap({std::vector<double>(values.size(), 2.0), values}, 1);
  const Interval interval = both.difference;
  // Standard error of the mean of a uniform: 0.2887 / 100.
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * 0.002887, 0.002);
  EXPECT_LT(interval.low, 0.51);
  EXPECT_GT(interval.high, 0.49);
  EXPECT_DOUBLE_EQ(both.relative.low, interval.low / 2);
}

// A job cannot be shortened by more than it took.
TEST(Bootstrap, NothingIsLessThanNothing) {
  base::Rng rng(3);
  PairedSample sample;
  for (int i = 0; i < 50; ++i) {
    sample.first.push_back(i < 2 ? 100'000 : rng.Unit());
    sample.difference.push_back(-0.9 * sample.first.back());
  }
  const BootstrapIntervals intervals = Bootstrap(sample, 1);
  EXPECT_NEAR(intervals.relative.low, -0.9, 1e-9);
  EXPECT_NEAR(intervals.relative.high, -0.9, 1e-9);
}

TEST(Usage, IntervalsWidenButSumsStay) {
  UsageRecorder usage(At(10));
  usage.AddCapacity(8000);
  usage.AddAllocated(4000);
  usage.Advance(At(10 + 3600));
  usage.AddAllocated(4000);
  usage.Advance(At(10 + 2 * 3600));
  EXPECT_DOUBLE_EQ(usage.AllocatedHours(), 12);
  EXPECT_DOUBLE_EQ(usage.CapacityHours(), 16);
  const auto intervals = usage.Intervals();
  EXPECT_LE(intervals.size(), std::size_t{UsageRecorder::kBuckets});
  EXPECT_EQ(intervals.front().allocated_milli, 4000);
  EXPECT_EQ(intervals.back().allocated_milli, 8000);
  EXPECT_EQ(intervals.back().from + intervals.back().width, At(10 + 2 * 3600));
}

}  // namespace
}  // namespace muster::sim::test
