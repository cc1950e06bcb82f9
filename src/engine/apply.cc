// SPDX-License-Identifier: Apache-2.0
// Facts about the world: they change the state and never decide anything.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "base/check.h"
#include "engine/impl.h"
#include "model/check_request.h"

namespace muster::engine {

void Engine::Impl::Apply(const model::Input& input) {
  state.Advance(input.at);
  std::visit([&](const auto& fact) { On(fact, input.at); }, input.fact);
}

void Engine::Impl::On(const model::JobSubmitted& fact, base::Instant at) {
  if (state.HasJob(fact.job) || state.IsForgotten(fact.job)) return;  // delivered twice
  MUSTER_DCHECK(model::CheckRequest(*fact.request).empty());
  const model::QueueId queue = state.InternQueue(fact.queue);
  const model::UserId user = state.InternUser(fact.user);
  JobRow& row = state.MutableJob(fact.job);
  row.request = fact.request;
  row.submitted = at;
  row.eligible = at + fact.start_after;
  row.queue = queue;
  row.user = user;
  row.priority = fact.priority;
  row.phase = JobPhase::kWaiting;
  Enqueue(fact.job);
}

void Engine::Impl::Enqueue(model::JobId job) {
  const JobRow& row = state.job(job);
  if (row.eligible <= state.tables().latest) {
    waiting.Add(state, job, RelaxStepAfter(*row.request, state.tables().latest - row.submitted));
  }
  SetDeadlines(job);
}

void Engine::Impl::On(const model::JobChanged& fact, base::Instant) {
  if (!state.HasJob(fact.job) || state.job(fact.job).phase == JobPhase::kEnded) return;
  const bool waits = state.job(fact.job).phase == JobPhase::kWaiting;
  switch (fact.change) {
    case model::JobChanged::Change::kHold:
      waiting.Remove(fact.job);
      if (waits) DropDeadlines(fact.job);
      state.MutableJob(fact.job).held = true;
      if (waits) state.MutableJob(fact.job).phase = JobPhase::kHeld;
      break;
    case model::JobChanged::Change::kRelease:
      state.MutableJob(fact.job).held = false;
      if (state.job(fact.job).phase != JobPhase::kHeld) break;
      state.MutableJob(fact.job).phase = JobPhase::kWaiting;
      Enqueue(fact.job);
      break;
    case model::JobChanged::Change::kCancel:
      state.MutableJob(fact.job).cancelled = true;
      unsettled.insert(fact.job);
      break;
    case model::JobChanged::Change::kPriority: {
      const bool queued = waiting.Contains(fact.job);
      waiting.Remove(fact.job);
      state.MutableJob(fact.job).priority = fact.priority;
      if (queued) Enqueue(fact.job);
      break;
    }
    case model::JobChanged::Change::kRequeue:
      // An attempt that is being stopped ends as was decided.
      if (!HasPlace(state.job(fact.job)) || state.job(fact.job).phase == JobPhase::kStopping) break;
      state.MutableJob(fact.job).stop_reason = model::ReasonCode::kRequeued;
      unsettled.insert(fact.job);
      break;
  }
}

void Engine::Impl::On(const model::NodeSeen& fact, base::Instant) {
  MUSTER_CHECK(fact.spec.devices.size() <= static_cast<std::size_t>(model::kMaxDevicesPerNode));
  state.PutNode(fact.spec);
}

void Engine::Impl::On(const model::NodeGone& fact, base::Instant) {
  const auto node = state.FindNode(fact.node);
  if (!node || state.node(*node).gone) return;
  LoseNode(*node);
  state.SetNodeGone(*node);
}

void Engine::Impl::On(const model::NodeStateChanged& fact, base::Instant) {
  const auto node = state.FindNode(fact.node);
  if (!node || state.node(*node).gone) return;
  if (fact.state == model::NodeState::kDown) LoseNode(*node);
  state.SetNodeState(*node, fact.state);
}

void Engine::Impl::On(const model::HealthReported& fact, base::Instant) {
  if (const auto node = state.FindNode(fact.node)) state.SetFaulty(*node, fact.faulty);
}

void Engine::Impl::On(const model::ForeignUsage& fact, base::Instant) {
  if (const auto node = state.FindNode(fact.node)) state.SetForeign(*node, fact.devices);
}

bool Engine::Impl::IsCurrent(model::JobId job, model::Attempt attempt) const {
  return state.HasJob(job) && HasPlace(state.job(job)) && state.job(job).attempt == attempt;
}

void Engine::Impl::On(const model::TaskStarted& fact, base::Instant) {
  if (!IsCurrent(fact.job, fact.attempt)) return;
  JobRow& row = state.MutableJob(fact.job);
  if (row.phase == JobPhase::kStarting) row.phase = JobPhase::kRunning;
}

void Engine::Impl::On(const model::TaskExited& fact, base::Instant) {
  if (!IsCurrent(fact.job, fact.attempt)) return;
  if (ReleaseRanks(fact.job, fact.ranks) == 0) return;  // reported before
  if (fact.lost) {
    state.MutableJob(fact.job).broken = true;
  } else if (fact.failed) {
    state.MutableJob(fact.job).failed = true;
  }
  unsettled.insert(fact.job);
}

void Engine::Impl::On(const model::StopConfirmed& fact, base::Instant) {
  if (!IsCurrent(fact.job, fact.attempt)) return;
  // Without an order to stop this is a task that is simply not there any more: a failure.
  if (ReleaseRanks(fact.job, fact.ranks) == 0) return;
  JobRow& row = state.MutableJob(fact.job);
  if (row.phase != JobPhase::kStopping) row.failed = true;
  unsettled.insert(fact.job);
}

void Engine::Impl::On(const model::CheckpointReported& fact, base::Instant at) {
  if (!IsCurrent(fact.job, fact.attempt)) return;
  JobRow& row = state.MutableJob(fact.job);
  row.checkpointed = at;
  row.checkpoint_step = fact.step;
}

void Engine::Impl::On(const model::PolicyActivated& fact, base::Instant) {
  state.SetPolicy(std::make_shared<const model::Policy>(fact.policy));
  waiting.PolicyChanged(state);
}

void Engine::Impl::On(const model::Tick&, base::Instant) {}

void Engine::Impl::On(const model::StartsPaused& fact, base::Instant) {
  state.SetStartsPaused(fact.paused);
}

std::int32_t Engine::Impl::ReleaseRanks(model::JobId job, model::RankRange ranks) {
  JobRow& row = state.MutableJob(job);
  const model::GangPlacement& placement = *row.placement;
  const auto total = static_cast<std::int64_t>(placement.ranks.size());
  const std::int64_t first = std::clamp<std::int64_t>(ranks.first, 0, total);
  const std::int64_t end =
      std::clamp<std::int64_t>(std::int64_t{ranks.first} + std::max(0, ranks.count), first, total);
  if (row.ranks_left == 0 || first == end) return 0;

  // Marks are needed unless nothing is left in the end. A range may name ranks that are gone
  // already, so that its length says nothing about how many remain.
  std::shared_ptr<std::vector<std::uint64_t>> gone;
  if (first > 0 || end < total) {
    gone = row.ranks_gone != nullptr
               ? std::make_shared<std::vector<std::uint64_t>>(*row.ranks_gone)
               : std::make_shared<std::vector<std::uint64_t>>((placement.ranks.size() + 63) / 64);
  }
  QueueUse use;
  std::int32_t released = 0;
  for (auto rank = static_cast<std::size_t>(first); rank < static_cast<std::size_t>(end); ++rank) {
    if (IsRankGone(row, rank)) continue;
    const model::ReplicaShape& shape = row.request->groups[GroupOfRank(placement, rank)].shape;
    state.Release({placement.ranks[rank], shape});
    use.Add(placement.ranks[rank], -1);
    if (gone != nullptr) (*gone)[rank / 64] |= std::uint64_t{1} << (rank % 64);
    ++released;
  }
  state.ChargeQueue(row.queue, use);
  row.ranks_left -= released;
  row.ranks_gone = row.ranks_left == 0 ? nullptr : std::move(gone);
  return released;
}

void Engine::Impl::LoseNode(model::NodeId node) {
  for (const model::JobId job : placed) {
    const model::GangPlacementPtr placement = state.job(job).placement;
    for (std::size_t rank = 0; rank < placement->ranks.size(); ++rank) {
      if (placement->ranks[rank].node != node) continue;
      if (ReleaseRanks(job, {static_cast<std::int32_t>(rank), 1}) == 0) continue;
      state.MutableJob(job).broken = true;
      unsettled.insert(job);
    }
  }
}

}  // namespace muster::engine
