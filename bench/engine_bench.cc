// SPDX-License-Identifier: Apache-2.0
// Decisions of the whole engine. Check level: touched rows (every claim and release is checked, the
// whole ledger every 1,024 passes), as in production.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/cluster.h"
#include "engine/placement/place.h"
#include "engine/state/tables.h"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

BusyCluster& Shared() {
  static BusyCluster cluster(12'500, 85);
  return cluster;
}

double Percentile(std::vector<double>& values, double part) {
  const auto at = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

void ReportPercentiles(benchmark::State& state, std::vector<double>& micros) {
  state.counters["p50_us"] = Percentile(micros, 0.50);
  state.counters["p99_us"] = Percentile(micros, 0.99);
}

/// One gang after another: submit and Decide (timed, from job to decision and ledger), then end and
/// settle (not timed).
void GangDecision(benchmark::State& state) {
  BusyCluster& cluster = Shared();
  const model::GangRequestPtr request = Gang(static_cast<int>(state.range(0)), 8);
  std::vector<double> micros;
  for (auto _ : state) {
    const auto begin = Clock::now();
    const model::JobId job = cluster.Submit(request);
    const engine::Pass pass = cluster.Decide();
    const Micros took = Clock::now() - begin;
    if (pass.decisions.size() != 1) return state.SkipWithError("the gang was not placed");
    state.SetIterationTime(took.count() * 1e-6);
    micros.push_back(took.count());
    cluster.End(job);
    cluster.Decide();
  }
  ReportPercentiles(state, micros);
  state.counters["decisions_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(GangDecision)
    ->Name("GangDecision/12500nodes_391leaves_85busy/gang_nodes")
    ->Arg(1)
    ->Arg(8)
    ->Arg(128)
    ->Arg(1024)
    ->UseManualTime();

/// A gang's whole life: submit, Decide, end, settle; everything counts.
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

/// The search alone, on the same cluster: from the plan to the placement, nothing entered.
void IndexSearch(benchmark::State& state) {
  engine::State copy{Shared().engine().view().tables()};
  engine::CapacityIndex index(copy);
  const auto request = Gang(static_cast<int>(state.range(0)), 8);
  const engine::GangPlan plan = engine::PlanGang(*request, copy, index);
  engine::Planner planner{
      .state = copy, .index = index, .strategy = engine::Strategies().front(), .rng = base::Rng(1)};
  for (auto _ : state) benchmark::DoNotOptimize(engine::PlaceGang(planner, plan, plan.required));
}
BENCHMARK(IndexSearch)
    ->Name("IndexSearch/12500nodes_391leaves_85busy/gang_nodes")
    ->Arg(1)
    ->Arg(8)
    ->Arg(128)
    ->Arg(1024);

/// A placement entered into ledger and index, and the same in a trial that is undone, in turn: the
/// ratio is of two times from one run. Taking the first one out again is not timed.
void Trial(benchmark::State& state) {
  engine::State copy{Shared().engine().view().tables()};
  engine::CapacityIndex index(copy);
  const auto request = Gang(static_cast<int>(state.range(0)), 8);
  const engine::GangPlan plan = engine::PlanGang(*request, copy, index);
  engine::Planner planner{
      .state = copy, .index = index, .strategy = engine::Strategies().front(), .rng = base::Rng(1)};
  const model::ReplicaShape& shape = request->groups.front().shape;
  const auto place = [&] {
    engine::PlaceResult result = engine::PlaceGang(planner, plan, plan.required);
    for (const auto& rank : result.placement->ranks) copy.Claim({rank, shape});
    return result;
  };
  double placement_us = 0;
  double trial_us = 0;
  for (auto _ : state) {
    auto begin = Clock::now();
    const engine::PlaceResult result = place();
    placement_us += Micros(Clock::now() - begin).count();
    for (const auto& rank : result.placement->ranks) copy.Release({rank, shape});
    begin = Clock::now();
    copy.BeginTrial();
    place();
    copy.UndoTrial();
    const Micros took = Clock::now() - begin;
    trial_us += took.count();
    state.SetIterationTime(took.count() * 1e-6);
  }
  state.counters["trial_over_placement"] = trial_us / placement_us;
}
BENCHMARK(Trial)
    ->Name("Trial/12500nodes_85busy/gang_nodes")
    ->Arg(8)
    ->Arg(128)
    ->Arg(1024)
    ->UseManualTime();

/// A cluster of 12,500 nodes with 100,000 jobs: 12,500 run, the others wait.
BusyCluster& Crowded() {
  static BusyCluster cluster = [] {
    BusyCluster made(12'500, 100);
    for (int i = 12'500; i < 100'000; ++i) made.Submit(Gang(1 + i % 32, 8));
    made.Decide();
    return made;
  }();
  return cluster;
}

/// Taking a view, and with it the first write after it (a job is submitted and cancelled).
void TakeView(benchmark::State& state) {
  const engine::Engine& engine = Crowded().engine();
  for (auto _ : state) benchmark::DoNotOptimize(engine.view());
}
BENCHMARK(TakeView)->Name("TakeView/12500nodes_100000jobs");

void ViewThenWrite(benchmark::State& state) {
  BusyCluster& cluster = Crowded();
  engine::View held;
  std::uint64_t bits = 0;
  for (auto _ : state) {
    held = cluster.engine().view();
    cluster.engine().Apply({{}, model::HealthReported{"n00000", ++bits % 2}});
  }
}
BENCHMARK(ViewThenWrite)->Name("ViewThenWrite/12500nodes_100000jobs");

/// Resident memory of the crowded cluster, as the operating system counts it.
void Memory(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Crowded().engine().view());
  std::ifstream status("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  status >> pages >> resident;
  state.counters["resident_MB"] = static_cast<double>(resident) * 4096 / 1e6;
}
BENCHMARK(Memory)->Name("Memory/12500nodes_100000jobs")->Iterations(1);

/// 500 nodes full of 4,000 one-GPU jobs; a gang of ten nodes is refused with proof: submit and
/// Decide, the first time (its kind has not been seen) and with a full explanation.
BusyCluster& Full500() {
  static BusyCluster cluster = [] {
    BusyCluster made(500, 0);
    for (int i = 0; i < 4000; ++i) made.Submit(Gang(1, 1));
    made.Decide();
    return made;
  }();
  return cluster;
}

void ProofOfNoRoom(benchmark::State& state) {
  BusyCluster& cluster = Full500();
  std::vector<double> micros;
  int cpus = 0;
  for (auto _ : state) {
    // A new shape each time, or the verdict would be remembered.
    model::GangRequest request = *Gang(10, 8);
    request.groups.front().shape.cpu = base::MilliCpu::Of(1'000 + ++cpus);
    const auto shared = std::make_shared<const model::GangRequest>(std::move(request));
    const auto begin = Clock::now();
    const model::JobId job = cluster.Submit(shared);
    const engine::Pass pass = cluster.Decide();
    const Micros took = Clock::now() - begin;
    if (!pass.decisions.empty()) return state.SkipWithError("the gang was placed");
    state.SetIterationTime(took.count() * 1e-6);
    micros.push_back(took.count());
    cluster.engine().Apply({{}, model::JobChanged{job, model::JobChanged::Change::kCancel, 0}});
    cluster.Decide();
  }
  ReportPercentiles(state, micros);
}
BENCHMARK(ProofOfNoRoom)
    ->Name("ProofOfNoRoom/500nodes_4000jobs/80gpu_job")
    ->UseManualTime()
    ->Iterations(2000);

void ExplainNoRoom(benchmark::State& state) {
  BusyCluster& cluster = Full500();
  const model::JobId job = cluster.Submit(Gang(10, 8));
  cluster.Decide();
  const engine::View view = cluster.engine().view();
  for (auto _ : state) benchmark::DoNotOptimize(cluster.engine().Explain(view, job, {}));
}
BENCHMARK(ExplainNoRoom)->Name("ExplainNoRoom/500nodes_4000jobs/80gpu_job");

}  // namespace
}  // namespace muster::bench
