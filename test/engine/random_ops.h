// SPDX-License-Identifier: Apache-2.0
// Random facts of every kind, nonsense included, told to an engine. An operation is four numbers,
// so that any source of numbers will do: rapidcheck (which shrinks them) or a seeded stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/placement/strategy.h"
#include "test/engine/builders.h"

namespace muster::test {

struct Op {
  std::uint32_t kind = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

inline std::string ToString(const Op& op) {
  return base::Format("{{{}, {}, {}, {}}}", op.kind, op.a, op.b, op.c);
}

inline Op DrawOp(base::Rng& rng) {
  const auto draw = [&rng] { return static_cast<std::uint32_t>(rng.Next() >> 40); };
  return {draw(), draw(), draw(), draw()};
}

inline model::NodeSpec OpNode(std::uint32_t number, std::uint32_t make) {
  model::NodeSpec spec = GpuNode(base::Format("n{}", number), make % 7 == 0 ? 6 : 8);
  if (make % 5 == 0) {
    for (model::Device& device : spec.devices) device.model = "A100";
  }
  if (make % 3 == 0) {
    for (std::size_t i = 0; i < spec.devices.size(); ++i) {
      spec.devices[i].group = static_cast<std::uint16_t>(i / 4);
    }
  }
  if (make % 11 == 0) spec.anonymous_devices = true;
  if (make % 13 == 0) spec.taints = {{"team", "red"}};
  if (make % 4 == 0) spec.extended = {{"npu", 2}};
  const std::uint32_t leaf = make % 17 == 0 ? make % 8 : number / 4;
  spec.labels = {{"leaf", base::Format("l{}", leaf)}, {"spine", base::Format("s{}", leaf / 4)}};
  if (make % 19 == 0) spec.labels.pop_back();
  return spec;
}

/// Requests of a few dozen kinds; all pass the gate.
inline model::GangRequest OpRequest(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  model::GangRequest request = Gang(static_cast<int>(1 + a % 6), static_cast<int>(b % 9));
  request.groups.reserve(2);  // the reference must outlast the second group's coming
  model::TaskGroup& group = request.groups[0];
  const char* const levels[] = {"", "node", "leaf", "spine", "any"};
  request.topology.required = levels[c % 5];
  if (c % 7 == 0) request.relax = {{base::Minutes(5), "spine"}, {base::Minutes(9), "any"}};
  if (a % 5 == 0) {
    group.min_replicas = 1;
    group.step = static_cast<std::int32_t>(1 + b % 2);
  }
  if (b % 11 == 0) request.groups.push_back(Group(1, static_cast<int>(c % 5), "second"));
  if (a % 13 == 0) request.topology.spread = model::Spread{levels[1 + c % 2], 1};
  if (a % 17 == 0) request.topology.anti_affinity = levels[1 + b % 3];
  if (a % 19 == 0) {
    group.replicas = 4;
    group.min_replicas = 4;
    request.topology.spread.reset();
    request.groups.resize(1);
    request.topology.segments = {{2, "leaf"}};
  }
  if (c % 9 == 0) group.shape.models = {"A100"};
  if (c % 10 == 0) group.shape.tolerations = {{.key = ""}};
  if (c % 11 == 0) group.shape.extended = {{"npu", 1}};
  if (c % 12 == 0) group.shape.nics = 1;
  if (c % 13 == 0) request.topology.required = "rack";  // no such level
  request.restart.limit = static_cast<std::int32_t>(a % 3);
  request.restart.on_node_loss = b % 4 != 0;
  if (b % 5 == 0) request.time_limit = base::Minutes(7);
  if (b % 6 == 0) request.checkpoint = model::CheckpointSpec{.grace = base::Seconds(30)};
  if (c % 4 == 0) request.completion.kind = model::Completion::Kind::kRank0;
  if (c % 8 == 0) request.completion = {model::Completion::Kind::kGroup, "worker"};
  return request;
}

inline model::Policy OpPolicy(std::uint32_t number) {
  model::Policy policy = FabricPolicy();
  policy.queues.front().blocking =
      number % 2 == 0 ? model::Blocking::kBypass : model::Blocking::kStrict;
  if (number % 3 != 0) policy.queues.push_back({.name = "research"});
  if (number % 5 == 0) policy.topology.fabric = "spine";
  if (number % 7 == 0) policy.defaults.resources = model::ResourceDefault::kNone;
  if (number % 4 == 0)
    policy.placement.strategy = engine::Strategies()[number % engine::Strategies().size()].name;
  if (number % 11 == 0) policy.topology.levels.pop_back();
  return policy;
}

/// The fact that an operation stands for; most concern nodes and jobs that exist.
inline model::Fact FactOf(World& world, const Op& op) {
  const model::JobId job{op.a % 16 == 0 ? op.b : op.a % std::max(1u, world.next_job) + 1};
  const std::string node = base::Format("n{}", op.a % 66);  // two more than there are
  const engine::JobView row = world.Job(job);
  const model::Attempt attempt{op.c % 8 == 0 ? op.b % 4 : row.attempt.value};
  const model::RankRange ranks = op.c % 3 == 0 ? model::RankRange{0, 1 << 20}
                                 : op.c % 3 == 1
                                     ? model::RankRange{static_cast<std::int32_t>(op.b % 6),
                                                        static_cast<std::int32_t>(op.b / 8 % 4)}
                                     : model::RankRange{static_cast<std::int32_t>(op.b % 9) - 2,
                                                        static_cast<std::int32_t>(op.b % 5) - 1};
  using Change = model::JobChanged::Change;
  switch (op.kind % 24) {
    case 0:
      return model::JobChanged{job, Change::kHold};
    case 1:
    case 2:
      return model::JobChanged{job, Change::kRelease};
    case 3:
      return model::JobChanged{job, Change::kCancel};
    case 4:
      return model::JobChanged{job, Change::kPriority, static_cast<std::int32_t>(op.b % 4)};
    case 5:
      return model::NodeSeen{OpNode(op.a % 64, op.b)};
    case 6:
      return model::NodeGone{node};
    case 7:
      return model::NodeStateChanged{node, static_cast<model::NodeState>(op.b % 6)};
    case 8:
    case 9:
      return model::NodeStateChanged{node, model::NodeState::kReady};
    case 10:
      return model::HealthReported{node, op.b % 3 == 0 ? op.c & 0x3ff : 0};
    case 11:
      return model::ForeignUsage{node, op.b % 3 == 0 ? op.c & 0x3ff : 0};
    case 12:
      return model::TaskStarted{job, attempt, ranks};
    case 13:
    case 14:
    case 15:
      return model::TaskExited{job, attempt, ranks, op.b % 4 == 0, op.b % 7 == 0};
    case 16:
      return model::StopConfirmed{job, attempt, ranks};
    case 17:
      return model::CheckpointReported{job, attempt, op.b};
    case 18:
      if (op.b % 4 == 0) return model::PolicyActivated{OpPolicy(op.a)};
      break;
    case 19:
      return model::JobChanged{job, Change::kRequeue};
    case 20:
      return model::StartsPaused{op.b % 5 == 0};  // mostly not, or nothing would happen
    default:
      break;
  }
  const std::uint32_t id =
      op.kind % 29 == 0 ? op.b % world.next_job : world.next_job++;  // some come twice
  const char* const queues[] = {"default", "research", "default", "nobody's"};
  return model::JobSubmitted{
      .job = {id},
      .queue = queues[op.kind / 32 % 4],
      .user = base::Format("u{}", op.a % 3),
      .priority = static_cast<std::int32_t>(op.b % 3),
      .start_after = op.c % 6 == 0 ? base::Minutes(op.b % 8) : base::Duration{},
      .request = std::make_shared<const model::GangRequest>(OpRequest(op.a, op.b, op.c))};
}

/// One step of a run: time goes on a little, one fact.
inline void Play(World& world, const Op& op) {
  world.Advance(base::Seconds(op.c % 40));
  model::Fact fact = FactOf(world, op);
  world.Tell(std::move(fact));
}

}  // namespace muster::test
