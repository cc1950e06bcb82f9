// SPDX-License-Identifier: Apache-2.0
// Decisions of the whole engine: from a submitted job to the decision and the ledger. Check level: touched rows (every
// claim and release is checked; the whole ledger every 1,024 passes).
#include <algorithm>
#include <cstdint>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/strings.h"
#include "engine/engine.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

model::NodeSpec Node(int i) {
  model::NodeSpec spec;
  spec.name = base::Format("n{:05}", i);
  for (int d = 0; d < 8; ++d) {
    spec.devices.push_back({.model = "H100", .memory = base::Bytes::Of(80LL << 30), .group = 0});
  }
  spec.cpu = base::MilliCpu::Of(128'000);
  spec.memory = base::Bytes::Of(1LL << 40);
  spec.nics = 8;
  const int leaf = i / 32;  // 12,500 nodes: 391 leaves, 25 spines
  spec.labels = {{"leaf", base::Format("leaf{}", leaf)}, {"spine", base::Format("spine{}", leaf / 16)}};
  return spec;
}

model::GangRequestPtr Gang(int replicas, int gpus) {
  model::GangRequest request;
  model::TaskGroup group;
  group.name = "worker";
  group.replicas = replicas;
  group.min_replicas = replicas;
  group.shape.gpu = base::MilliGpu::Of(gpus * 1000LL);
  request.groups = {group};
  return std::make_shared<const model::GangRequest>(std::move(request));
}

model::Policy Rules() {
  model::Policy policy = model::WithDefaults({});
  policy.topology.levels = {{.name = "spine", .label = "spine", .bandwidth_permille = 1000},
                            {.name = "leaf", .label = "leaf", .bandwidth_permille = 1000}};
  return policy;
}

/// A cluster with single-node jobs on a random 85 % of its nodes.
class BusyCluster {
 public:
  BusyCluster(int nodes, int busy_percent) : engine_(Rules(), 1) {
    for (int i = 0; i < nodes; ++i) engine_.Apply({now_, model::NodeSeen{Node(i)}});
    const model::GangRequestPtr whole = Gang(1, 8);
    std::vector<model::JobId> jobs;
    for (int i = 0; i < nodes; ++i) jobs.push_back(Submit(whole));
    Decide();
    base::Rng rng(42);
    for (std::size_t i = 0; i < jobs.size(); ++i) std::swap(jobs[i], jobs[i + rng.Below(jobs.size() - i)]);
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

BusyCluster& Shared() {
  static BusyCluster cluster(12'500, 85);
  return cluster;
}

double Percentile(std::vector<double>& values, double part) {
  const auto at = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

/// One gang after another: submit, decide (timed), end, settle. The percentiles are of submit + Decide.
void GangDecision(benchmark::State& state) {
  BusyCluster& cluster = Shared();
  const model::GangRequestPtr request = Gang(static_cast<int>(state.range(0)), 8);
  std::vector<double> micros;
  for (auto _ : state) {
    const auto begin = Clock::now();
    const model::JobId job = cluster.Submit(request);
    const engine::Pass pass = cluster.Decide();
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (pass.decisions.size() != 1) return state.SkipWithError("the gang was not placed");
    state.SetIterationTime(took.count() * 1e-6);
    micros.push_back(took.count());
    cluster.End(job);
    cluster.Decide();
  }
  state.counters["p50_us"] = Percentile(micros, 0.50);
  state.counters["p99_us"] = Percentile(micros, 0.99);
  state.counters["decisions_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(GangDecision)
    ->Name("GangDecision/12500nodes_391leaves_85busy/gang_nodes")
    ->Arg(1)->Arg(8)->Arg(128)->Arg(1024)
    ->UseManualTime()
    ->MinTime(1.0);

/// Submit + Decide + end + settle of 8-node gangs, everything counted.
void GangLife(benchmark::State& state) {
  BusyCluster& cluster = Shared();
  const model::GangRequestPtr request = Gang(8, 8);
  for (auto _ : state) {
    const model::JobId job = cluster.Submit(request);
    benchmark::DoNotOptimize(cluster.Decide());
    cluster.End(job);
    benchmark::DoNotOptimize(cluster.Decide());
  }
  state.counters["gangs_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(GangLife)->Name("GangLife/12500nodes_85busy/8node_gang_start_and_end");

}  // namespace
}  // namespace muster
