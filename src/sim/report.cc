// SPDX-License-Identifier: Apache-2.0
#include "sim/report.h"

#include <algorithm>
#include <iterator>

#include "sim/scaled.h"

namespace muster::sim {
namespace {

struct SizeBound {
  std::string_view name;
  std::int64_t most_milli;
};
constexpr SizeBound kSizeBounds[kSizeClasses] = {
    {"1", 1000}, {"2-8", 8000}, {"9-64", 64'000}, {"65-512", 512'000}, {">512", INT64_MAX},
};

double Seconds(base::Duration span) { return static_cast<double>(span.value()) / 1e6; }

std::size_t SizeClassOf(std::int64_t size_milli) {
  std::size_t i = 0;
  while (size_milli > kSizeBounds[i].most_milli) ++i;
  return i;
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Values of one group of jobs, while they are gathered.
struct Samples {
  std::vector<double> completion_s;
  std::vector<double> wait_s;
};

/// Slowdowns are ppm sums, so that their mean does not depend on the order.
struct SlowdownSum {
  std::int64_t jobs = 0;
  std::int64_t ppm = 0;
  void Add(std::int64_t value) {
    ++jobs;
    ppm += value;
  }
  double MeanFactor() const {
    return jobs == 0 ? 1.0
                     : static_cast<double>(ppm) / static_cast<double>(jobs) /
                           static_cast<double>(kMillion);
  }
};

void CopyTotals(const SimulationResult& result, Report& report) {
  report.unit = result.counts_gpus ? "GPU" : "CPU";
  report.capacity = static_cast<double>(result.capacity_milli) / 1000.0;
  report.unit_hours = result.allocated_hours;
  report.lost_hours = result.lost_hours;
  if (result.capacity_hours > 0)
    report.utilisation = result.allocated_hours / result.capacity_hours;
  report.peak_waiting = result.peak_waiting;
  report.events = result.events;
  report.passes = result.passes;
  report.work_units = result.work_units;
  report.decisions = result.decisions;
  report.decision_hash = result.decision_hash;
  report.never_reasons = result.never_reasons;
  report.never_explained = result.never_explained;
  report.usage = result.usage;
}

}  // namespace

Distribution Distribute(std::vector<double> values) {
  Distribution out;
  if (values.empty()) return out;
  std::ranges::sort(values);
  const auto rank = [&](std::size_t percent) {
    return values[(values.size() * percent + 99) / 100 - 1];
  };
  out.count = std::ssize(values);
  out.mean = Mean(values);
  out.p50 = rank(50);
  out.p90 = rank(90);
  out.p99 = rank(99);
  out.max = values.back();
  return out;
}

bool IsOver(const JobResult& job) { return job.started && job.fate != Fate::kUnfinished; }

double CompletionSeconds(const model::TraceJob& trace, const JobResult& job) {
  return Seconds(job.end - trace.submit);
}

double WaitSeconds(const JobResult& job) { return Seconds(job.waited); }

std::string_view Name(Fate fate) {
  constexpr std::string_view kNames[kFates] = {"completed",     "failed",        "cancelled",
                                               "timed out",     "unfinished",    "still waiting",
                                               "not submitted", "never started", "rejected"};
  return kNames[static_cast<std::size_t>(fate)];
}

Report Summarize(const model::Workload& workload, const SimulationResult& result) {
  Report report;
  report.source = workload.source;
  report.jobs = std::ssize(workload.jobs);
  CopyTotals(result, report);

  Samples all;
  std::array<Samples, kSizeClasses> by_size;
  SlowdownSum slowdown_all;
  SlowdownSum slowdown_bound;
  base::Instant last_end = result.start;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const model::TraceJob& trace = workload.jobs[i];
    const JobResult& job = result.jobs[i];
    const std::size_t size = SizeClassOf(job.size_milli);
    ++report.fates[static_cast<std::size_t>(job.fate)];
    if (job.fate == Fate::kRejected) continue;  // what is malformed has no size
    ++report.sizes[size].jobs;
    report.sizes[size].unit_hours += UnitHours(Wide{job.size_milli} * trace.duration.value());
    if (!job.started) continue;
    report.restarts += job.restarts;
    if (!job.waited.IsZero()) ++report.queued;
    all.wait_s.push_back(WaitSeconds(job));
    by_size[size].wait_s.push_back(WaitSeconds(job));
    slowdown_all.Add(job.slowdown_ppm);
    if (trace.comm_fraction.value() >= kHeavyPermille) slowdown_bound.Add(job.slowdown_ppm);
    if (!IsOver(job)) continue;
    all.completion_s.push_back(CompletionSeconds(trace, job));
    by_size[size].completion_s.push_back(CompletionSeconds(trace, job));
    last_end = std::max(last_end, job.end);
  }
  const base::Instant first_submit =
      workload.jobs.empty() ? result.start : workload.jobs.front().submit;
  report.makespan_s = std::max(0.0, Seconds(last_end - first_submit));
  report.completion_s = Distribute(std::move(all.completion_s));
  report.wait_s = Distribute(std::move(all.wait_s));
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    report.sizes[i].name = kSizeBounds[i].name;
    report.sizes[i].completion_s = Distribute(std::move(by_size[i].completion_s));
    report.sizes[i].wait_s = Distribute(std::move(by_size[i].wait_s));
  }
  report.slowdown_all = slowdown_all.MeanFactor();
  report.slowdown_bound = slowdown_bound.MeanFactor();
  report.bound_jobs = slowdown_bound.jobs;
  report.notes = workload.notes;
  report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
  return report;
}

}  // namespace muster::sim
