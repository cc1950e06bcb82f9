// SPDX-License-Identifier: Apache-2.0
// The cluster that the benchmarks share: nodes of 8 GPUs in leaves of 32, leaves in spines of 16;
// 12,500 nodes make 391 leaves and 25 spines.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/strings.h"
#include "engine/engine.h"

namespace muster::bench {

inline model::NodeSpec Node(int i) {
  model::NodeSpec spec;
  spec.name = base::Format("n{:05}", i);
  for (int d = 0; d < 8; ++d) {
    spec.devices.push_back({.model = "H100", .memory = base::Bytes::Of(80LL << 30), .group = 0});
  }
  spec.cpu = base::MilliCpu::Of(128'000);
  spec.memory = base::Bytes::Of(1LL << 40);
  spec.nics = 8;
  const int leaf = i / 32;
  spec.labels = {{"leaf", base::Format("leaf{}", leaf)},
                 {"spine", base::Format("spine{}", leaf / 16)}};
  return spec;
}

inline model::GangRequestPtr Gang(int replicas, int gpus) {
  model::GangRequest request;
  model::TaskGroup group;
  group.name = "worker";
  group.replicas = replicas;
  group.min_replicas = replicas;
  group.shape.gpu = base::MilliGpu::Of(gpus * 1000LL);
  request.groups = {group};
  return std::make_shared<const model::GangRequest>(std::move(request));
}

inline model::Policy Rules() {
  model::Policy policy = model::WithDefaults({});
  policy.topology.levels = {{.name = "spine", .label = "spine", .bandwidth_permille = 1000},
                            {.name = "leaf", .label = "leaf", .bandwidth_permille = 1000}};
  return policy;
}

/// An engine with whole-node jobs on a random part of its nodes.
class BusyCluster {
 public:
  BusyCluster(int nodes, int busy_percent) : engine_(Rules(), 1) {
    for (int i = 0; i < nodes; ++i) engine_.Apply({now_, model::NodeSeen{Node(i)}});
    const model::GangRequestPtr whole = Gang(1, 8);
    std::vector<model::JobId> jobs;
    for (int i = 0; i < nodes; ++i) jobs.push_back(Submit(whole));
    Decide();
    base::Rng rng(42);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      std::swap(jobs[i], jobs[i + rng.Below(jobs.size() - i)]);
    const std::size_t leave = jobs.size() * static_cast<std::size_t>(100 - busy_percent) / 100;
    for (std::size_t i = 0; i < leave; ++i) End(jobs[i]);
    Decide();
  }

  model::JobId Submit(const model::GangRequestPtr& request) {
    const model::JobId job{next_job_++};
    engine_.Apply({now_, model::JobSubmitted{.job = job,
                                             .queue = "default",
                                             .user = "ana",
                                             .priority = 100,
                                             .start_after = {},
                                             .request = request}});
    return job;
  }
  engine::Pass Decide() { return engine_.Decide(now_, {}); }
  void End(model::JobId job) {
    engine_.Apply({now_, model::TaskExited{job, model::Attempt{1}, {0, 1 << 20}, false}});
  }
  engine::Engine& engine() { return engine_; }

 private:
  engine::Engine engine_;
  base::Instant now_;
  std::uint32_t next_job_ = 0;
};

}  // namespace muster::bench
