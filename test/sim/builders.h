// SPDX-License-Identifier: Apache-2.0
// Small clusters, jobs and runs for the simulator's tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "sim/simulator.h"

namespace muster::sim::test {

inline base::Instant At(std::int64_t seconds) { return base::Instant{} + base::Seconds(seconds); }

/// `count` nodes of `gpus` GPUs named n0, n1, ...; every `per_leaf` nodes are one domain of level
/// `leaf`, which leaves half of the bandwidth to gangs that span several.
inline model::Cluster MakeCluster(int count, int gpus, int per_leaf = 1 << 20) {
  model::Cluster cluster;
  cluster.name = "test";
  cluster.levels = {{.name = "leaf", .label = "leaf", .bandwidth_permille = 500}};
  for (int i = 0; i < count; ++i) {
    model::NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.devices.resize(static_cast<std::size_t>(gpus),
                        model::Device{.model = "H100", .memory = base::Bytes::Of(80)});
    node.cpu = base::MilliCpu::Of(96'000);
    node.memory = base::Bytes::Of(1 << 30);
    node.labels = {{"leaf", "leaf" + std::to_string(i / per_leaf)}};
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

struct JobOptions {
  std::int64_t submit_s = 0;
  std::int64_t duration_s = 100;
  int replicas = 1;
  int gpus = 1;
  int min_replicas = 0;
  std::int64_t time_limit_s = 0;
  int comm_permille = 0;
  model::TraceEnd end = model::TraceEnd::kCompleted;
  std::string required = {};
  std::string queue = {};
};

inline model::Workload MakeWorkload(const std::vector<JobOptions>& jobs) {
  model::Workload workload;
  workload.source = "test";
  for (const JobOptions& options : jobs) {
    model::TraceJob& job = workload.jobs.emplace_back();
    job.name = "job" + std::to_string(workload.jobs.size() - 1);
    job.user = "ana";
    job.queue = options.queue;
    job.submit = At(options.submit_s);
    job.duration = base::Seconds(options.duration_s);
    job.replicas = options.replicas;
    job.min_replicas = options.min_replicas;
    job.gpu = base::MilliGpu::Of(1000 * options.gpus);
    job.time_limit = base::Seconds(options.time_limit_s);
    job.comm_fraction = base::Permille::Of(options.comm_permille);
    job.required = options.required;
    job.end = options.end;
  }
  return workload;
}

inline model::Policy MakePolicy(model::Blocking blocking = model::Blocking::kBypass) {
  model::Policy policy;
  policy.queues = {{.name = "default", .blocking = blocking}};
  policy.priority_classes = {{.name = "normal", .value = 100}};
  return policy;
}

inline SimulationOptions Checked(ClusterEvents events = {}) {
  SimulationOptions options;
  options.check = engine::CheckLevel::kFull;
  options.events = std::move(events);
  return options;
}

}  // namespace muster::sim::test
