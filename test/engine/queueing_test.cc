// SPDX-License-Identifier: Apache-2.0
// Who is tried when: priority, order, strict queues, start times, policies that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::JobChanged;
using model::JobEnd;
using model::ReasonCode;
using model::StartGang;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Change = JobChanged::Change;

/// A world of four 8-GPU nodes in one leaf.
World Four() {
  World world;
  world.Add(Fabric(4, 4, 1));
  return world;
}

TEST(Queueing, PriorityDecidesAmongWaitingJobsAndMayChange) {
  World world = Four();
  const model::JobId runs = world.Submit(Gang(4, 8));
  world.Decide();
  const model::JobId low = world.Submit(Gang(4, 8), "default", 100);
  const model::JobId high = world.Submit(Gang(4, 8), "default", 200);
  const model::JobId raised = world.Submit(Gang(4, 8), "default", 50);
  world.Decide();
  world.Tell(JobChanged{raised, Change::kPriority, 300});
  std::vector<model::JobId> order;
  model::JobId running = runs;
  for (int i = 0; i < 3; ++i) {
    world.Exit(running);
    for (const auto& decision : world.Decide()) {
      if (const auto* start = std::get_if<StartGang>(&decision))
        order.push_back(running = start->job);
    }
  }
  EXPECT_THAT(order, ElementsAre(raised, high, low));
}

TEST(Queueing, PriorityOfHeldAndRunningJobsChangesNothingElse) {
  World world = Four();
  const model::JobId runs = world.Submit(Gang(4, 8));
  const model::JobId held = world.Submit(Gang(4, 8));
  world.Tell(JobChanged{held, Change::kHold});
  world.Decide();
  world.Tell(JobChanged{runs, Change::kPriority, 1});
  world.Tell(JobChanged{held, Change::kPriority, 900});
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Job(held).phase, JobPhase::kHeld);
  EXPECT_EQ(world.Job(held).priority, 900);
  EXPECT_EQ(world.Job(runs).priority, 1);
}

TEST(Queueing, StartAfterIsKeptAndIsADeadline) {
  World world = Four();
  const model::JobId job{1};
  world.Tell(model::JobSubmitted{job, "default", "ana", 100, base::Minutes(10),
                                 std::make_shared<const model::GangRequest>(Gang(1, 8))});
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(job).binding.code, ReasonCode::kStartAfter);
  ASSERT_EQ(world.engine.NextDeadline(), base::Instant{} + base::Minutes(10));
  world.Advance(base::Minutes(10) - base::Microseconds(1));
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Advance(base::Microseconds(1));
  EXPECT_THAT(world.Decide(), SizeIs(1));
  EXPECT_EQ(world.engine.NextDeadline(), std::nullopt);
}

TEST(Queueing, StartAfterPassesWhileHeld) {
  World world = Four();
  const model::JobId job{1};
  world.Tell(model::JobSubmitted{job, "default", "ana", 100, base::Minutes(10),
                                 std::make_shared<const model::GangRequest>(Gang(1, 8))});
  world.Tell(JobChanged{job, Change::kHold});
  world.Advance(base::Minutes(20));
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Tell(JobChanged{job, Change::kRelease});
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Queueing, HeldAndReleasedBeforeItsStartTime) {
  World world = Four();
  const model::JobId job{1};
  world.Tell(model::JobSubmitted{job, "default", "ana", 100, base::Minutes(10),
                                 std::make_shared<const model::GangRequest>(Gang(1, 8))});
  world.Tell(JobChanged{job, Change::kHold});
  world.Tell(JobChanged{job, Change::kRelease});
  world.Tell(JobChanged{job, Change::kPriority, 7});
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Advance(base::Minutes(10));
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Queueing, UnknownQueueWaitsUntilAPolicyBringsIt) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(1, 8), "research");
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(job).binding.code, ReasonCode::kUnknownQueue);
  model::Policy policy = FabricPolicy();
  policy.queues.push_back({.name = "research"});
  world.Tell(model::PolicyActivated{policy});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  // And away again: what runs goes on, what comes waits.
  world.Tell(model::PolicyActivated{FabricPolicy()});
  const model::JobId next = world.Submit(Gang(1, 8), "research");
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_TRUE(world.Holds(job));
  EXPECT_EQ(world.Why(next).binding.code, ReasonCode::kUnknownQueue);
  world.Exit(job);
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
}

TEST(Queueing, PolicyMayTurnAQueueStrictAndBack) {
  World world(LevelsPolicy({}));
  world.Add(Fabric(2, 2, 1));
  const model::JobId runs = world.Submit(Gang(1, 8));
  const model::JobId head = world.Submit(Gang(2, 8));
  world.Decide();
  world.Tell(model::PolicyActivated{LevelsPolicy({}, model::Blocking::kStrict)});
  const model::JobId small = world.Submit(Gang(1, 8));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(small).binding, (model::Reason{ReasonCode::kBehindHead, 1}));
  world.Tell(model::PolicyActivated{LevelsPolicy({})});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  EXPECT_TRUE(world.Holds(small));
  EXPECT_TRUE(world.Holds(runs));
  EXPECT_FALSE(world.Holds(head));
}

TEST(Queueing, StrictHeadThatLeavesFreesThoseBehindIt) {
  for (const Change change : {Change::kHold, Change::kCancel, Change::kPriority}) {
    World world(LevelsPolicy({}, model::Blocking::kStrict));
    world.Add(Fabric(2, 2, 1));
    world.Submit(Gang(1, 8));
    const model::JobId head = world.Submit(Gang(2, 8));
    const model::JobId small = world.Submit(Gang(1, 8));
    world.Decide();
    ASSERT_FALSE(world.Holds(small));
    world.Tell(JobChanged{head, change, 1});  // held, cancelled, or behind the small one now
    world.Decide();
    EXPECT_TRUE(world.Holds(small)) << static_cast<int>(change);
  }
}

TEST(Queueing, StrictQueuesBlockThemselvesAndNoOther) {
  model::Policy policy = LevelsPolicy({}, model::Blocking::kStrict);
  policy.queues.push_back({.name = "other", .blocking = model::Blocking::kStrict});
  World world(policy);
  world.Add(Fabric(2, 2, 1));
  world.Submit(Gang(1, 8));
  world.Submit(Gang(2, 8));
  const model::JobId behind = world.Submit(Gang(1, 8));
  const model::JobId beside = world.Submit(Gang(1, 8), "other");
  world.Decide();
  EXPECT_FALSE(world.Holds(behind));
  EXPECT_TRUE(world.Holds(beside));
}

TEST(Queueing, EqualJobsStartInTheOrderOfTheirIds) {
  World world = Four();
  const model::JobId runs = world.Submit(Gang(4, 8));
  world.Decide();
  std::vector<model::JobId> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(world.Submit(Gang(4, i % 2 == 0 ? 8 : 5)));
  std::vector<model::JobId> started;
  model::JobId running = runs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    world.Exit(running);
    for (const auto& decision : world.Decide()) {
      if (const auto* start = std::get_if<StartGang>(&decision))
        started.push_back(running = start->job);
    }
  }
  EXPECT_EQ(started, jobs);
}

TEST(Queueing, ABudgetOfOneUnitTakesTheSameDecisionsInMorePasses) {
  World all = Four();
  World one = Four();
  for (World* world : {&all, &one}) {
    for (int i = 0; i < 12; ++i) world->Submit(Gang(1 + i % 3, 1 + i % 8));
  }
  const auto expected = all.Decide();
  std::vector<model::Decision> taken;
  int passes = 0;
  engine::Pass pass;
  do {
    pass = one.engine.Decide(one.now, {.units = 1});
    EXPECT_LE(pass.decisions.size(), 1u);
    for (auto& decision : pass.decisions) taken.push_back(std::move(decision));
  } while (pass.more && ++passes < 1000);
  EXPECT_GT(passes, 3);
  EXPECT_EQ(BytesOf(taken), BytesOf(expected));
  EXPECT_EQ(one.engine.Snapshot(), all.engine.Snapshot());
}

}  // namespace
}  // namespace muster::test
