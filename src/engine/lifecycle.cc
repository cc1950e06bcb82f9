// SPDX-License-Identifier: Apache-2.0
// How attempts and jobs begin and end: what is due (`Settle`), and entering it (`Commit`).
#include <algorithm>
#include <variant>

#include "base/check.h"
#include "engine/impl.h"

namespace muster::engine {
namespace {

using model::JobEnd;
using model::Reason;
using model::ReasonCode;

/// Ranks [first, end) of the group that a job's completion depends on.
std::pair<std::size_t, std::size_t> CompletionRanks(const JobRow& row) {
  const model::Completion& completion = row.request->completion;
  const std::size_t all = row.placement->ranks.size();
  if (completion.kind == model::Completion::Kind::kRank0) return {0, std::min<std::size_t>(1, all)};
  if (completion.kind == model::Completion::Kind::kAll) return {0, all};
  std::size_t first = 0;
  for (std::size_t g = 0; g < row.request->groups.size(); ++g) {
    const auto size = static_cast<std::size_t>(row.placement->group_sizes[g]);
    if (row.request->groups[g].name == completion.group) return {first, first + size};
    first += size;
  }
  return {0, all};
}

/// Did everything end well that the job's completion names?
bool IsComplete(const JobRow& row) {
  if (row.failed || row.broken) return false;
  if (row.ranks_left == 0) return true;
  const auto [first, end] = CompletionRanks(row);
  for (std::size_t rank = first; rank < end; ++rank) {
    if (!IsRankGone(row, rank)) return false;
  }
  return true;
}

/// Why the attempt is to end, or has ended; kPlaced if it is not.
ReasonCode EndReason(const JobRow& row) {
  if (row.cancelled) return ReasonCode::kCancelled;
  if (row.phase == JobPhase::kStopping) return row.stop_reason;
  if (IsComplete(row)) return ReasonCode::kCompleted;
  // Before failures that came in together with it: it is not to count as one.
  if (row.stop_reason == ReasonCode::kRequeued) return ReasonCode::kRequeued;
  if (row.failed) return ReasonCode::kTaskFailed;
  if (row.broken) return ReasonCode::kNodeLost;
  return ReasonCode::kPlaced;
}

/// What follows an attempt of which nothing is left.
model::Decision AfterAttempt(model::JobId job, const JobRow& row, ReasonCode why) {
  const auto finish = [job](JobEnd end, ReasonCode code) -> model::Decision {
    return model::FinishJob{job, end, Reason{code, 0}};
  };
  const auto requeue = [&]() -> model::Decision {
    return model::RequeueJob{job, row.attempt, Reason{why, 0}};
  };
  const model::RestartSpec& restart = row.request->restart;
  switch (why) {
    case ReasonCode::kCancelled:
      return finish(JobEnd::kCancelled, why);
    case ReasonCode::kTimeLimit:
      return finish(JobEnd::kTimedOut, why);
    case ReasonCode::kRequeued:
      return requeue();
    case ReasonCode::kNodeLost:
      if (restart.on_node_loss || row.request->checkpoint) return requeue();
      return finish(JobEnd::kFailed, why);
    case ReasonCode::kTaskFailed:
      if (row.restarts < restart.limit) return requeue();
      return finish(JobEnd::kFailed, restart.limit > 0 ? ReasonCode::kRestartLimit : why);
    default:
      return finish(JobEnd::kCompleted, ReasonCode::kCompleted);
  }
}

}  // namespace

base::Duration GraceOf(const JobRow& row) {
  return row.request->checkpoint ? row.request->checkpoint->grace : base::Duration{};
}

std::optional<model::Decision> Engine::Impl::Settle(model::JobId job) const {
  const JobRow& row = state.job(job);
  if (row.phase == JobPhase::kEnded) return std::nullopt;
  if (!HasPlace(row)) {
    if (!row.cancelled) return std::nullopt;
    return model::FinishJob{job, JobEnd::kCancelled, Reason{ReasonCode::kCancelled, 0}};
  }
  const ReasonCode why = EndReason(row);
  if (why == ReasonCode::kPlaced) return std::nullopt;
  if (row.ranks_left == 0) return AfterAttempt(job, row, why);
  if (row.phase == JobPhase::kStopping) return std::nullopt;
  return model::StopGang{job, row.attempt, GraceOf(row), Reason{why, 0}};
}

void Engine::Impl::Commit(const model::Decision& decision, base::Instant now) {
  state.Advance(now);
  state.RefreshTopology();
  std::visit([&](const auto& d) { On(d, now); }, decision);
}

void Engine::Impl::On(const model::StartGang& decision, base::Instant now) {
  const model::JobId job = decision.job;
  MUSTER_CHECK(state.HasJob(job) && state.job(job).phase == JobPhase::kWaiting);
  waiting.Remove(job);
  DropDeadlines(job);
  JobRow& row = state.MutableJob(job);
  const model::GangPlacement& placement = *decision.placement;
  row.placement = decision.placement;
  row.ranks_gone = nullptr;
  row.attempt = decision.attempt;
  row.started = now;
  row.ranks_left = static_cast<std::int32_t>(placement.ranks.size());
  row.phase = JobPhase::kStarting;
  row.stop_reason = ReasonCode::kPlaced;
  row.failed = false;
  row.broken = false;
  QueueUse use;
  std::size_t rank = 0;
  for (std::size_t g = 0; g < placement.group_sizes.size(); ++g) {
    const model::ReplicaShape& shape = row.request->groups[g].shape;
    for (std::int32_t i = 0; i < placement.group_sizes[g]; ++i, ++rank) {
      state.Claim({placement.ranks[rank], shape});
      use.Add(placement.ranks[rank], 1);
    }
  }
  state.ChargeQueue(row.queue, use);
  placed.insert(job);
  SetDeadlines(job);
}

void Engine::Impl::On(const model::StopGang& decision, base::Instant) {
  MUSTER_CHECK(IsCurrent(decision.job, decision.attempt));
  DropDeadlines(decision.job);
  JobRow& row = state.MutableJob(decision.job);
  row.phase = JobPhase::kStopping;
  row.stop_reason = decision.reason.code;
  unsettled.erase(decision.job);
}

void Engine::Impl::LeavePlace(JobRow& row) {
  MUSTER_CHECK(row.ranks_left == 0);
  row.placement = nullptr;
  row.ranks_gone = nullptr;
}

void Engine::Impl::On(const model::RequeueJob& decision, base::Instant) {
  MUSTER_CHECK(IsCurrent(decision.job, decision.attempt));
  DropDeadlines(decision.job);
  JobRow& row = state.MutableJob(decision.job);
  if (decision.reason.code == ReasonCode::kTaskFailed) ++row.restarts;
  LeavePlace(row);
  row.phase = row.held ? JobPhase::kHeld : JobPhase::kWaiting;
  unsettled.erase(decision.job);
  placed.erase(decision.job);
  if (row.phase == JobPhase::kWaiting) Enqueue(decision.job);
}

void Engine::Impl::On(const model::FinishJob& decision, base::Instant now) {
  MUSTER_CHECK(state.HasJob(decision.job) && state.job(decision.job).phase != JobPhase::kEnded);
  waiting.Remove(decision.job);
  DropDeadlines(decision.job);
  JobRow& row = state.MutableJob(decision.job);
  LeavePlace(row);
  row.request = nullptr;
  row.phase = JobPhase::kEnded;
  row.end = decision.end;
  row.stop_reason = decision.reason.code;
  row.ended = now;
  unsettled.erase(decision.job);
  placed.erase(decision.job);
  state.ForgetAround(decision.job);
}

}  // namespace muster::engine
