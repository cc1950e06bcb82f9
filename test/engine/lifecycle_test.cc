// SPDX-License-Identifier: Apache-2.0
// How jobs and attempts live and end, and what facts about them change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::FinishJob;
using model::JobChanged;
using model::JobEnd;
using model::NodeState;
using model::ReasonCode;
using model::RequeueJob;
using model::StartGang;
using model::StopGang;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Change = JobChanged::Change;

constexpr int kAllRanks = 1 << 20;

/// A world of four 8-GPU nodes in one leaf.
World Four() {
  World world;
  world.Add(Fabric(4, 4, 1));
  return world;
}

void Exit(World& world, model::JobId job, model::RankRange ranks, bool failed = false) {
  world.Tell(model::TaskExited{job, world.Job(job).attempt, ranks, failed});
}

void Start(World& world, model::JobId job) {
  world.Tell(model::TaskStarted{job, world.Job(job).attempt, {0, kAllRanks}});
}

model::GangRequest Grace(model::GangRequest request, base::Duration grace) {
  request.checkpoint = model::CheckpointSpec{.grace = grace};
  return request;
}

TEST(Lifecycle, PhasesOfAJobThatGoesWell) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  EXPECT_EQ(world.Job(job).phase, JobPhase::kWaiting);
  EXPECT_EQ(world.Job(job).attempt.value, 0u);
  world.Decide();
  EXPECT_EQ(world.Job(job).phase, JobPhase::kStarting);
  Start(world, job);
  EXPECT_EQ(world.Job(job).phase, JobPhase::kRunning);
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Advance(base::Minutes(5));
  world.Exit(job);
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<FinishJob>(decisions[0]).end, JobEnd::kCompleted);
  const engine::View view = world.engine.view();
  const engine::JobView row = view.Job(job);
  EXPECT_EQ(row.phase, JobPhase::kEnded);
  EXPECT_EQ(row.ended.us, base::Minutes(5).value());
  EXPECT_EQ(row.placement, nullptr);
  EXPECT_EQ(row.request, nullptr);
  EXPECT_EQ(row.queue, "default");
}

TEST(Lifecycle, HoldAndReleaseInEachPhase) {
  World world = Four();
  const model::JobId job = world.Submit(With(Gang(2, 8), [](auto& r) { r.restart.limit = 1; }));
  world.Tell(JobChanged{job, Change::kHold});
  world.Tell(JobChanged{job, Change::kHold});  // twice is once
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Job(job).phase, JobPhase::kHeld);
  world.Tell(JobChanged{job, Change::kRelease});
  world.Tell(JobChanged{job, Change::kRelease});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  // Held while it runs: it goes on, and does not come again.
  world.Tell(JobChanged{job, Change::kHold});
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Job(job).phase, JobPhase::kStarting);
  world.Exit(job, true);
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<RequeueJob>(decisions[0]));
  EXPECT_EQ(world.Job(job).phase, JobPhase::kHeld);
  world.Tell(JobChanged{job, Change::kRelease});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  // Held and released while it runs: nothing has happened.
  world.Tell(JobChanged{job, Change::kHold});
  world.Tell(JobChanged{job, Change::kRelease});
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Exit(job);
  world.Decide();
  world.Tell(JobChanged{job, Change::kHold});
  world.Tell(JobChanged{job, Change::kRelease});
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Job(job).phase, JobPhase::kEnded);
}

TEST(Lifecycle, CancelInEachPhase) {
  enum class When { kWaiting, kHeld, kBeforeStart, kStarting, kRunning, kStopping, kEnded };
  for (const When when : {When::kWaiting, When::kHeld, When::kBeforeStart, When::kStarting,
                          When::kRunning, When::kStopping, When::kEnded}) {
    SCOPED_TRACE(static_cast<int>(when));
    World world = Four();
    const model::JobId job{1};
    world.Tell(model::JobSubmitted{
        job, "default", "ana", 100, when == When::kBeforeStart ? base::Hours(1) : base::Duration{},
        std::make_shared<const model::GangRequest>(
            Gang(when == When::kWaiting ? 5 : 2, when == When::kWaiting ? 8 : 8))});
    if (when == When::kHeld) world.Tell(JobChanged{job, Change::kHold});
    world.Decide();
    if (when == When::kRunning) Start(world, job);
    if (when == When::kStopping) Exit(world, job, {0, 1}, true);
    if (when == When::kEnded) world.Exit(job);
    world.Decide();
    const bool placed = world.Holds(job);
    world.Tell(JobChanged{job, Change::kCancel});
    world.Tell(JobChanged{job, Change::kCancel});
    const auto decisions = world.Decide();
    if (when == When::kEnded) {
      EXPECT_THAT(decisions, IsEmpty());
      EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
      continue;
    }
    if (!placed) {
      ASSERT_THAT(decisions, SizeIs(1));
      EXPECT_EQ(std::get<FinishJob>(decisions[0]).end, JobEnd::kCancelled);
    } else if (when == When::kStopping) {
      EXPECT_THAT(decisions, IsEmpty());  // it has its order already
    } else {
      ASSERT_THAT(decisions, SizeIs(1));
      EXPECT_EQ(std::get<StopGang>(decisions[0]).reason.code, ReasonCode::kCancelled);
    }
    if (placed) {
      EXPECT_TRUE(world.Holds(job));  // until the tasks are gone
      world.ConfirmStop(job);
      world.Decide();
    }
    EXPECT_EQ(world.Job(job).phase, JobPhase::kEnded);
    EXPECT_EQ(world.Job(job).end, JobEnd::kCancelled);
    EXPECT_EQ(world.engine.view().Devices()[0], 32);
    EXPECT_EQ(world.engine.NextDeadline(), std::nullopt);  // nothing waits for a job that is over
  }
}

TEST(Lifecycle, TimeLimitStopsWithGraceAndEndsTheJob) {
  World world = Four();
  const model::JobId job = world.Submit(With(Grace(Gang(2, 8), base::Seconds(30)), [](auto& r) {
    r.time_limit = base::Minutes(60);
    r.restart.limit = 5;
  }));
  world.Advance(base::Minutes(1));
  world.Decide();
  ASSERT_EQ(world.engine.NextDeadline(), base::Instant{} + base::Minutes(61));
  world.Advance(base::Minutes(60));
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  const auto& stop = std::get<StopGang>(decisions[0]);
  EXPECT_EQ(stop.reason.code, ReasonCode::kTimeLimit);
  EXPECT_EQ(stop.grace, base::Seconds(30));
  EXPECT_EQ(world.Job(job).phase, JobPhase::kStopping);
  world.Exit(job, true);  // killed: not a failure of its own
  const auto end = world.Decide();
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(std::get<FinishJob>(end[0]).end, JobEnd::kTimedOut);
}

TEST(Lifecycle, TimeLimitCountsFromTheLatestStart) {
  World world = Four();
  const model::JobId job = world.Submit(With(Gang(1, 8), [](auto& r) {
    r.time_limit = base::Minutes(10);
    r.restart.limit = 1;
  }));
  world.Decide();
  world.Advance(base::Minutes(6));
  world.Exit(job, true);
  ASSERT_THAT(world.Decide(), SizeIs(2));  // requeued and started again
  world.Advance(base::Minutes(6));
  EXPECT_THAT(world.Decide(), IsEmpty());  // the first attempt's limit is void
  world.Advance(base::Minutes(4));
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Lifecycle, JobThatEndedInTimeIsNotTimedOut) {
  World world = Four();
  const model::JobId job =
      world.Submit(With(Gang(1, 8), [](auto& r) { r.time_limit = base::Minutes(10); }));
  world.Decide();
  world.Advance(base::Minutes(10));
  world.Exit(job);
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
}

TEST(Lifecycle, CompletionOfAllNeedsEveryTask) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(3, 8));
  world.Decide();
  Exit(world, job, {2, 1});
  EXPECT_THAT(world.Decide(), IsEmpty());
  Exit(world, job, {0, 1});
  EXPECT_THAT(world.Decide(), IsEmpty());
  Exit(world, job, {1, 1});
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Lifecycle, CompletionOfRankZeroStopsTheOthersWithGrace) {
  World world = Four();
  const model::JobId job = world.Submit(With(Grace(Gang(3, 8), base::Seconds(5)), [](auto& r) {
    r.completion.kind = model::Completion::Kind::kRank0;
  }));
  world.Decide();
  Exit(world, job, {1, 1});
  EXPECT_THAT(world.Decide(), IsEmpty());
  Exit(world, job, {0, 1});
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<StopGang>(decisions[0]).reason.code, ReasonCode::kCompleted);
  EXPECT_EQ(std::get<StopGang>(decisions[0]).grace, base::Seconds(5));
  Exit(world, job, {2, 1}, true);  // killed by us: done all the same
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
}

TEST(Lifecycle, CompletionOfAGroup) {
  for (const bool first : {true, false}) {
    World world = Four();
    model::GangRequest request;
    request.groups = {Group(2, 8, "worker"), Group(2, 4, "launcher")};
    request.completion = {model::Completion::Kind::kGroup, first ? "worker" : "launcher"};
    const model::JobId job = world.Submit(request);
    world.Decide();
    Exit(world, job, {first ? 0 : 2, 1});
    Exit(world, job, {first ? 2 : 0, 2});
    EXPECT_THAT(world.Decide(), IsEmpty());
    Exit(world, job, {first ? 1 : 3, 1});
    const auto decisions = world.Decide();
    ASSERT_THAT(decisions, SizeIs(1));
    EXPECT_TRUE(std::holds_alternative<FinishJob>(decisions[0]));
  }
}

TEST(Lifecycle, OneFailingTaskEndsTheAttemptOnceHoweverManySiblingsDie) {
  World world = Four();
  const model::JobId job = world.Submit(With(Gang(4, 8), [](auto& r) { r.restart.limit = 1; }));
  world.Decide();
  Exit(world, job, {2, 1}, true);
  auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<StopGang>(decisions[0]).reason.code, ReasonCode::kTaskFailed);
  Exit(world, job, {0, 1}, true);
  EXPECT_THAT(world.Decide(), IsEmpty());
  Exit(world, job, {0, kAllRanks}, true);
  decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(decisions[0]).reason.code, ReasonCode::kTaskFailed);
  EXPECT_EQ(std::get<StartGang>(decisions[1]).attempt.value, 2u);
  // One restart is used, not four.
  world.Exit(job, true);
  decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<FinishJob>(decisions[0]).reason.code, ReasonCode::kRestartLimit);
  EXPECT_EQ(world.Job(job).end, JobEnd::kFailed);
}

TEST(Lifecycle, WithoutRestartsTheFirstFailureIsTheEnd) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(1, 8));
  world.Decide();
  world.Exit(job, true);
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<FinishJob>(decisions[0]).reason.code, ReasonCode::kTaskFailed);
}

TEST(Lifecycle, StoppedWithoutAnOrderIsAFailure) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(1, 8));
  world.Decide();
  world.ConfirmStop(job);
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kFailed);
}

TEST(Lifecycle, RequeuedJobKeepsItsPlaceInTheOrder) {
  World world = Four();
  const model::JobId first = world.Submit(With(Gang(4, 8), [](auto& r) { r.restart.limit = 1; }));
  world.Decide();
  world.Advance(base::Minutes(1));
  const model::JobId second = world.Submit(Gang(4, 8));
  world.Decide();
  world.Exit(first, true);
  world.Decide();
  EXPECT_TRUE(world.Holds(first));
  EXPECT_FALSE(world.Holds(second));
}

TEST(Lifecycle, MessagesOfOlderAttemptsAndOfStrangersAreIgnored) {
  World world = Four();
  const model::JobId job = world.Submit(With(Gang(2, 8), [](auto& r) { r.restart.limit = 9; }));
  world.Decide();
  world.Exit(job, true);
  world.Decide();
  ASSERT_EQ(world.Job(job).attempt.value, 2u);
  const auto before = world.engine.Snapshot();
  for (const std::uint32_t attempt : {0u, 1u, 3u, UINT32_MAX}) {
    world.Tell(model::TaskStarted{job, {attempt}, {0, 2}});
    world.Tell(model::TaskExited{job, {attempt}, {0, 2}, true});
    world.Tell(model::StopConfirmed{job, {attempt}, {0, 2}});
    world.Tell(model::CheckpointReported{job, {attempt}, 7});
  }
  for (const std::uint32_t stranger : {0u, 77u, 4'000'000'000u}) {
    world.Tell(model::TaskExited{{stranger}, {1}, {0, 2}, true});
    world.Tell(JobChanged{{stranger}, Change::kCancel});
    world.Tell(JobChanged{{stranger}, Change::kHold});
  }
  world.Tell(model::NodeGone{"nowhere"});
  world.Tell(model::NodeStateChanged{"nowhere", NodeState::kDown});
  world.Tell(model::HealthReported{"nowhere", 1});
  world.Tell(model::ForeignUsage{"nowhere", 1});
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.engine.Snapshot(), before);
}

TEST(Lifecycle, DuplicateMessagesAreIgnored) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(4, 8));
  world.Decide();
  Start(world, job);
  const auto started = world.engine.Snapshot();
  Start(world, job);
  EXPECT_EQ(world.engine.Snapshot(), started);
  Exit(world, job, {0, 2});
  const auto snapshot = world.engine.Snapshot();
  Exit(world, job, {0, 2});
  Exit(world, job, {1, 1}, true);
  EXPECT_EQ(world.engine.Snapshot(), snapshot);
  EXPECT_THAT(world.Decide(), IsEmpty());
  const auto resubmitted = world.inputs;
  for (const model::Input& input : resubmitted) {
    if (std::holds_alternative<model::JobSubmitted>(input.fact)) world.engine.Apply(input);
  }
  EXPECT_EQ(world.engine.Snapshot(), snapshot);
}

TEST(Lifecycle, OverlappingExitReportsReleaseEachRankOnce) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(4, 8));
  world.Decide();
  Exit(world, job, {0, 2});
  Exit(world, job, {1, 2});  // rank 1 again, and rank 2
  EXPECT_EQ(world.engine.Verify(), "");
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.engine.view().Devices()[0], 24);
  Exit(world, job, {0, kAllRanks});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  EXPECT_EQ(world.engine.view().Devices()[0], 32);
}

TEST(Lifecycle, RanksOutOfRangeAreIgnored) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  const auto before = world.engine.Snapshot();
  for (const model::RankRange range : {model::RankRange{2, 5},
                                       {-7, 7},
                                       {0, 0},
                                       {1, -3},
                                       {INT32_MAX, INT32_MAX},
                                       {INT32_MIN, INT32_MAX}}) {
    Exit(world, job, range);
  }
  EXPECT_EQ(world.engine.Snapshot(), before);
  Exit(world, job, {1, INT32_MAX});
  EXPECT_EQ(world.engine.view().Devices()[0], 24);
  Exit(world, job, {-5, 6});
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
}

TEST(Lifecycle, LostNodeStopsEveryJobOnItAndNoOther) {
  World world = Four();
  const model::JobId wide = world.Submit(Gang(4, 2));
  const model::JobId pair = world.Submit(With(Gang(2, 3), [](auto& r) {
    r.topology.anti_affinity = "node";
    r.restart.on_node_loss = false;
  }));
  const model::JobId other = world.Submit(With(Gang(1, 8), [](auto&) {}));
  world.Decide();
  ASSERT_TRUE(world.Holds(wide) && world.Holds(pair) && world.Holds(other));
  const std::string lost = world.NodesOf(pair)[0];
  std::vector<model::JobId> hit;
  for (const model::JobId job : {wide, pair, other}) {
    for (const std::string& node : world.NodesOf(job)) {
      if (node == lost && (hit.empty() || hit.back() != job)) hit.push_back(job);
    }
  }
  world.Tell(model::NodeStateChanged{lost, NodeState::kDown});
  world.Tell(model::NodeStateChanged{lost, NodeState::kDown});
  std::vector<model::JobId> stopped;
  for (const auto& decision : world.Decide()) {
    if (const auto* stop = std::get_if<StopGang>(&decision)) {
      EXPECT_EQ(stop->reason.code, ReasonCode::kNodeLost);
      stopped.push_back(stop->job);
    } else if (const auto* requeue = std::get_if<RequeueJob>(&decision)) {
      stopped.push_back(requeue->job);  // nothing of it was left
    }
  }
  EXPECT_EQ(stopped, hit);
  EXPECT_TRUE(world.Holds(other));
  world.ConfirmStop(pair);
  world.Decide();
  EXPECT_EQ(world.Job(pair).end, JobEnd::kFailed);  // it did not want to come again
  EXPECT_EQ(world.engine.Verify(), "");
}

TEST(Lifecycle, ALostTaskIsNoFailureOfTheJob) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  Start(world, job);
  world.Tell(
      model::TaskExited{.job = job, .attempt = {1}, .ranks = {0, 1}, .failed = true, .lost = true});
  const auto stop = world.Decide();
  ASSERT_THAT(stop, SizeIs(1));
  EXPECT_EQ(std::get<StopGang>(stop[0]).reason.code, ReasonCode::kNodeLost);
  world.Tell(model::StopConfirmed{job, {1}, {1, 1}});
  const auto again = world.Decide();
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(again[0]).reason.code, ReasonCode::kNodeLost);
  EXPECT_EQ(std::get<StartGang>(again[1]).attempt, model::Attempt{2});
}

TEST(Lifecycle, DownNodeIsUsedAgainWhenReady) {
  World world = Four();
  world.Tell(model::NodeStateChanged{"n3", NodeState::kDown});
  const model::JobId job = world.Submit(Gang(4, 8));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(job).outcome, model::Outcome::kNotNow);  // not never: it may come back
  world.Tell(model::NodeStateChanged{"n3", NodeState::kReady});
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Lifecycle, StatesThatTakeNothingNewLeaveWhatRunsAlone) {
  for (const NodeState state : {NodeState::kCordoned, NodeState::kDraining, NodeState::kMaintenance,
                                NodeState::kProbation}) {
    World world = Four();
    const model::JobId runs = world.Submit(Gang(4, 8));
    world.Decide();
    for (int n = 0; n < 4; ++n) world.Tell(model::NodeStateChanged{base::Format("n{}", n), state});
    EXPECT_THAT(world.Decide(), IsEmpty());
    EXPECT_TRUE(world.Holds(runs));
    const model::JobId next = world.Submit(Gang(1, 1));
    world.Exit(runs);
    world.Decide();
    EXPECT_EQ(world.Job(runs).end, JobEnd::kCompleted);
    EXPECT_FALSE(world.Holds(next));
    world.Tell(model::NodeStateChanged{"n2", NodeState::kReady});
    world.Decide();
    EXPECT_THAT(world.NodesOf(next), ElementsAre("n2"));
  }
}

TEST(Lifecycle, FaultyAndForeignDevicesAreAvoidedAndStayChargedWhereInUse) {
  World world;
  world.Add({GpuNode("a")});
  const model::JobId first = world.Submit(Gang(1, 2));
  world.Decide();
  world.Tell(model::HealthReported{"a", 0b0000'0101});  // one of them in use
  world.Tell(model::ForeignUsage{"a", 0b0000'1000});
  const model::JobId second = world.Submit(Gang(1, 4));
  world.Decide();
  EXPECT_TRUE(world.Holds(first));
  EXPECT_THAT(world.DevicesOf(second), ElementsAre(0xf0u));
  world.Tell(model::HealthReported{"a", 0});  // the set, not a change to it
  world.Tell(model::ForeignUsage{"a", 0});
  const model::JobId third = world.Submit(Gang(1, 2));
  world.Decide();
  EXPECT_THAT(world.DevicesOf(third), ElementsAre(0x0cu));
}

TEST(Lifecycle, GoneNodeThatComesBackIsReadyAndClean) {
  World world = Four();
  world.Tell(model::NodeStateChanged{"n1", NodeState::kCordoned});
  world.Tell(model::NodeGone{"n1"});
  world.Tell(model::NodeGone{"n1"});
  world.Tell(model::NodeStateChanged{"n1", NodeState::kDown});  // too late to mean anything
  world.Add({Fabric(4, 4, 1)[1]});
  world.Submit(Gang(4, 8));
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Lifecycle, CheckpointReportsDecideNothing) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(1, 8));
  world.Decide();
  const auto before = world.engine.Snapshot();
  world.Advance(base::Seconds(3));
  world.Tell(model::CheckpointReported{job, world.Job(job).attempt, 500});
  EXPECT_NE(world.engine.Snapshot(), before);
  EXPECT_THAT(world.Decide(), IsEmpty());
}

TEST(Lifecycle, JobsWithACheckpointComeAgainAfterALostNodeWhateverTheyAsked) {
  World world = Four();
  const model::JobId job = world.Submit(
      With(Grace(Gang(1, 8), base::Seconds(1)), [](auto& r) { r.restart.on_node_loss = false; }));
  world.Decide();
  world.Tell(model::NodeGone{"n0"});
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(decisions[0]).reason.code, ReasonCode::kNodeLost);
  EXPECT_EQ(std::get<StartGang>(decisions[1]).job, job);
}

}  // namespace
}  // namespace muster::test
