// SPDX-License-Identifier: Apache-2.0
// One pass: what time has brought, what has ended, and who starts.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "engine/impl.h"

namespace muster::engine {
namespace {

using model::Outcome;
using model::ReasonCode;

/// Every profile whose growth could let the gang in.
std::vector<ProfileId> ProfilesOf(const GangPlan& plan) {
  std::vector<ProfileId> profiles;
  for (const GroupPlan& group : plan.groups) {
    profiles.insert(profiles.end(), group.variants.begin(), group.variants.end());
  }
  std::ranges::sort(profiles);
  profiles.erase(std::ranges::unique(profiles).begin(), profiles.end());
  return profiles;
}

}  // namespace

std::int32_t RelaxStepAfter(const model::GangRequest& request, base::Duration waited) {
  return static_cast<std::int32_t>(std::ranges::count_if(
      request.relax, [waited](const model::RelaxStep& step) { return waited >= step.after; }));
}

std::vector<Engine::Impl::Deadline> Engine::Impl::DeadlinesOf(model::JobId job) const {
  const JobRow& row = state.job(job);
  std::vector<Deadline> out;
  if (row.phase == JobPhase::kWaiting) {
    out.push_back({row.eligible, DeadlineKind::kEligible, job, {}});
    for (const model::RelaxStep& step : row.request->relax) {
      out.push_back({row.submitted + step.after, DeadlineKind::kRelax, job, {}});
    }
  } else if (HasPlace(row) && row.phase != JobPhase::kStopping &&
             !row.request->time_limit.IsZero()) {
    out.push_back(
        {row.started + row.request->time_limit, DeadlineKind::kTimeLimit, job, row.attempt});
  }
  return out;
}

void Engine::Impl::SetDeadlines(model::JobId job) {
  for (const Deadline& deadline : DeadlinesOf(job)) {
    // What a waiting job has passed already was counted when it was put into the queue.
    const bool passed =
        deadline.kind != DeadlineKind::kTimeLimit && deadline.at <= state.tables().latest;
    if (!passed) deadlines.insert(deadline);
  }
}

void Engine::Impl::DropDeadlines(model::JobId job) {
  for (const Deadline& deadline : DeadlinesOf(job)) deadlines.erase(deadline);
}

Pass Engine::Impl::Decide(base::Instant now, WorkBudget budget) {
  MUSTER_CHECK(now == state.tables().latest);  // a pass at another time could not be replayed
  state.RefreshTopology();
  Pass pass;
  // Facts before the clock: a task that ended well at the very end of its time has ended well.
  SettleAll(now, budget, pass);
  TakeDeadlines(now, budget, pass);
  if (!pass.more) StartWaiting(now, budget, pass);
  // A whole check costs as much as a look at every job; now and then is enough to notice drift.
  constexpr std::uint64_t kPassesBetweenChecks = 1024;
  ++passes;
  const bool full = check == CheckLevel::kFull;
  if (full || passes % kPassesBetweenChecks == 0) MUSTER_CHECK(state.VerifyLedger().empty());
  if (full) MUSTER_CHECK(index.Verify().empty());
  return pass;
}

void Engine::Impl::Take(model::Decision decision, base::Instant now, Pass& pass) {
  Commit(decision, now);
  pass.decisions.push_back(std::move(decision));
  ++pass.work;
}

void Engine::Impl::TakeDeadlines(base::Instant now, WorkBudget budget, Pass& pass) {
  while (!deadlines.empty() && deadlines.begin()->at <= now && !pass.more) {
    ++pass.work;
    pass.more = pass.work >= budget.units;
    const Deadline due = *deadlines.begin();
    deadlines.erase(deadlines.begin());
    const JobRow& row = state.job(due.job);
    if (due.kind == DeadlineKind::kTimeLimit) {
      if (row.ranks_left == 0) continue;
      Take(model::StopGang{due.job, due.attempt, GraceOf(row), {ReasonCode::kTimeLimit, 0}}, now,
           pass);
      continue;
    }
    MUSTER_CHECK(row.phase == JobPhase::kWaiting);
    if (row.eligible > now) continue;
    waiting.Remove(due.job);
    waiting.Add(state, due.job, RelaxStepAfter(*row.request, now - row.submitted));
  }
}

void Engine::Impl::SettleAll(base::Instant now, WorkBudget budget, Pass& pass) {
  while (!unsettled.empty() && !pass.more) {
    ++pass.work;
    pass.more = pass.work >= budget.units;
    const model::JobId job = *unsettled.begin();
    unsettled.erase(unsettled.begin());
    if (auto decision = Settle(job)) Take(std::move(*decision), now, pass);
  }
}

void Engine::Impl::StartWaiting(base::Instant now, WorkBudget budget, Pass& pass) {
  if (state.tables().starts_paused) return;  // who waits is tried as soon as starts go on
  waiting.Wake(state, index);
  pass.work += index.TakeWork();
  // However small the budget, one job is tried: every pass gets on.
  for (auto head = waiting.Next(); head; head = waiting.Next()) {
    TryStart(*head, now, pass);
    if (pass.work >= budget.units) {
      pass.more = waiting.Next().has_value();
      return;
    }
  }
}

void Engine::Impl::TryStart(Waiting::Head head, base::Instant now, Pass& pass) {
  const GangPlan& plan = PlanOf(head.id);
  CachedPlan& cached = plans[head.id.value];
  Planner planner = PlannerFor(head.job);
  const JobRow& row = state.job(head.job);
  const base::Duration waited = now - row.submitted;
  PlaceResult result = PlaceGang(planner, plan, plan.RequiredAfter(waited));
  pass.work += planner.work + index.TakeWork();
  if (result.outcome == Outcome::kPlaced) {
    const model::Attempt attempt{row.attempt.value + 1};
    Take(model::StartGang{head.job, attempt, std::move(result.placement), result.reason}, now,
         pass);
    return;
  }
  if (!cached.never_checked) {
    // Once for each state of the hardware: whoever passes this test may only have to wait.
    if (ProveNever(planner, plan)) {
      waiting.SetNever(head.id);
      pass.work += index.TakeWork();
      return;
    }
    cached.never_checked = true;
    pass.work += index.TakeWork();
  }
  waiting.Block(head.id, ProfilesOf(plan), result.outcome == Outcome::kNotNow, index);
}

const GangPlan& Engine::Impl::PlanOf(WaitingClassId id) {
  if (plans.size() <= id.value) plans.resize(id.value + 1);
  CachedPlan& cached = plans[id.value];
  if (cached.topology_version != state.topology_version() ||
      cached.hardware_version != state.hardware_version()) {
    cached = {.plan = PlanGang(*waiting.request(id), state, index),
              .topology_version = state.topology_version(),
              .hardware_version = state.hardware_version()};
  }
  return cached.plan;
}

Planner Engine::Impl::PlannerFor(model::JobId job) {
  const model::PlacementPolicy& policy = state.tables().policy->placement;
  const Strategy* strategy = FindStrategy(policy.strategy);
  MUSTER_CHECK(strategy != nullptr);  // CheckPolicy refused unknown strategies
  // The lot depends on the job and its attempt alone, so that no earlier decision shifts it.
  const std::uint64_t lot = (std::uint64_t{job.value} << 32) | (state.job(job).attempt.value + 1);
  return {.state = state,
          .index = index,
          .strategy = *strategy,
          .rng = base::Rng(base::Rng(state.tables().seed ^ lot).Next()),
          .search_limit = policy.search_limit};
}

}  // namespace muster::engine
