// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/archive.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/units.h"
#include "sim/main_reason.h"
#include "sim/scaled.h"
#include "sim/site_policy.h"

namespace muster::sim {
namespace {

using base::Duration;
using base::Instant;
using model::JobId;

constexpr std::int64_t kProgressEvents = 10'000;
/// `Explain` is asked for at most this many jobs that never started: the counts are for a person to
/// read.
constexpr std::int64_t kMaxExplained = 1000;
/// Passes in a row that time alone asked for and that decided nothing; more means that no end is
/// coming.
constexpr std::int64_t kMaxIdlePasses = 1 << 16;
constexpr std::size_t kMaxNotes = 10;
/// Nothing is replayed beyond this, 36,000 years from the origin, so that times stay in 64 bits.
constexpr Instant kEndOfTime{std::int64_t{1} << 60};

enum class EventKind : std::uint8_t { kExit, kStopped };

/// Something that will happen to an attempt.
struct Event {
  std::int64_t at_us = 0;
  std::uint64_t sequence = 0;
  std::uint32_t job = 0;
  std::uint32_t attempt = 0;
  EventKind kind = EventKind::kExit;
};

struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return std::pair(a.at_us, a.sequence) > std::pair(b.at_us, b.sequence);
  }
};

enum class Phase : std::uint8_t { kToCome, kWaiting, kRunning, kStopping, kOver };

/// A job as the simulated cluster knows it.
struct JobState {
  Phase phase = Phase::kToCome;
  std::uint32_t attempt = 0;
  std::int64_t remaining_us = 0;  ///< work left, as run time at full size under the best placement
  std::int64_t stretch_ppm = kMillion;  ///< run time over work, in this attempt
  Instant since;                        ///< start of this attempt, or of this wait
  Duration overhead;                    ///< of starting again
  Duration unsaved;  ///< run time of the latest attempt that a next one must do again
  std::int64_t held_milli = 0;
  model::GangRequestPtr request;
  model::GangPlacementPtr placement;  ///< null unless it holds a place
};

/// Number of a queue or class name of the trace in the policy; names are few, jobs are many.
class NameTable {
 public:
  template <class Rows>
  NameTable(const Rows& rows, const std::string& fallback) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      known_.emplace(rows[i].name, i);
      if (rows[i].name == fallback) fallback_ = i;
    }
  }
  std::size_t Find(std::string_view name) {
    if (name.empty()) return fallback_;
    const auto at = known_.find(name);
    if (at != known_.end()) return at->second;
    ++replaced_;
    return fallback_;
  }
  std::int64_t replaced() const { return replaced_; }

 private:
  std::unordered_map<std::string_view, std::size_t> known_;  ///< only looked up, never walked
  std::size_t fallback_ = 0;
  std::int64_t replaced_ = 0;
};

/// Nodes in the order in which the engine sees them, which is how it numbers them: the ones that
/// are added later come last.
std::vector<model::NodeSpec> InOrderOfAppearance(const model::Cluster& cluster,
                                                 const ClusterEvents& events) {
  std::unordered_map<std::string_view, const model::NodeSpec*> late;
  for (const ClusterEvent& event : events) {
    if (event.kind == ClusterEventKind::kAdd) late.emplace(event.node, nullptr);
  }
  std::vector<model::NodeSpec> nodes;
  nodes.reserve(cluster.nodes.size());
  for (const model::NodeSpec& node : cluster.nodes) {
    const auto at = late.find(node.name);
    if (at == late.end()) {
      nodes.push_back(node);
    } else {
      at->second = &node;
    }
  }
  for (const ClusterEvent& event : events) {
    if (event.kind == ClusterEventKind::kAdd) nodes.push_back(*late.at(event.node));
  }
  return nodes;
}

Instant StartOf(const model::Workload& workload, const ClusterEvents& events) {
  Instant start = workload.jobs.empty() ? Instant{} : workload.jobs.front().submit;
  if (!events.empty()) start = std::min(start, events.front().at);
  return start;
}

class Simulator {
 public:
  Simulator(const model::Cluster& cluster, const model::Workload& workload, model::Policy policy,
            ClusterEvents events, const SimulationOptions& options);
  SimulationResult Run();

 private:
  // What comes next, and what it does.
  std::optional<Instant> NextInstant() const;
  void ApplyDue();
  void Arrive(std::uint32_t job);
  void Happen(const Event& event);
  void Change(const ClusterEvent& event);
  void DecideAll();
  void ExplainArrivals();

  // What a decision does to the simulated cluster.
  void Act(const model::StartGang& start);
  void Act(const model::StopGang& stop);
  void Act(const model::RequeueJob& requeue);
  void Act(const model::FinishJob& finish);

  void Schedule(Duration after, std::uint32_t job, EventKind kind);
  void EndWork(std::uint32_t job, bool saves_all);
  void Lose(std::uint32_t job, Duration time);
  void Release(JobState& state);
  void SetNodeUp(std::size_t node, bool up);
  std::int64_t SizeMilli(const model::GangRequest& request, std::int64_t replicas) const;
  std::int64_t CapacityMilli(const model::NodeSpec& node) const;
  void ApplyFact(model::Fact fact) { engine_.Apply(model::Input{now_, std::move(fact)}); }
  void Report();
  void CountNever(const engine::View& view, JobId job);
  void Close();

  const model::Workload& workload_;
  const SimulationOptions& options_;
  const model::Policy policy_;
  const ClusterEvents events_;
  const std::vector<model::NodeSpec> nodes_;
  std::unordered_map<std::string_view, std::size_t> node_index_;  ///< only looked up, never walked
  std::vector<bool> node_up_;
  engine::Engine engine_;
  SlowdownModel slowdown_;
  RequestCache requests_;
  NameTable queues_;
  NameTable classes_;
  UsageRecorder usage_;

  Instant now_;
  std::vector<JobState> states_;
  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
  std::size_t next_arrival_ = 0;
  std::size_t next_event_ = 0;
  std::int64_t jobs_over_ = 0;
  bool stopped_ = false;  ///< before everything had happened
  Wide lost_milli_us_ = 0;
  std::int64_t next_report_ = kProgressEvents;
  std::vector<std::size_t> explain_;  ///< jobs to ask about, by rising index
  std::size_t next_explain_ = 0;
  base::Writer writer_;
  base::StreamHash hash_;
  SimulationResult result_;
};

Simulator::Simulator(const model::Cluster& cluster, const model::Workload& workload,
                     model::Policy policy, ClusterEvents events, const SimulationOptions& options)
    : workload_(workload),
      options_(options),
      policy_(std::move(policy)),
      events_(std::move(events)),
      nodes_(InOrderOfAppearance(cluster, events_)),
      node_up_(nodes_.size(), false),
      engine_(policy_, options.seed, options.check),
      slowdown_(policy_.topology.levels, nodes_, options.slowdown),
      requests_(options.defaults),
      queues_(policy_.queues, policy_.defaults.queue),
      classes_(policy_.priority_classes, policy_.defaults.priority_class),
      usage_(StartOf(workload, events_)),
      now_(StartOf(workload, events_)),
      states_(workload.jobs.size()),
      explain_(options.explain) {
  std::ranges::sort(explain_);
  result_.start = now_;
  result_.jobs.resize(workload.jobs.size());
  const bool has_gpus =
      std::ranges::any_of(nodes_, [](const auto& node) { return !node.devices.empty(); });
  const bool wants_gpus =
      workload.jobs.empty() ||
      std::ranges::any_of(workload.jobs, [](const auto& job) { return !job.gpu.IsZero(); });
  result_.counts_gpus = has_gpus && wants_gpus;
  if (has_gpus && !wants_gpus)
    result_.notes.emplace_back("no job asks for a GPU: CPUs are counted");
  const auto late = std::ranges::count(events_, ClusterEventKind::kAdd, &ClusterEvent::kind);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    node_index_.emplace(nodes_[i].name, i);
    result_.capacity_milli += CapacityMilli(nodes_[i]);
    if (i + static_cast<std::size_t>(late) >= nodes_.size()) continue;
    ApplyFact(model::NodeSeen{nodes_[i]});
    SetNodeUp(i, true);
  }
}

std::int64_t Simulator::CapacityMilli(const model::NodeSpec& node) const {
  return result_.counts_gpus ? 1000 * static_cast<std::int64_t>(node.devices.size())
                             : node.cpu.value();
}

/// Of a sound request: its amounts are bounded.
std::int64_t Simulator::SizeMilli(const model::GangRequest& request, std::int64_t replicas) const {
  const model::ReplicaShape& shape = request.groups.front().shape;
  if (result_.counts_gpus) return (shape.gpu * replicas).value();
  return (shape.cpu.value_or(base::MilliCpu{}) * replicas).value();
}

SimulationResult Simulator::Run() {
  std::int64_t idle_passes = 0;
  while (const std::optional<Instant> next = NextInstant()) {
    stopped_ = true;
    if (options_.until && *next > *options_.until) break;
    if (*next >= kEndOfTime) {
      result_.notes.emplace_back("the run was ended after 36,000 simulated years");
      break;
    }
    now_ = *next;
    usage_.Advance(now_);
    const std::int64_t before = result_.events + result_.decisions;
    ApplyFact(model::Tick{});
    ApplyDue();
    DecideAll();
    ExplainArrivals();
    result_.peak_waiting = std::max(result_.peak_waiting, usage_.waiting());
    idle_passes = result_.events + result_.decisions == before ? idle_passes + 1 : 0;
    if (idle_passes > kMaxIdlePasses) {
      result_.notes.push_back(base::Format(
          "the run was ended at {}: {} passes in a row decided nothing, though time limits or "
          "relaxed constraints were due",
          base::FormatDuration(now_ - Instant{}), idle_passes));
      break;
    }
    stopped_ = false;
    if (result_.events >= next_report_) Report();
  }
  Close();
  return std::move(result_);
}

std::optional<Instant> Simulator::NextInstant() const {
  constexpr Instant kNone{std::numeric_limits<std::int64_t>::max()};
  Instant next = kNone;
  if (next_arrival_ < workload_.jobs.size()) next = workload_.jobs[next_arrival_].submit;
  if (!heap_.empty()) next = std::min(next, Instant{heap_.front().at_us});
  if (next_event_ < events_.size()) next = std::min(next, events_[next_event_].at);
  // What was due at this instant has been decided: a deadline that is not later asks for nothing.
  const std::optional<Instant> deadline = engine_.NextDeadline();
  if (deadline && *deadline > now_) next = std::min(next, *deadline);
  if (next == kNone) return std::nullopt;
  return std::max(next, now_);
}

void Simulator::ApplyDue() {
  while (!heap_.empty() && heap_.front().at_us <= now_.us) {
    std::ranges::pop_heap(heap_, Later{});
    const Event event = heap_.back();
    heap_.pop_back();
    ++result_.events;
    Happen(event);
  }
  for (; next_event_ < events_.size() && events_[next_event_].at <= now_; ++next_event_) {
    ++result_.events;
    Change(events_[next_event_]);
  }
  for (; next_arrival_ < workload_.jobs.size() && workload_.jobs[next_arrival_].submit <= now_;
       ++next_arrival_) {
    ++result_.events;
    Arrive(static_cast<std::uint32_t>(next_arrival_));
  }
}

void Simulator::Arrive(std::uint32_t job) {
  const model::TraceJob& trace = workload_.jobs[job];
  const RequestCache::Entry& entry = requests_.For(trace);
  JobState& state = states_[job];
  JobResult& result = result_.jobs[job];
  if (!entry.fault.empty()) {
    if (result_.notes.size() < kMaxNotes) {
      result_.notes.push_back(
          base::Format("job {} was rejected: {}", base::Quote(trace.name), entry.fault));
    }
    result.fate = Fate::kRejected;
    state.phase = Phase::kOver;
    ++jobs_over_;
    return;
  }
  result.size_milli = SizeMilli(*entry.request, trace.replicas);
  state.request = entry.request;
  state.phase = Phase::kWaiting;
  state.since = now_;
  state.remaining_us = trace.duration.value();
  usage_.AddWaiting(1);
  ApplyFact(model::JobSubmitted{
      .job = JobId{job},
      .queue = policy_.queues[queues_.Find(trace.queue)].name,
      .user = trace.user,
      .priority = policy_.priority_classes[classes_.Find(trace.priority_class)].value,
      .start_after = {},
      .request = entry.request,
  });
}

void Simulator::Happen(const Event& event) {
  JobState& state = states_[event.job];
  if (state.attempt != event.attempt || state.placement == nullptr)
    return;  // of an attempt that is over
  const model::RankRange all{0, static_cast<std::int32_t>(state.placement->ranks.size())};
  const model::Attempt attempt{event.attempt};
  if (event.kind == EventKind::kStopped) {
    Release(state);
    ApplyFact(model::StopConfirmed{JobId{event.job}, attempt, all});
    return;
  }
  if (state.phase != Phase::kRunning) return;  // it was told to stop first
  const model::TraceEnd end = workload_.jobs[event.job].end;
  EndWork(event.job, true);
  if (end == model::TraceEnd::kCancelled) {  // its user ends it: the engine stops what runs
    ApplyFact(model::JobChanged{JobId{event.job}, model::JobChanged::Change::kCancel});
    return;
  }
  Release(state);
  ApplyFact(model::TaskExited{JobId{event.job}, attempt, all, end == model::TraceEnd::kFailed});
}

void Simulator::SetNodeUp(std::size_t node, bool up) {
  if (node_up_[node] == up) return;
  node_up_[node] = up;
  usage_.AddCapacity(up ? CapacityMilli(nodes_[node]) : -CapacityMilli(nodes_[node]));
}

void Simulator::Change(const ClusterEvent& event) {
  const std::size_t node = node_index_.at(event.node);
  const auto set = [&](model::NodeState state) {
    ApplyFact(model::NodeStateChanged{event.node, state});
  };
  switch (event.kind) {
    case ClusterEventKind::kDown:
      set(model::NodeState::kDown);
      return SetNodeUp(node, false);
    case ClusterEventKind::kUp:
      set(model::NodeState::kReady);
      return SetNodeUp(node, true);
    case ClusterEventKind::kCordon:
      set(model::NodeState::kCordoned);
      return;  // counts as it did: as up, unless it is down
    case ClusterEventKind::kDrain:
      set(model::NodeState::kDraining);
      return;
    case ClusterEventKind::kRemove:
      ApplyFact(model::NodeGone{event.node});
      return SetNodeUp(node, false);
    case ClusterEventKind::kAdd:
      ApplyFact(model::NodeSeen{nodes_[node]});
      return SetNodeUp(node, true);
  }
}

void Simulator::DecideAll() {
  bool more = true;
  while (more) {
    const engine::Pass pass = engine_.Decide(now_, engine::WorkBudget{});
    more = pass.more;
    ++result_.passes;
    result_.work_units += pass.work;
    result_.decisions += static_cast<std::int64_t>(pass.decisions.size());
    for (const model::Decision& decision : pass.decisions) {
      writer_.Clear();
      writer_(now_, decision);
      hash_.Add(writer_.bytes());
      std::visit([this](const auto& item) { Act(item); }, decision);
    }
  }
}

void Simulator::Act(const model::StartGang& start) {
  const std::uint32_t job = start.job.value;
  JobState& state = states_[job];
  JobResult& result = result_.jobs[job];
  const bool again = state.attempt > 0;
  result.waited += now_ - state.since;
  if (!again) result.first_start = now_;
  result.started = true;
  if (again) ++result.restarts;

  const auto ranks = static_cast<std::int64_t>(start.placement->ranks.size());
  const model::TaskGroup& group = state.request->groups.front();
  const base::Permille comm = state.request->topology.comm_fraction;
  result.slowdown_ppm = slowdown_.OfGang(*start.placement, group.shape.gpu * ranks, comm);
  slowdown_.Enter(*start.placement, comm);

  state.phase = Phase::kRunning;
  state.attempt = start.attempt.value;
  state.since = now_;
  state.placement = start.placement;
  state.stretch_ppm =
      Scaled(result.slowdown_ppm, group.replicas, ranks);  // fewer ranks, longer run
  state.overhead =
      again && state.request->checkpoint ? state.request->checkpoint->restart : Duration{};
  state.held_milli = SizeMilli(*state.request, ranks);
  usage_.AddWaiting(-1);
  usage_.AddAllocated(state.held_milli);
  ApplyFact(model::TaskStarted{start.job, start.attempt, {0, static_cast<std::int32_t>(ranks)}});
  const Duration work = base::Microseconds(
      ScaledUpAtMost(state.remaining_us, state.stretch_ppm, kMillion, kEndOfTime.us));
  Schedule(state.overhead + work, job, EventKind::kExit);
}

void Simulator::Act(const model::StopGang& stop) {
  const JobState& state = states_[stop.job.value];
  if (state.attempt != stop.attempt.value || state.placement == nullptr) return;
  // A gang that lost a node cannot save its state any more.
  const auto& checkpoint = state.request->checkpoint;
  const bool saves = checkpoint && !checkpoint->on_signal.empty() &&
                     stop.reason.code != model::ReasonCode::kNodeLost;
  EndWork(stop.job.value, saves);
  Schedule(saves ? stop.grace : Duration{}, stop.job.value, EventKind::kStopped);
}

void Simulator::Act(const model::RequeueJob& requeue) {
  JobState& state = states_[requeue.job.value];
  EndWork(requeue.job.value, false);
  Release(state);
  Lose(requeue.job.value, state.unsaved);
  state.phase = Phase::kWaiting;
  state.since = now_;
  usage_.AddWaiting(1);
}

void Simulator::Act(const model::FinishJob& finish) {
  constexpr Fate kFateOf[] = {Fate::kCompleted, Fate::kFailed, Fate::kCancelled, Fate::kTimedOut};
  JobState& state = states_[finish.job.value];
  JobResult& result = result_.jobs[finish.job.value];
  if (state.phase == Phase::kWaiting) {
    result.waited += now_ - state.since;
    usage_.AddWaiting(-1);
  }
  EndWork(finish.job.value, false);
  Release(state);
  state.phase = Phase::kOver;
  state.request = nullptr;
  result.fate = kFateOf[static_cast<std::size_t>(finish.end)];
  result.end = now_;
  ++jobs_over_;
}

void Simulator::Schedule(Duration after, std::uint32_t job, EventKind kind) {
  const Instant at = std::min(now_ + after, kEndOfTime);
  heap_.push_back({at.us, sequence_++, job, states_[job].attempt, kind});
  std::ranges::push_heap(heap_, Later{});
}

/// The attempt does no more work from now on; once for each attempt. `saves_all`: none of it is
/// lost.
void Simulator::EndWork(std::uint32_t job, bool saves_all) {
  JobState& state = states_[job];
  if (state.phase != Phase::kRunning) return;
  const Duration elapsed = now_ - state.since;
  const Duration starting = std::min(elapsed, state.overhead);
  const Duration worked = elapsed - starting;
  const auto& checkpoint = state.request->checkpoint;
  const Duration every = checkpoint ? checkpoint->every : Duration{};
  Duration kept;
  if (saves_all) {
    kept = worked;
  } else if (!every.IsZero()) {
    kept = every * (worked / every);
  }
  state.unsaved = worked - kept;
  state.remaining_us = std::max<std::int64_t>(
      0, state.remaining_us - Scaled(kept.value(), kMillion, state.stretch_ppm));
  Lose(job, starting);
  state.phase = Phase::kStopping;
}

/// So much of the latest attempt's time brought nothing.
void Simulator::Lose(std::uint32_t job, Duration time) {
  result_.jobs[job].lost += time;
  lost_milli_us_ += Wide{states_[job].held_milli} * time.value();
}

void Simulator::Release(JobState& state) {
  if (state.placement == nullptr) return;
  usage_.AddAllocated(-state.held_milli);
  slowdown_.Leave(*state.placement, state.request->topology.comm_fraction);
  state.placement = nullptr;
}

void Simulator::ExplainArrivals() {
  for (; next_explain_ < explain_.size() && explain_[next_explain_] < next_arrival_;
       ++next_explain_) {
    const std::size_t job = explain_[next_explain_];
    result_.explained.push_back(
        {job, engine_.Explain(engine_.view(), JobId{static_cast<std::uint32_t>(job)}, {})});
  }
}

void Simulator::Report() {
  next_report_ = result_.events + kProgressEvents;
  if (!options_.progress) return;
  options_.progress(
      {now_, jobs_over_, static_cast<std::int64_t>(states_.size()), usage_.waiting()});
}

void Simulator::CountNever(const engine::View& view, JobId job) {
  if (result_.never_explained == kMaxExplained) return;
  ++result_.never_explained;
  const model::ReasonCode code = MainReason(engine_.Explain(view, job, {}));
  ++result_.never_reasons[static_cast<std::size_t>(code)];
}

void Simulator::Close() {
  if (options_.until) usage_.Advance(std::max(now_, *options_.until));
  const engine::View view = engine_.view();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].phase == Phase::kOver) continue;
    if (states_[i].phase == Phase::kToCome) {
      const RequestCache::Entry& entry = requests_.For(workload_.jobs[i]);
      if (entry.fault.empty())
        result_.jobs[i].size_milli = SizeMilli(*entry.request, workload_.jobs[i].replicas);
    }
    Fate& fate = result_.jobs[i].fate;
    if (states_[i].attempt > 0) {
      fate = Fate::kUnfinished;
    } else if (states_[i].phase == Phase::kToCome) {
      fate = Fate::kToCome;
    } else if (stopped_) {
      fate = Fate::kWaiting;
    } else {
      fate = Fate::kNever;
      CountNever(view, JobId{static_cast<std::uint32_t>(i)});
    }
  }
  const auto note_names = [this](std::int64_t count, std::string_view what,
                                 const std::string& fallback, std::string_view advice) {
    if (count == 0) return;
    result_.notes.push_back(
        base::Format("{} jobs name a {} that the policy does not have; they went to {}{}", count,
                     what, base::Quote(fallback), advice));
  };
  if (policy_.queues.size() > 1) {  // else there is nothing to choose
    note_names(queues_.replaced(), "queue", policy_.defaults.queue,
               " (--one-queue if that is meant)");
  }
  note_names(classes_.replaced(), "priority class", policy_.defaults.priority_class, "");
  result_.usage = usage_.Intervals();
  result_.allocated_hours = usage_.AllocatedHours();
  result_.capacity_hours = usage_.CapacityHours();
  result_.lost_hours = UnitHours(lost_milli_us_);
  result_.end = now_;
  result_.decision_hash = hash_.Value();
}

}  // namespace

base::Checked<SimulationResult> Simulate(const model::Cluster& cluster,
                                         const model::Workload& workload, model::Policy policy,
                                         const SimulationOptions& options) {
  ClusterEvents events = options.events;
  std::ranges::stable_sort(events, {}, &ClusterEvent::at);
  if (base::Errors errors = CheckClusterEvents(cluster, events); !errors.empty()) return errors;
  auto complete = CompletePolicy(std::move(policy), cluster);
  if (!complete) return complete.error();
  return Simulator(cluster, workload, *std::move(complete), std::move(events), options).Run();
}

}  // namespace muster::sim
