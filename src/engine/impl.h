// SPDX-License-Identifier: Apache-2.0
// The inside of `Engine`: the state, what is derived from it, and the steps of a pass. Only the .cc
// files of this folder include it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/capacity/index.h"
#include "engine/engine.h"
#include "engine/placement/place.h"
#include "engine/queueing/waiting.h"
#include "engine/state/state.h"

namespace muster::engine {

struct Engine::Impl {
  Impl(State state, CheckLevel check);

  // --- apply.cc: facts
  void Apply(const model::Input& input);
  void On(const model::JobSubmitted& fact, base::Instant at);
  void On(const model::JobChanged& fact, base::Instant at);
  void On(const model::NodeSeen& fact, base::Instant at);
  void On(const model::NodeGone& fact, base::Instant at);
  void On(const model::NodeStateChanged& fact, base::Instant at);
  void On(const model::HealthReported& fact, base::Instant at);
  void On(const model::ForeignUsage& fact, base::Instant at);
  void On(const model::TaskStarted& fact, base::Instant at);
  void On(const model::TaskExited& fact, base::Instant at);
  void On(const model::StopConfirmed& fact, base::Instant at);
  void On(const model::CheckpointReported& fact, base::Instant at);
  void On(const model::PolicyActivated& fact, base::Instant at);
  void On(const model::Tick& fact, base::Instant at);
  void On(const model::StartsPaused& fact, base::Instant at);
  /// The job if it has a place and `attempt` is its present one.
  bool IsCurrent(model::JobId job, model::Attempt attempt) const;
  /// Gives back what ranks hold; those already gone are left out. Returns how many were released.
  std::int32_t ReleaseRanks(model::JobId job, model::RankRange ranks);
  /// What ran on the node is lost.
  void LoseNode(model::NodeId node);
  /// Puts a waiting job where it belongs: into the queue, or aside until its start time.
  void Enqueue(model::JobId job);

  // --- lifecycle.cc: how attempts and jobs end; entering decisions
  void Commit(const model::Decision& decision, base::Instant now);
  void On(const model::StartGang& decision, base::Instant now);
  void On(const model::StopGang& decision, base::Instant now);
  void On(const model::RequeueJob& decision, base::Instant now);
  void On(const model::FinishJob& decision, base::Instant now);
  /// What is due for a job after facts about it came in.
  std::optional<model::Decision> Settle(model::JobId job) const;
  void LeavePlace(JobRow& row);

  // --- pass.cc: one pass
  Pass Decide(base::Instant now, WorkBudget budget);
  void TakeDeadlines(base::Instant now, WorkBudget budget, Pass& pass);
  void SettleAll(base::Instant now, WorkBudget budget, Pass& pass);
  void StartWaiting(base::Instant now, WorkBudget budget, Pass& pass);
  void TryStart(Waiting::Head head, base::Instant now, Pass& pass);
  void Take(model::Decision decision, base::Instant now, Pass& pass);
  const GangPlan& PlanOf(WaitingClassId id);
  Planner PlannerFor(model::JobId job);

  /// What time alone will bring.
  enum class DeadlineKind : std::uint8_t { kEligible, kRelax, kTimeLimit };
  struct Deadline {
    base::Instant at;
    DeadlineKind kind = DeadlineKind::kEligible;
    model::JobId job;
    model::Attempt attempt;  ///< for kTimeLimit; a deadline of an older attempt is void
    friend auto operator<=>(const Deadline&, const Deadline&) = default;
  };
  /// What time will bring for a job, as long as its row stays as it is.
  std::vector<Deadline> DeadlinesOf(model::JobId job) const;
  /// Call after a job's phase has become what it is, and before it changes again.
  void SetDeadlines(model::JobId job);
  void DropDeadlines(model::JobId job);

  /// A plan with the versions that it is good for.
  struct CachedPlan {
    GangPlan plan;
    std::uint64_t topology_version = 0;
    std::uint64_t hardware_version = 0;
    bool never_checked = false;
  };

  State state;
  CheckLevel check;
  // Derived from `state`; rebuilt by the constructor.
  CapacityIndex index{state};
  Waiting waiting;
  std::set<Deadline> deadlines;
  std::set<model::JobId> unsettled;  ///< jobs about which facts came in
  std::set<model::JobId> placed;     ///< jobs that hold a place
  std::vector<CachedPlan> plans;     ///< by WaitingClassId
  std::uint64_t passes = 0;
};

/// How long a job may take to stop.
base::Duration GraceOf(const JobRow& row);
/// How many relax steps of a request are due after `waited`.
std::int32_t RelaxStepAfter(const model::GangRequest& request, base::Duration waited);

}  // namespace muster::engine
