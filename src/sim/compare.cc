// SPDX-License-Identifier: Apache-2.0
#include "sim/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/rng.h"

namespace muster::sim {
namespace {

/// What the bootstrap may spend, in draws: about a second. Resamples between the two bounds.
constexpr std::int64_t kDraws = 40'000'000;
constexpr std::int64_t kLeastResamples = 200;
constexpr std::int64_t kMostResamples = 2000;

struct Metric {
  std::string_view key;
  std::string_view text;  ///< "GPU" stands for what is counted
  std::string_view unit;
  double (*of)(const Report& report);
  /// The metric of one job, where the metric is a mean over jobs: then the difference has an
  /// interval.
  double (*of_job)(const model::TraceJob& trace, const JobResult& job) = nullptr;
  bool may_be_left_out = false;
};

template <Fate fate>
double JobsOf(const Report& report) {
  return static_cast<double>(report.fates[static_cast<std::size_t>(fate)]);
}

double OfJobCompletion(const model::TraceJob& trace, const JobResult& job) {
  return CompletionSeconds(trace, job);
}
double OfJobWait(const model::TraceJob&, const JobResult& job) { return WaitSeconds(job); }

constexpr Metric kMetrics[] = {
    {"completion_mean_s", "completion time, mean", "s",
     [](const Report& r) { return r.completion_s.mean; }, &OfJobCompletion},
    {"completion_p50_s", "completion time, p50", "s",
     [](const Report& r) { return r.completion_s.p50; }, nullptr},
    {"completion_p90_s", "completion time, p90", "s",
     [](const Report& r) { return r.completion_s.p90; }, nullptr},
    {"completion_p99_s", "completion time, p99", "s",
     [](const Report& r) { return r.completion_s.p99; }, nullptr},
    {"wait_mean_s", "wait, mean", "s", [](const Report& r) { return r.wait_s.mean; }, &OfJobWait},
    {"wait_p99_s", "wait, p99", "s", [](const Report& r) { return r.wait_s.p99; }, nullptr},
    {"queued", "jobs that waited", "",
     [](const Report& r) { return static_cast<double>(r.queued); }, nullptr},
    {"slowdown_bound", "slowdown, communication-bound", "x",
     [](const Report& r) { return r.slowdown_bound; }, nullptr},
    {"slowdown_all", "slowdown, all jobs", "x", [](const Report& r) { return r.slowdown_all; },
     nullptr},
    {"makespan_s", "makespan", "s", [](const Report& r) { return r.makespan_s; }, nullptr},
    {"utilisation", "utilisation", "%", [](const Report& r) { return 100 * r.utilisation; },
     nullptr},
    {"unit_hours", "GPU-hours in use", "hours", [](const Report& r) { return r.unit_hours; },
     nullptr},
    {"lost_hours", "GPU-hours lost", "hours", [](const Report& r) { return r.lost_hours; },
     nullptr},
    {"restarts", "restarts", "", [](const Report& r) { return static_cast<double>(r.restarts); },
     nullptr},
    {"completed", "jobs completed", "", &JobsOf<Fate::kCompleted>},
    {"failed", "jobs failed", "", &JobsOf<Fate::kFailed>, nullptr, true},
    {"cancelled", "jobs cancelled", "", &JobsOf<Fate::kCancelled>, nullptr, true},
    {"timed_out", "jobs timed out", "", &JobsOf<Fate::kTimedOut>, nullptr, true},
    {"unfinished", "jobs unfinished", "", &JobsOf<Fate::kUnfinished>, nullptr, true},
    {"still_waiting", "jobs still waiting", "", &JobsOf<Fate::kWaiting>, nullptr, true},
    {"not_submitted", "jobs not submitted", "", &JobsOf<Fate::kToCome>, nullptr, true},
    {"rejected", "jobs rejected", "", &JobsOf<Fate::kRejected>, nullptr, true},
    {"never_started", "jobs never started", "", &JobsOf<Fate::kNever>},
    {"peak_waiting", "longest queue", "",
     [](const Report& r) { return static_cast<double>(r.peak_waiting); }, nullptr},
};

/// Indices of the jobs that are over in every run.
std::vector<std::size_t> PairedJobs(std::size_t jobs, std::span<const Contender> contenders) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < jobs; ++i) {
    const bool over_everywhere = std::ranges::all_of(contenders, [i](const Contender& contender) {
      return std::ranges::all_of(contender.runs,
                                 [i](const auto& run) { return IsOver(run.jobs[i]); });
    });
    if (over_everywhere) out.push_back(i);
  }
  return out;
}

/// A job's metric under `first`, and under `contender` minus that, means over the seeds, for each
/// paired job.
PairedSample Pair(const Metric& metric, const model::Workload& workload, const Contender& first,
                  const Contender& contender, std::span<const std::size_t> jobs) {
  PairedSample out;
  const auto mean = [&](const Contender& of, std::size_t job) {
    double sum = 0;
    for (const SimulationResult& run : of.runs)
      sum += metric.of_job(workload.jobs[job], run.jobs[job]);
    return sum / static_cast<double>(of.runs.size());
  };
  for (const std::size_t job : jobs) {
    out.first.push_back(mean(first, job));
    out.difference.push_back(mean(contender, job) - out.first.back());
  }
  return out;
}

bool SameDecisions(std::span<const Contender> contenders) {
  const std::vector<SimulationResult>& first = contenders.front().runs;
  return std::ranges::all_of(contenders, [&](const Contender& contender) {
    return std::ranges::equal(contender.runs, first, {}, &SimulationResult::decision_hash,
                              &SimulationResult::decision_hash);
  });
}

/// "GPU-hours lost" -> "CPU-hours lost".
std::string WithUnit(std::string_view text, std::string_view unit) {
  constexpr std::string_view kUnit = "GPU";
  return text.starts_with(kUnit) ? std::string(unit) + std::string(text.substr(kUnit.size()))
                                 : std::string(text);
}

ComparedValue MeanOverSeeds(const Metric& metric, std::span<const Report> reports) {
  ComparedValue value;
  const auto count = static_cast<double>(reports.size());
  for (const Report& report : reports) value.mean += metric.of(report) / count;
  if (reports.size() < 2) return value;
  double squares = 0;
  for (const Report& report : reports) squares += std::pow(metric.of(report) - value.mean, 2);
  value.deviation = std::sqrt(squares / (count - 1));
  return value;
}

}  // namespace

BootstrapIntervals Bootstrap(const PairedSample& sample, std::uint64_t seed) {
  const std::int64_t count = std::ssize(sample.difference);
  MUSTER_CHECK(std::ssize(sample.first) == count);
  if (count == 0) return {};
  const std::int64_t resamples = std::clamp(kDraws / count, kLeastResamples, kMostResamples);
  base::Rng rng(seed);
  std::vector<double> means;
  std::vector<double> ratios;
  for (std::int64_t i = 0; i < resamples; ++i) {
    double difference = 0;
    double first = 0;
    for (std::int64_t draw = 0; draw < count; ++draw) {
      const auto job = static_cast<std::size_t>(rng.Below(static_cast<std::uint64_t>(count)));
      difference += sample.difference[job];
      first += sample.first[job];
    }
    means.push_back(difference / static_cast<double>(count));
    ratios.push_back(first > 0 ? difference / first : 0);
  }
  const auto interval = [&](std::vector<double>& values) {
    std::ranges::sort(values);
    const auto rank = [&](std::int64_t permille) {
      return values[static_cast<std::size_t>((resamples - 1) * permille / 1000)];
    };
    return Interval{rank(25), rank(975)};
  };
  return {interval(means), interval(ratios)};
}

Comparison Compare(const model::Workload& workload, std::span<const Contender> contenders,
                   std::uint64_t seed) {
  MUSTER_CHECK(!contenders.empty());
  Comparison out;
  out.seeds = std::ssize(contenders.front().runs);
  std::vector<std::vector<Report>> reports;
  for (const Contender& contender : contenders) {
    MUSTER_CHECK(std::ssize(contender.runs) == out.seeds);
    out.names.push_back(contender.name);
    std::vector<Report>& of_seeds = reports.emplace_back();
    for (const SimulationResult& run : contender.runs) of_seeds.push_back(Summarize(workload, run));
  }
  const std::vector<std::size_t> paired = PairedJobs(workload.jobs.size(), contenders);
  out.paired_jobs = std::ssize(paired);
  out.unit = reports.front().empty() ? "GPU" : reports.front().front().unit;
  out.same_decisions = SameDecisions(contenders);
  for (const Metric& metric : kMetrics) {
    ComparedMetric row{.key = metric.key,
                       .text = WithUnit(metric.text, out.unit),
                       .unit = metric.unit,
                       .values = {},
                       .may_be_left_out = metric.may_be_left_out};
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      ComparedValue value = MeanOverSeeds(metric, reports[i]);
      if (i > 0) {
        value.difference = value.mean - row.values.front().mean;
        if (metric.of_job != nullptr && !paired.empty()) {
          const BootstrapIntervals intervals =
              Bootstrap(Pair(metric, workload, contenders.front(), contenders[i], paired), seed);
          value.interval = intervals.difference;
          value.relative = intervals.relative;
        }
      }
      row.values.push_back(value);
    }
    out.metrics.push_back(std::move(row));
  }
  return out;
}

}  // namespace muster::sim
