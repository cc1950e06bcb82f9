// SPDX-License-Identifier: Apache-2.0
// Short ways to say clusters, jobs and a running engine in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/archive.h"
#include "base/strings.h"
#include "engine/engine.h"

namespace muster::test {

inline model::NodeSpec GpuNode(std::string name, int gpus = 8, model::Labels labels = {}) {
  model::NodeSpec spec;
  spec.name = std::move(name);
  for (int i = 0; i < gpus; ++i)
    spec.devices.push_back({.model = "H100", .memory = base::Bytes::Of(80LL << 30)});
  spec.cpu = base::MilliCpu::Of(128'000);
  spec.memory = base::Bytes::Of(1LL << 40);
  spec.nics = gpus;
  spec.labels = std::move(labels);
  return spec;
}

/// Nodes n0, n1, ... in leaves of `per_leaf`, leaves in spines of `leaves_per_spine`.
inline std::vector<model::NodeSpec> Fabric(int nodes, int per_leaf, int leaves_per_spine,
                                           int gpus = 8) {
  std::vector<model::NodeSpec> specs;
  for (int i = 0; i < nodes; ++i) {
    const int leaf = i / per_leaf;
    specs.push_back(GpuNode(base::Format("n{}", i), gpus,
                            {{"leaf", base::Format("leaf{}", leaf)},
                             {"spine", base::Format("spine{}", leaf / leaves_per_spine)}}));
  }
  return specs;
}

inline model::Policy FabricPolicy() {
  model::Policy policy = model::WithDefaults({});
  policy.topology.levels = {{.name = "spine", .label = "spine"}, {.name = "leaf", .label = "leaf"}};
  return policy;
}

inline model::TaskGroup Group(int replicas, int gpus, std::string name = "worker") {
  model::TaskGroup group;
  group.name = std::move(name);
  group.replicas = replicas;
  group.min_replicas = replicas;
  group.shape.gpu = base::MilliGpu::Of(gpus * 1000LL);
  if (gpus == 0) group.shape.cpu = base::MilliCpu::Of(1000);
  return group;
}

inline model::GangRequest Gang(int replicas, int gpus) {
  model::GangRequest request;
  request.groups = {Group(replicas, gpus)};
  return request;
}

/// The request with something changed: `With(Gang(2, 8), [](auto& r) { r.topology.required =
/// "leaf"; })`.
template <class F>
model::GangRequest With(model::GangRequest request, F change) {
  change(request);
  return request;
}

/// A policy with these levels (outermost first; each named as its label) and one queue.
inline model::Policy LevelsPolicy(const std::vector<std::string>& levels,
                                  model::Blocking blocking = model::Blocking::kBypass) {
  model::Policy policy = model::WithDefaults({});
  for (const std::string& level : levels) policy.topology.levels.push_back({level, level});
  policy.queues.front().blocking = blocking;
  return policy;
}

/// Decisions as bytes: equal decisions give equal bytes.
inline std::vector<std::uint8_t> BytesOf(const std::vector<model::Decision>& decisions) {
  base::Writer writer;
  writer(decisions);
  return std::move(writer).Take();
}

/// An engine with a clock that the test moves.
class World {
 public:
  explicit World(const model::Policy& policy = FabricPolicy(), std::uint64_t seed = 1)
      : engine(policy, seed, engine::CheckLevel::kFull) {}

  void Add(const std::vector<model::NodeSpec>& specs) {
    for (const model::NodeSpec& spec : specs) Tell(model::NodeSeen{spec});
  }
  void Tell(model::Fact fact) {
    inputs.push_back({now, std::move(fact)});
    engine.Apply(inputs.back());
  }
  model::JobId Submit(model::GangRequest request, std::string queue = "default",
                      int priority = 100) {
    const model::JobId job{next_job++};
    Tell(model::JobSubmitted{
        .job = job,
        .queue = std::move(queue),
        .user = "ana",
        .priority = priority,
        .start_after = {},
        .request = std::make_shared<const model::GangRequest>(std::move(request))});
    return job;
  }
  /// Decides until nothing more is due.
  std::vector<model::Decision> Decide() {
    if (inputs.empty() || inputs.back().at != now) Tell(model::Tick{});
    std::vector<model::Decision> all;
    engine::Pass pass;
    do {
      pass = engine.Decide(now, {});
      for (model::Decision& decision : pass.decisions) all.push_back(std::move(decision));
    } while (pass.more);
    return all;
  }
  void Advance(base::Duration span) { now = now + span; }
  engine::JobView Job(model::JobId job) const { return engine.view().Job(job); }
  bool Holds(model::JobId job) const { return Job(job).placement != nullptr; }
  /// All ranks of the job's attempt end.
  void Exit(model::JobId job, bool failed = false) {
    Tell(model::TaskExited{job, Job(job).attempt, {0, 1 << 20}, failed});
  }
  void ConfirmStop(model::JobId job) {
    Tell(model::StopConfirmed{job, Job(job).attempt, {0, 1 << 20}});
  }
  /// The ranks of the job's place; none if it has no place.
  std::vector<model::ReplicaPlacement> RanksOf(model::JobId job) const {
    const model::GangPlacementPtr placement = Job(job).placement;
    return placement == nullptr ? std::vector<model::ReplicaPlacement>{} : placement->ranks;
  }
  /// Names of the nodes of each rank.
  std::vector<std::string> NodesOf(model::JobId job) const {
    std::vector<std::string> names;
    const engine::View view = engine.view();
    for (const model::ReplicaPlacement& rank : RanksOf(job)) {
      names.push_back(view.Node(rank.node).spec->name);
    }
    return names;
  }
  engine::Explanation Why(model::JobId job) const { return engine.Explain(engine.view(), job, {}); }
  model::NodeId Node(const std::string& name) const { return engine.view().FindNode(name).value(); }
  engine::NodeView NodeNow(const std::string& name) const { return engine.view().Node(Node(name)); }
  /// Masks of devices of each rank.
  std::vector<model::DeviceMask> DevicesOf(model::JobId job) const {
    std::vector<model::DeviceMask> masks;
    for (const model::ReplicaPlacement& rank : RanksOf(job)) masks.push_back(rank.devices);
    return masks;
  }

  engine::Engine engine;
  base::Instant now;
  std::uint32_t next_job = 1;
  std::vector<model::Input> inputs;
};

}  // namespace muster::test
