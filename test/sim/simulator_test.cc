// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/generate.h"
#include "sim/main_reason.h"
#include "sim/report.h"
#include "test/sim/builders.h"

namespace muster::sim::test {
namespace {

SimulationResult Replay(const model::Cluster& cluster, const model::Workload& workload,
                        const SimulationOptions& options = Checked(),
                        model::Policy policy = MakePolicy()) {
  auto result = Simulate(cluster, workload, std::move(policy), options);
  EXPECT_TRUE(result.has_value());
  return result ? std::move(*result) : SimulationResult{};
}

TEST(Simulator, TwoJobsShareANodeAndAThirdWaits) {
  const auto workload = MakeWorkload({{.duration_s = 100, .gpus = 4},
                                      {.submit_s = 10, .duration_s = 50, .gpus = 4},
                                      {.submit_s = 20, .duration_s = 30, .gpus = 4}});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[0].first_start, At(0));
  EXPECT_EQ(result.jobs[0].end, At(100));
  EXPECT_EQ(result.jobs[1].first_start, At(10));
  EXPECT_EQ(result.jobs[1].end, At(60));
  EXPECT_EQ(result.jobs[2].first_start, At(60));
  EXPECT_EQ(result.jobs[2].waited, base::Seconds(40));
  EXPECT_EQ(result.jobs[2].end, At(90));
  EXPECT_EQ(result.peak_waiting, 1);
  for (const JobResult& job : result.jobs) EXPECT_EQ(job.fate, Fate::kCompleted);
}

TEST(Simulator, StrictQueueLetsNobodyPassABlockedHead) {
  const auto workload = MakeWorkload({{.duration_s = 100, .gpus = 4},
                                      {.submit_s = 1, .gpus = 8},
                                      {.submit_s = 2, .duration_s = 10, .gpus = 4}});
  const SimulationResult bypass = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(bypass.jobs[2].first_start, At(2));
  EXPECT_EQ(bypass.jobs[1].first_start, At(100));

  const SimulationResult strict =
      Replay(MakeCluster(1, 8), workload, Checked(), MakePolicy(model::Blocking::kStrict));
  EXPECT_EQ(strict.jobs[1].first_start, At(100));
  EXPECT_EQ(strict.jobs[2].first_start, At(200));
}

TEST(Simulator, JobsEndAsTheTraceSays) {
  const auto workload = MakeWorkload({{.end = model::TraceEnd::kFailed},
                                      {.end = model::TraceEnd::kCancelled},
                                      {.duration_s = 0},
                                      {.gpus = 8}});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kFailed);
  EXPECT_EQ(result.jobs[0].end, At(100));
  EXPECT_EQ(result.jobs[1].fate, Fate::kCancelled);
  EXPECT_EQ(result.jobs[1].end, At(100));
  EXPECT_EQ(result.jobs[2].fate, Fate::kCompleted);
  EXPECT_EQ(result.jobs[2].end, At(0));
  EXPECT_EQ(result.jobs[3].first_start, At(100));  // both ends freed their GPUs
}

TEST(Simulator, TimeLimitEndsAJob) {
  const auto workload =
      MakeWorkload({{.duration_s = 1000, .gpus = 8, .time_limit_s = 300}, {.gpus = 8}});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kTimedOut);
  EXPECT_EQ(result.jobs[0].end, At(300));
  EXPECT_EQ(result.jobs[1].first_start, At(300));
}

// The limit of a job that ends by itself is not waited for.
TEST(Simulator, ATimeLimitThatIsNotReachedLengthensNothing) {
  const auto workload =
      MakeWorkload({{.duration_s = 3600, .gpus = 8, .time_limit_s = 7 * 24 * 3600}});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kCompleted);
  EXPECT_EQ(result.end, At(3600));
  EXPECT_DOUBLE_EQ(result.capacity_hours, 8);
  EXPECT_DOUBLE_EQ(Summarize(workload, result).utilisation, 1);
}

TEST(Simulator, WhatIsLostCountsAtTheSizeHeld) {
  // Starts at 2 of 8 replicas beside the other job, and loses its node at 101 s.
  const auto workload =
      MakeWorkload({{.duration_s = 300, .gpus = 6},
                    {.submit_s = 1, .duration_s = 1000, .replicas = 8, .min_replicas = 2}});
  const SimulationResult result = Replay(
      MakeCluster(1, 8), workload,
      Checked({{At(101), "n0", ClusterEventKind::kDown}, {At(500), "n0", ClusterEventKind::kUp}}));
  EXPECT_EQ(result.jobs[1].restarts, 1U);
  EXPECT_EQ(result.jobs[1].lost, base::Seconds(100));
  EXPECT_DOUBLE_EQ(result.lost_hours, (6 * 101 + 2 * 100) / 3600.0);
  EXPECT_DOUBLE_EQ(Summarize(workload, result).lost_hours, result.lost_hours);
}

TEST(Simulator, ADownNodeIsNotUpBecauseItIsCordonedOrDrained) {
  const auto workload = MakeWorkload({{.duration_s = 400, .gpus = 8}});
  const SimulationResult result = Replay(MakeCluster(2, 8), workload,
                                         Checked({{At(100), "n1", ClusterEventKind::kDown},
                                                  {At(200), "n1", ClusterEventKind::kCordon},
                                                  {At(200), "n1", ClusterEventKind::kDrain},
                                                  {At(300), "n1", ClusterEventKind::kUp},
                                                  {At(300), "n1", ClusterEventKind::kDrain}}));
  EXPECT_EQ(result.jobs[0].end, At(400));
  EXPECT_DOUBLE_EQ(result.capacity_hours, (8 * 400 + 8 * (100 + 100)) / 3600.0);
}

TEST(Simulator, ARunThatWouldNotEndStopsWithANote) {
  // At one of a million ranks, a hundred years of work take a hundred million.
  auto workload = MakeWorkload({{.replicas = 1 << 20, .gpus = 1, .min_replicas = 1}});
  workload.jobs[0].duration = base::Hours(24 * 365 * 100);
  const SimulationResult result = Replay(MakeCluster(1, 1), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kUnfinished);
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("36,000 simulated years")));
}

TEST(Simulator, NodeLossRestartsAJobFromItsLastCheckpoint) {
  const auto workload = MakeWorkload({{.duration_s = 1000, .gpus = 8}});
  SimulationOptions options = Checked({{At(450), "n0", ClusterEventKind::kDown}});
  options.defaults = {.checkpoint_every = base::Seconds(200), .restart_cost = base::Seconds(30)};
  const SimulationResult result = Replay(MakeCluster(2, 8), workload, options);
  const JobResult& job = result.jobs[0];
  EXPECT_EQ(job.fate, Fate::kCompleted);
  EXPECT_EQ(job.restarts, 1U);
  // 450 s, of which 400 s are saved; then 30 s of starting and the other 600 s.
  EXPECT_EQ(job.end, At(450 + 30 + 600));
  EXPECT_EQ(job.lost, base::Seconds(50 + 30));
  EXPECT_EQ(job.waited, base::Seconds(0));
}

TEST(Simulator, WithoutCheckpointsANodeLossCostsEverything) {
  const auto workload = MakeWorkload({{.duration_s = 1000, .replicas = 2, .gpus = 8}});
  const SimulationResult result =
      Replay(MakeCluster(3, 8), workload, Checked({{At(450), "n0", ClusterEventKind::kDown}}));
  EXPECT_EQ(result.jobs[0].end, At(1450));
  EXPECT_EQ(result.jobs[0].lost, base::Seconds(450));
}

TEST(Simulator, AJobWaitsForANodeToComeBack) {
  const auto workload = MakeWorkload({{.duration_s = 100, .gpus = 8}});
  const SimulationResult result = Replay(
      MakeCluster(1, 8), workload,
      Checked({{At(500), "n0", ClusterEventKind::kUp}, {At(50), "n0", ClusterEventKind::kDown}}));
  EXPECT_EQ(result.jobs[0].fate, Fate::kCompleted);
  EXPECT_EQ(result.jobs[0].end, At(600));
  EXPECT_EQ(result.jobs[0].waited, base::Seconds(450));
}

TEST(Simulator, NodesAreAddedCordonedAndRemoved) {
  const auto workload = MakeWorkload({{.duration_s = 100, .gpus = 8},
                                      {.submit_s = 1, .duration_s = 100, .gpus = 8},
                                      {.submit_s = 60, .duration_s = 10, .gpus = 8}});
  const SimulationResult result = Replay(MakeCluster(2, 8), workload,
                                         Checked({{At(50), "n1", ClusterEventKind::kAdd},
                                                  {At(20), "n0", ClusterEventKind::kCordon},
                                                  {At(200), "n1", ClusterEventKind::kRemove}}));
  EXPECT_EQ(result.jobs[0].end, At(100));          // a cordon leaves what runs
  EXPECT_EQ(result.jobs[1].first_start, At(50));   // on the new node
  EXPECT_EQ(result.jobs[2].first_start, At(150));  // n0 takes nothing new
  EXPECT_EQ(result.jobs[2].end, At(160));
}

TEST(Simulator, EventsThatFitNoClusterAreRefused) {
  const auto cluster = MakeCluster(1, 8);
  const auto workload = MakeWorkload({});
  const auto refused = [&](ClusterEvents events) {
    return !Simulate(cluster, workload, MakePolicy(), Checked(std::move(events))).has_value();
  };
  EXPECT_TRUE(refused({{At(1), "n7", ClusterEventKind::kDown}}));
  EXPECT_TRUE(
      refused({{At(1), "n0", ClusterEventKind::kRemove}, {At(2), "n0", ClusterEventKind::kUp}}));
  EXPECT_TRUE(
      refused({{At(1), "n0", ClusterEventKind::kDown}, {At(2), "n0", ClusterEventKind::kAdd}}));
  EXPECT_FALSE(
      refused({{At(1), "n0", ClusterEventKind::kDown}, {At(2), "n0", ClusterEventKind::kUp}}));
}

TEST(Simulator, ElasticGangStartsSmallAndRunsLonger) {
  const auto workload =
      MakeWorkload({{.duration_s = 1000, .gpus = 4},
                    {.submit_s = 1, .duration_s = 100, .replicas = 8, .min_replicas = 2}});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[1].first_start, At(1));
  EXPECT_EQ(result.jobs[1].end, At(1 + 200));  // half of its ranks, twice the time
}

TEST(Simulator, AGangThatIsSpreadRunsLonger) {
  // 4 nodes of 4 GPUs in two leaves; one node of each takes nothing, so that the gang must span
  // both.
  const auto workload = MakeWorkload(
      {{.submit_s = 1, .duration_s = 100, .replicas = 2, .gpus = 4, .comm_permille = 200}});
  const SimulationResult result = Replay(MakeCluster(4, 4, 2), workload,
                                         Checked({{At(0), "n0", ClusterEventKind::kCordon},
                                                  {At(0), "n2", ClusterEventKind::kCordon}}));
  EXPECT_EQ(result.jobs[0].slowdown_ppm, 1'200'000);  // c = 0.2, half of the bandwidth
  EXPECT_EQ(result.jobs[0].end, At(1 + 120));
}

TEST(Simulator, AJobThatNeverFitsEndsTheSimulationAndIsCounted) {
  const auto workload = MakeWorkload({{.gpus = 16}, {.submit_s = 5}});
  const SimulationResult result = Replay(MakeCluster(2, 8), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kNever);
  EXPECT_EQ(result.jobs[1].fate, Fate::kCompleted);
  EXPECT_EQ(result.never_explained, 1);
  EXPECT_EQ(result.never_reasons[static_cast<std::size_t>(model::ReasonCode::kNodeTooSmall)], 1);
}

TEST(Simulator, WhatCanNeverRunIsNotKeptByWhatIsInUse) {
  const auto workload =
      MakeWorkload({{.duration_s = 100, .replicas = 2, .gpus = 8}, {.replicas = 3, .gpus = 8}});
  SimulationOptions options = Checked();
  options.explain = {1};
  const SimulationResult result = Replay(MakeCluster(2, 8), workload, options);
  EXPECT_EQ(result.jobs[1].fate, Fate::kNever);
  EXPECT_EQ(result.never_reasons[static_cast<std::size_t>(model::ReasonCode::kCapacity)], 1);
  ASSERT_EQ(result.explained.size(), 1U);
  EXPECT_EQ(MainReason(result.explained[0].explanation), model::ReasonCode::kCapacity);
}

TEST(Simulator, JobsWithoutGpusAreCountedInCpus) {
  auto workload = MakeWorkload({{.duration_s = 100, .gpus = 0}});
  workload.jobs[0].cpu = base::MilliCpu::Of(24'000);
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_FALSE(result.counts_gpus);
  EXPECT_DOUBLE_EQ(Summarize(workload, result).utilisation, 0.25);
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("no job asks for a GPU")));
}

TEST(Simulator, MalformedRequestsAreRejectedWithANote) {
  auto workload = MakeWorkload({{.gpus = 1}, {.gpus = 1}});
  workload.jobs[0].gpu = base::MilliGpu::Of(INT64_MAX);
  workload.jobs[0].replicas = 1 << 20;
  const SimulationResult result = Replay(MakeCluster(1, 8), workload);
  EXPECT_EQ(result.jobs[0].fate, Fate::kRejected);
  EXPECT_EQ(result.jobs[1].fate, Fate::kCompleted);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0], testing::HasSubstr("job0"));
}

TEST(Simulator, UnknownQueueNamesGoToTheDefaultWithANote) {
  const auto workload = MakeWorkload({{.queue = "vc7"}});
  model::Policy policy = MakePolicy();
  EXPECT_THAT(Replay(MakeCluster(1, 8), workload).notes, testing::IsEmpty());  // no choice
  policy.queues.push_back({.name = "other"});
  const SimulationResult result = Replay(MakeCluster(1, 8), workload, Checked(), policy);
  EXPECT_EQ(result.jobs[0].fate, Fate::kCompleted);
  EXPECT_THAT(result.notes, testing::ElementsAre(testing::HasSubstr("--one-queue")));
}

TEST(Simulator, StopsWhereItIsTold) {
  SimulationOptions options = Checked();
  options.until = At(50);
  const SimulationResult result =
      Replay(MakeCluster(1, 8),
             MakeWorkload({{.gpus = 8}, {.submit_s = 1, .gpus = 8}, {.submit_s = 60}}), options);
  EXPECT_EQ(result.jobs[0].fate, Fate::kUnfinished);
  EXPECT_EQ(result.jobs[1].fate, Fate::kWaiting);
  EXPECT_EQ(result.jobs[2].fate, Fate::kToCome);
  EXPECT_EQ(result.jobs[2].size_milli, 1000);
  EXPECT_EQ(result.never_explained, 0);
  EXPECT_DOUBLE_EQ(result.allocated_hours, 8 * 50 / 3600.0);
}

TEST(Simulator, ExplainsOnArrival) {
  SimulationOptions options = Checked();
  options.explain = {1};
  const SimulationResult result =
      Replay(MakeCluster(1, 8), MakeWorkload({{.gpus = 8}, {.submit_s = 1, .gpus = 8}}), options);
  ASSERT_EQ(result.explained.size(), 1U);
  EXPECT_TRUE(result.explained[0].explanation.waiting);
  EXPECT_EQ(result.explained[0].explanation.outcome, model::Outcome::kNotNow);
}

TEST(Simulator, UtilisationIsTheIntegralOfWhatRan) {
  const auto workload = MakeWorkload(
      {{.duration_s = 100, .gpus = 8}, {.submit_s = 50, .duration_s = 150, .gpus = 4}});
  const SimulationResult result = Replay(MakeCluster(2, 8), workload);
  EXPECT_DOUBLE_EQ(result.allocated_hours, (8 * 100 + 4 * 150) / 3600.0);
  EXPECT_DOUBLE_EQ(result.capacity_hours, 16 * 200 / 3600.0);
}

TEST(Simulator, TheSameRunHasTheSameDecisions) {
  const Profile& profile = *FindProfile("demo");
  const auto workload = Generate(profile, {.jobs = 400, .seed = 7, .cluster_gpus = 64});
  SimulationOptions options;
  options.events = {{At(20'000), "n3", ClusterEventKind::kDown},
                    {At(40'000), "n3", ClusterEventKind::kUp}};
  options.defaults.checkpoint_every = base::Minutes(10);
  const SimulationResult first = Replay(MakeCluster(8, 8, 4), workload, options);
  const SimulationResult second = Replay(MakeCluster(8, 8, 4), workload, options);
  EXPECT_EQ(first.decision_hash, second.decision_hash);
  EXPECT_EQ(first.decisions, second.decisions);
  EXPECT_GT(first.decisions, 800);
  options.events[0].at = At(20'001);
  EXPECT_NE(Replay(MakeCluster(8, 8, 4), workload, options).decision_hash, first.decision_hash);
}

}  // namespace
}  // namespace muster::sim::test
