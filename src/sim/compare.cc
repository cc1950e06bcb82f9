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
  std::string_view text;
  std::string_view unit;
  double (*of)(const Report& report);
  /// The metric of one job, where the metric is a mean over jobs: then the difference has an
  /// interval.
  double (*of_job)(const model::TraceJob& trace, const JobResult& job);
};

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
    {"completed", "jobs completed", "",
     [](const Report& r) {
       return static_cast<double>(r.fates[static_cast<std::size_t>(Fate::kCompleted)]);
     },
     nullptr},
    {"never_started", "jobs never started", "",
     [](const Report& r) {
       return static_cast<double>(r.fates[static_cast<std::size_t>(Fate::kNever)]);
     },
     nullptr},
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

/// A job's metric under `contender` minus that under `first`, mean over the seeds, for each paired
/// job.
std::vector<double> Differences(const Metric& metric, const model::Workload& workload,
                                const Contender& first, const Contender& contender,
                                std::span<const std::size_t> jobs) {
  std::vector<double> out;
  out.reserve(jobs.size());
  for (const std::size_t job : jobs) {
    double sum = 0;
    for (std::size_t run = 0; run < first.runs.size(); ++run) {
      sum += metric.of_job(workload.jobs[job], contender.runs[run].jobs[job]) -
             metric.of_job(workload.jobs[job], first.runs[run].jobs[job]);
    }
    out.push_back(sum / static_cast<double>(first.runs.size()));
  }
  return out;
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

Interval BootstrapMean(std::span<const double> differences, std::uint64_t seed) {
  if (differences.empty()) return {};
  const std::int64_t count = std::ssize(differences);
  const std::int64_t resamples = std::clamp(kDraws / count, kLeastResamples, kMostResamples);
  base::Rng rng(seed);
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(resamples));
  for (std::int64_t i = 0; i < resamples; ++i) {
    double sum = 0;
    for (std::int64_t draw = 0; draw < count; ++draw) {
      sum += differences[rng.Below(static_cast<std::uint64_t>(count))];
    }
    means.push_back(sum / static_cast<double>(count));
  }
  std::ranges::sort(means);
  const auto rank = [&](std::int64_t permille) {
    return means[static_cast<std::size_t>((resamples - 1) * permille / 1000)];
  };
  return {rank(25), rank(975)};
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
  for (const Metric& metric : kMetrics) {
    ComparedMetric row{metric.key, metric.text, metric.unit, {}};
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      ComparedValue value = MeanOverSeeds(metric, reports[i]);
      if (i > 0) {
        value.difference = value.mean - row.values.front().mean;
        if (metric.of_job != nullptr && !paired.empty()) {
          value.interval = BootstrapMean(
              Differences(metric, workload, contenders.front(), contenders[i], paired), seed);
        }
      }
      row.values.push_back(value);
    }
    out.metrics.push_back(std::move(row));
  }
  return out;
}

}  // namespace muster::sim
