// SPDX-License-Identifier: Apache-2.0
// What a run comes to, in numbers for people. The only part of the simulator, with `compare`, that
// uses doubles: they are computed once from the integers of the run and decide nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload.h"
#include "sim/simulator.h"

namespace muster::sim {

/// Of a set of values; percentiles by nearest rank. All 0 if there are none.
struct Distribution {
  std::int64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};
Distribution Distribute(std::vector<double> values);

/// Jobs of one size, in GPUs (CPUs on a cluster without GPUs).
struct SizeClass {
  std::string_view name;
  std::int64_t jobs = 0;
  Distribution completion_s;  ///< submission to end, of jobs that ran and are over
  Distribution wait_s;        ///< time in the queue, of jobs that started
  double unit_hours = 0;      ///< asked for: size x run time of the trace
};
inline constexpr int kSizeClasses = 5;

struct Report {
  std::string source;     ///< of the workload
  std::string_view unit;  ///< "GPU" or "CPU"
  double capacity = 0;    ///< units in the cluster
  std::int64_t jobs = 0;
  std::array<std::int64_t, kFates> fates{};  ///< jobs by `Fate`
  std::int64_t queued = 0;                   ///< jobs that waited at all
  Distribution completion_s;
  Distribution wait_s;
  double slowdown_all = 1;    ///< mean over jobs that started
  double slowdown_bound = 1;  ///< mean over the communication-bound ones
  std::int64_t bound_jobs = 0;
  double makespan_s = 0;   ///< first submission to last end
  double utilisation = 0;  ///< units in use over units up, 0..1
  double unit_hours = 0;   ///< in use
  double lost_hours = 0;   ///< of these, for work done again and for starting again
  std::int64_t restarts = 0;
  std::array<SizeClass, kSizeClasses> sizes;
  std::int64_t peak_waiting = 0;
  std::int64_t events = 0;
  std::int64_t passes = 0;
  std::int64_t work_units = 0;
  std::int64_t decisions = 0;
  std::uint64_t decision_hash = 0;
  std::array<std::int64_t, model::kReasonCodes> never_reasons{};
  std::int64_t never_explained = 0;
  std::vector<UsageInterval> usage;
  std::vector<std::string> notes;
};

Report Summarize(const model::Workload& workload, const SimulationResult& result);

/// Whether the job ran and is over, so that its completion time means something.
bool IsOver(const JobResult& job);
/// Seconds from submission to end.
double CompletionSeconds(const model::TraceJob& trace, const JobResult& job);
double WaitSeconds(const JobResult& job);

/// "completed", "never started"...
std::string_view Name(Fate fate);

}  // namespace muster::sim
