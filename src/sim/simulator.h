// SPDX-License-Identifier: Apache-2.0
// Replays a workload through the engine that production runs, on a simulated cluster and in
// simulated time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "model/cluster.h"
#include "model/policy.h"
#include "model/reason.h"
#include "model/workload.h"
#include "sim/cluster_events.h"
#include "sim/slowdown.h"
#include "sim/trace_request.h"
#include "sim/usage.h"

namespace muster::sim {

/// How far a run is; nothing here depends on the wall clock.
struct Progress {
  base::Instant now;  ///< simulated
  std::int64_t jobs_done = 0;
  std::int64_t jobs_total = 0;
  std::int64_t waiting = 0;
};

struct SimulationOptions {
  std::uint64_t seed = 1;
  TraceDefaults defaults;
  SlowdownOptions slowdown;
  ClusterEvents events;                ///< in any order
  std::optional<base::Instant> until;  ///< stop here; absent: when nothing is left to happen
  std::vector<std::size_t>
      explain;  ///< jobs (indices into the workload) to ask `why` about, on arrival
  engine::CheckLevel check = engine::CheckLevel::kTouched;
  std::function<void(const Progress&)> progress;  ///< about every 10,000 events
};

/// What became of a job.
enum class Fate : std::uint8_t {
  kCompleted,
  kFailed,
  kCancelled,
  kTimedOut,
  kUnfinished,  ///< started, not over when the simulation ended
  kWaiting,     ///< waited when the run was stopped
  kToCome,      ///< not submitted yet when the run was stopped
  kNever,       ///< never started, though the run went on until nothing was left to happen
  kRejected,    ///< its request is malformed
  kLast = kRejected,
};
inline constexpr int kFates = static_cast<int>(Fate::kLast) + 1;

struct JobResult {
  Fate fate = Fate::kNever;
  bool started = false;
  std::uint32_t restarts = 0;
  base::Instant first_start;  ///< if it started
  base::Instant end;          ///< if it is over
  base::Duration waited;      ///< in the queue, over all attempts
  base::Duration lost;        ///< run time that was done again, or spent on starting again
  std::int64_t slowdown_ppm = kMillion;  ///< by its last placement
  std::int64_t size_milli =
      0;  ///< thousandths of a GPU (of a CPU on a cluster without GPUs) at full size
};

struct Explained {
  std::size_t job = 0;
  engine::Explanation explanation;
};

struct SimulationResult {
  std::vector<JobResult> jobs;  ///< as in the workload
  std::vector<UsageInterval> usage;
  bool counts_gpus = true;  ///< amounts are of GPUs; else of CPUs, as no job or node has one
  std::int64_t capacity_milli = 0;  ///< of all nodes of the cluster file
  double allocated_hours = 0;
  double capacity_hours = 0;
  double lost_hours = 0;  ///< of the allocated ones, what `JobResult::lost` comes to
  base::Instant start;    ///< first submission, or the first event if that is earlier
  base::Instant end;      ///< the last thing that happened
  std::int64_t peak_waiting = 0;
  std::int64_t events = 0;
  std::int64_t passes = 0;
  std::int64_t work_units = 0;
  std::int64_t decisions = 0;
  std::uint64_t decision_hash = 0;
  std::array<std::int64_t, model::kReasonCodes> never_reasons{};  ///< why jobs never started
  std::int64_t never_explained = 0;  ///< how many of those were asked about
  std::vector<Explained> explained;
  std::vector<std::string> notes;  ///< what was adapted, for the report
};

/// Runs `workload` on `cluster` under `policy` as `CompletePolicy` makes it. An error if the policy
/// or the events do not fit the cluster.
base::Checked<SimulationResult> Simulate(const model::Cluster& cluster,
                                         const model::Workload& workload, model::Policy policy,
                                         const SimulationOptions& options);

}  // namespace muster::sim
