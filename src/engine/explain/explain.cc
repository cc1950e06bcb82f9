// SPDX-License-Identifier: Apache-2.0
#include "engine/explain/explain.h"

#include <algorithm>
#include <array>

#include "engine/placement/gang.h"
#include "engine/placement/place.h"
#include "engine/queueing/orders.h"

namespace muster::engine {
namespace {

using model::Outcome;
using model::Reason;
using model::ReasonCode;

const model::QueuePolicy* QueueRules(const Tables& tables, model::QueueId queue) {
  const auto& rules = tables.policy->queues;
  const auto at =
      std::ranges::find(rules, tables.queues[queue.value].name, &model::QueuePolicy::name);
  return at == rules.end() ? nullptr : &*at;
}

/// What a job does that is not waiting for a place.
std::optional<ReasonCode> NotWaiting(const Tables& tables, const JobRow& row) {
  if (row.phase == JobPhase::kHeld) return ReasonCode::kHeldByUser;
  if (row.phase == JobPhase::kStopping || row.phase == JobPhase::kEnded) return row.stop_reason;
  if (row.phase != JobPhase::kWaiting) return ReasonCode::kPlaced;
  if (QueueRules(tables, row.queue) == nullptr) return ReasonCode::kUnknownQueue;
  if (row.eligible > tables.latest) return ReasonCode::kStartAfter;
  return std::nullopt;
}

/// Nodes on which not one replica of the group fits, by cause.
std::vector<Reason> CountCauses(const Tables& tables, const model::ReplicaShape& request) {
  Shape shape(request, tables.policy->defaults.resources);
  shape.Refresh(tables);
  std::array<std::int64_t, model::kReasonCodes> counts{};
  for (std::uint32_t i = 0; i < tables.nodes.size(); ++i) {
    const NodeRow& row = tables.nodes[i];
    if (row.gone) continue;
    if (Slots(shape, tables, row) > 0 && LabelsMatch(request, *row.spec)) continue;
    ++counts[static_cast<std::size_t>(WhyNoSlot(shape, tables, row))];
  }
  std::vector<Reason> causes;
  for (std::size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] > 0) causes.push_back({static_cast<ReasonCode>(code), counts[code]});
  }
  std::ranges::stable_sort(causes, std::ranges::greater{}, &Reason::count);
  return causes;
}

/// Places in the order: jobs before it in its own queue and in others.
void CountAhead(const Tables& tables, model::JobId job, Explanation& out) {
  std::vector<const QueueOrder*> orders;  // by queue
  for (std::uint32_t q = 0; q < tables.queues.size(); ++q) {
    const model::QueuePolicy* rules = QueueRules(tables, model::QueueId{q});
    orders.push_back(rules == nullptr ? &QueueOrders().front() : FindQueueOrder(rules->order));
  }
  const auto key_of = [&](std::uint32_t id) {
    const JobRow& row = tables.jobs[id];
    return KeyOf(*orders[row.queue.value], row, model::JobId{id});
  };
  const OrderKey own_key = key_of(job.value);
  out.position = 1;
  for (std::uint32_t i = 0; i < tables.jobs.size(); ++i) {
    const JobRow& row = tables.jobs[i];
    if (row.phase != JobPhase::kWaiting || row.eligible > tables.latest || i == job.value) continue;
    if (key_of(i) < own_key)
      ++(row.queue == tables.jobs[job.value].queue ? out.position : out.ahead);
  }
}

/// Where the binding group comes closest: the level, its roomiest domain, and the numbers there.
void DescribeRoom(Planner& planner, const GangPlan& plan, LevelIndex level, Explanation& out) {
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(std::max(0, out.group))];
  const Topology& topology = *planner.state.tables().topology;
  out.level = topology.level_name(level);
  out.wanted = group.min_replicas;
  for (const ProfileId id : group.variants) {
    const auto rooms = planner.index.Get(id).capacity(level);
    const auto roomiest = std::ranges::max_element(rooms);
    if (roomiest == rooms.end() || (*roomiest <= out.have && !out.best_domain.empty())) continue;
    out.have = *roomiest;
    out.best_domain =
        topology.DomainName(level, static_cast<DomainIndex>(roomiest - rooms.begin()));
  }
}

void ExplainWaiting(const Tables& tables, const JobRow& row, std::int64_t work_limit,
                    Explanation& out) {
  State state = State::Scratch(tables);
  CapacityIndex index(state);
  // A search step looks at most at every node once or so; the limit in work units becomes one in
  // steps.
  const std::int64_t nodes = std::max<std::int64_t>(1, tables.topology->node_count());
  const std::int64_t steps =
      std::clamp<std::int64_t>(work_limit / nodes, 1, tables.policy->placement.search_limit);
  Planner planner{.state = state,
                  .index = index,
                  .strategy = *FindStrategy(tables.policy->placement.strategy),
                  .rng = base::Rng(tables.seed),
                  .search_limit = static_cast<std::int32_t>(steps)};
  const GangPlan plan = PlanGang(*row.request, state, index);
  const base::Duration waited = tables.latest - row.submitted;
  const LevelIndex level = plan.RequiredAfter(waited);
  PlaceResult result = PlaceGang(planner, plan, level);
  if (result.outcome != Outcome::kPlaced) {
    if (auto never = ProveNever(planner, plan)) result = std::move(*never);
  }
  out.outcome = result.outcome;
  out.binding = result.reason;
  out.group = result.group;
  if (result.outcome == Outcome::kPlaced || plan.fault) return;
  DescribeRoom(planner, plan, level, out);
  out.nodes = CountCauses(
      tables, row.request->groups[static_cast<std::size_t>(std::max(0, out.group))].shape);
  for (const model::RelaxStep& step : row.request->relax) {
    if (step.after > waited) {
      out.next_relax = row.submitted + step.after;
      break;
    }
  }
}

}  // namespace

Explanation ExplainJob(const Tables& tables, model::JobId job, std::int64_t work_limit) {
  Explanation out;
  if (job.value >= tables.jobs.size()) return out;
  const JobRow& row = tables.jobs[job.value];
  if (row.phase == JobPhase::kUnknown) return out;
  out.known = true;
  if (const auto doing = NotWaiting(tables, row)) {
    out.binding = {*doing, 0};
    return out;
  }
  out.waiting = true;
  CountAhead(tables, job, out);
  ExplainWaiting(tables, row, work_limit, out);
  if (out.outcome == Outcome::kPlaced) {
    // It would fit, so somebody goes first: the head of a strict queue, or the next pass has not
    // come yet.
    const bool strict = QueueRules(tables, row.queue)->blocking == model::Blocking::kStrict;
    out.binding = {strict && out.position > 1 ? ReasonCode::kBehindHead : ReasonCode::kPlaced,
                   out.position - 1};
  }
  // The pause comes first whether the job fits or not; what was found about its room stays.
  if (tables.starts_paused) out.binding = {ReasonCode::kStartsPaused, 0};
  return out;
}

}  // namespace muster::engine
