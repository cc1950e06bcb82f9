// SPDX-License-Identifier: Apache-2.0
// Why a job is where it is: the binding cause, the counts, the place that comes closest, and what
// will change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::Explanation;
using model::Outcome;
using model::Reason;
using model::ReasonCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = model::JobChanged::Change;

World Eight() {
  World world;
  world.Add(Fabric(8, 4, 2));
  return world;
}

TEST(Explain, UnknownJobs) {
  const World world = Eight();
  for (const std::uint32_t job : {0u, 5u, UINT32_MAX}) EXPECT_FALSE(world.Why({job}).known);
}

TEST(Explain, WhatAJobDoesThatDoesNotWait) {
  World world = Eight();
  const model::JobId job = world.Submit(With(Gang(2, 8), [](auto& r) { r.restart.limit = 1; }));
  const auto cause = [&] {
    const Explanation why = world.Why(job);
    EXPECT_TRUE(why.known);
    EXPECT_FALSE(why.waiting);
    return why.binding.code;
  };
  world.Tell(model::JobChanged{job, Change::kHold});
  EXPECT_EQ(cause(), ReasonCode::kHeldByUser);
  world.Tell(model::JobChanged{job, Change::kRelease});
  world.Decide();
  EXPECT_EQ(cause(), ReasonCode::kPlaced);
  world.Tell(model::TaskExited{job, {1}, {0, 1}, true});
  world.Decide();
  EXPECT_EQ(cause(), ReasonCode::kTaskFailed);
  world.ConfirmStop(job);
  world.Decide();
  EXPECT_EQ(cause(), ReasonCode::kPlaced);
  world.Exit(job);
  world.Decide();
  EXPECT_EQ(cause(), ReasonCode::kCompleted);
}

TEST(Explain, HowEndedJobsEnded) {
  World world = Eight();
  const model::JobId failed = world.Submit(Gang(1, 1));
  const model::JobId cancelled = world.Submit(Gang(1, 1));
  const model::JobId late =
      world.Submit(With(Gang(1, 1), [](auto& r) { r.time_limit = base::Seconds(1); }));
  world.Decide();
  world.Exit(failed, true);
  world.Tell(model::JobChanged{cancelled, Change::kCancel});
  world.Advance(base::Seconds(1));
  world.Decide();
  world.ConfirmStop(cancelled);
  world.ConfirmStop(late);
  world.Decide();
  EXPECT_EQ(world.Why(failed).binding.code, ReasonCode::kTaskFailed);
  EXPECT_EQ(world.Why(cancelled).binding.code, ReasonCode::kCancelled);
  EXPECT_EQ(world.Why(late).binding.code, ReasonCode::kTimeLimit);
}

TEST(Explain, NotNowCountsNodesByCauseMostFirst) {
  World world = Eight();
  world.Submit(Gang(3, 8));  // n0 to n2
  world.Decide();
  world.Tell(model::NodeStateChanged{"n3", model::NodeState::kCordoned});
  world.Tell(model::NodeStateChanged{"n4", model::NodeState::kDown});
  world.Tell(model::HealthReported{"n5", 1});
  model::NodeSpec tainted = Fabric(8, 4, 2)[6];
  tainted.taints = {{"team", "red"}};
  world.Add({tainted});
  const model::JobId job = world.Submit(Gang(3, 8));
  world.Decide();
  const Explanation why = world.Why(job);
  EXPECT_TRUE(why.waiting);
  EXPECT_EQ(why.outcome, Outcome::kNotNow);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kCapacity, 2}));
  EXPECT_EQ(why.group, 0);
  EXPECT_EQ(why.level, "any");
  EXPECT_EQ(why.best_domain, "any");
  EXPECT_EQ(why.wanted, 3);
  EXPECT_EQ(why.have, 1);
  EXPECT_THAT(why.nodes,
              ElementsAre(Reason{ReasonCode::kDevicesBusy, 3}, Reason{ReasonCode::kNodeNotReady, 2},
                          Reason{ReasonCode::kTaintNotTolerated, 1},
                          Reason{ReasonCode::kDevicesFaulty, 1}));
  EXPECT_EQ(why.position, 1);
  EXPECT_EQ(why.ahead, 0);
  EXPECT_EQ(why.next_relax, std::nullopt);
}

TEST(Explain, NamesTheDomainThatComesClosest) {
  World world;
  world.Add(Fabric(12, 4, 3));
  world.Submit(Gang(2, 8));
  world.Decide();
  world.Tell(model::ForeignUsage{"n4", 0xff});
  world.Tell(model::ForeignUsage{"n8", 0x1});
  world.Tell(model::ForeignUsage{"n9", 0x1});
  const model::JobId job = world.Submit(With(Gang(4, 8), [](auto& r) {
    r.topology.required = "leaf";
    r.relax = {{base::Minutes(10), "spine"}};
  }));
  world.Decide();
  const Explanation why = world.Why(job);
  EXPECT_EQ(why.outcome, Outcome::kNotNow);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kTopology, 1}));
  EXPECT_EQ(why.level, "leaf");
  EXPECT_EQ(why.best_domain, "spine0/leaf1");
  EXPECT_EQ(why.wanted, 4);
  EXPECT_EQ(why.have, 3);
  EXPECT_EQ(why.next_relax, base::Instant{} + base::Minutes(10));
}

TEST(Explain, NeverSaysWhatNoWaitingWillChange) {
  struct Case {
    const char* name;
    std::function<void(model::GangRequest&)> change;
    ReasonCode binding;
    std::int64_t missing;
    ReasonCode node;
  };
  const Case cases[] = {
      {"model", [](auto& r) { r.groups[0].shape.models = {"B200"}; }, ReasonCode::kCapacity, 2,
       ReasonCode::kWrongModel},
      {"size", [](auto& r) { r.groups[0].shape.gpu = base::MilliGpu::Of(9000); },
       ReasonCode::kCapacity, 2, ReasonCode::kNodeTooSmall},
      {"label", [](auto& r) { r.groups[0].shape.selector = {{.key = "disk", .values = {"x"}}}; },
       ReasonCode::kCapacity, 2, ReasonCode::kLabelMismatch},
      {"memory", [](auto& r) { r.groups[0].shape.device_memory = base::Bytes::Of(INT64_MAX); },
       ReasonCode::kCapacity, 2, ReasonCode::kDeviceMemoryShort},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = Eight();
    const model::JobId job = world.Submit(With(Gang(2, 4), c.change));
    world.Decide();
    const Explanation why = world.Why(job);
    EXPECT_EQ(why.outcome, Outcome::kNever);
    EXPECT_EQ(why.binding, (Reason{c.binding, c.missing}));
    EXPECT_THAT(why.nodes, ElementsAre(Reason{c.node, 8}));
    EXPECT_EQ(why.have, 0);
  }
}

TEST(Explain, SaysWhichGroupIsShort) {
  World world = Eight();
  model::GangRequest request;
  request.groups = {Group(2, 8, "worker"), Group(3, 0, "server")};
  request.groups[1].shape.cpu = base::MilliCpu::Of(128'001);
  const model::JobId job = world.Submit(request);
  world.Decide();
  const Explanation why = world.Why(job);
  EXPECT_EQ(why.group, 1);
  EXPECT_EQ(why.wanted, 3);
  EXPECT_EQ(why.outcome, Outcome::kNever);
  EXPECT_THAT(why.nodes, ElementsAre(Reason{ReasonCode::kNodeTooSmall, 8}));
}

TEST(Explain, PositionCountsTheOwnQueueAndAheadTheOthers) {
  model::Policy policy = FabricPolicy();
  policy.queues.push_back({.name = "research"});
  World world(policy);
  world.Add(Fabric(8, 4, 2));
  world.Submit(Gang(8, 8));
  world.Decide();
  const model::JobId first = world.Submit(Gang(1, 8), "default", 50);
  const model::JobId other = world.Submit(Gang(1, 8), "research", 100);
  const model::JobId urgent = world.Submit(Gang(1, 8), "default", 200);
  const model::JobId last = world.Submit(Gang(1, 8), "default", 50);
  world.Decide();
  const auto place = [&](model::JobId job) {
    const Explanation why = world.Why(job);
    return std::pair(why.position, why.ahead);
  };
  EXPECT_EQ(place(urgent), std::pair(std::int64_t{1}, std::int64_t{0}));
  EXPECT_EQ(place(other), std::pair(std::int64_t{1}, std::int64_t{1}));
  EXPECT_EQ(place(first), std::pair(std::int64_t{2}, std::int64_t{1}));
  EXPECT_EQ(place(last), std::pair(std::int64_t{3}, std::int64_t{1}));
  // Held jobs and those before their start time stand in nobody's way.
  world.Tell(model::JobChanged{urgent, Change::kHold});
  EXPECT_EQ(place(last), std::pair(std::int64_t{2}, std::int64_t{1}));
}

TEST(Explain, BehindTheHeadOfAStrictQueue) {
  World world(LevelsPolicy({"spine", "leaf"}, model::Blocking::kStrict));
  world.Add(Fabric(2, 2, 1));
  world.Submit(Gang(1, 8));
  world.Submit(Gang(2, 8));
  const model::JobId behind = world.Submit(Gang(1, 8));
  world.Decide();
  const Explanation why = world.Why(behind);
  EXPECT_EQ(why.outcome, Outcome::kPlaced);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kBehindHead, 1}));
  EXPECT_EQ(why.position, 2);
  EXPECT_THAT(why.nodes, IsEmpty());
}

TEST(Explain, WouldStartInTheNextPass) {
  World world = Eight();
  const model::JobId job = world.Submit(Gang(1, 8));
  const Explanation why = world.Why(job);
  EXPECT_EQ(why.outcome, Outcome::kPlaced);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kPlaced, 0}));
}

TEST(Explain, RelaxStepsAreNamedOneAfterTheOther) {
  World world = Eight();
  world.Submit(Gang(8, 8));
  world.Decide();
  const model::JobId job = world.Submit(With(Gang(2, 8), [](auto& r) {
    r.topology.required = "leaf";
    r.relax = {{base::Minutes(10), "spine"}, {base::Minutes(30), "any"}};
  }));
  EXPECT_EQ(world.Why(job).next_relax, base::Instant{} + base::Minutes(10));
  world.Advance(base::Minutes(10));
  world.Decide();
  EXPECT_EQ(world.Why(job).next_relax, base::Instant{} + base::Minutes(30));
  world.Advance(base::Minutes(20));
  world.Decide();
  EXPECT_EQ(world.Why(job).next_relax, std::nullopt);
}

TEST(Explain, ASmallBudgetEndsTheSearchNotTheAnswer) {
  World world;
  world.Add(Fabric(4, 1, 4));
  world.Tell(model::ForeignUsage{"n0", 0xf});
  model::GangRequest request;
  request.groups = {Group(1, 4, "a"), Group(1, 4, "b")};
  request.topology.required = "leaf";
  const model::JobId job = world.Submit(request);
  const engine::View view = world.engine.view();
  EXPECT_EQ(world.engine.Explain(view, job, {}).outcome, Outcome::kPlaced);
  const Explanation cut = world.engine.Explain(view, job, {.units = 1});
  EXPECT_EQ(cut.outcome, Outcome::kSearchEnded);
  EXPECT_EQ(cut.binding, (Reason{ReasonCode::kSearchLimit, 1}));
}

TEST(Explain, ChangesNothing) {
  World world = Eight();
  world.Submit(Gang(5, 8));
  world.Decide();
  model::GangRequest request;
  request.groups = {Group(3, 8, "a"), Group(1, 8, "b")};
  const model::JobId job = world.Submit(request);
  const engine::View view = world.engine.view();
  const auto before = world.engine.Snapshot();
  world.engine.Explain(view, job, {});
  EXPECT_EQ(world.engine.Snapshot(), before);
  EXPECT_EQ(world.engine.Verify(), "");
}

TEST(Explain, AnOldViewKeepsItsAnswerWhileTheEngineGoesOn) {
  World world = Eight();
  const model::JobId runs = world.Submit(Gang(7, 8));
  world.Decide();
  const model::JobId job = world.Submit(Gang(4, 8));
  world.Decide();
  const engine::View old = world.engine.view();
  world.Exit(runs);
  world.Tell(model::NodeGone{"n7"});
  world.Tell(model::PolicyActivated{LevelsPolicy({})});
  world.Decide();
  ASSERT_TRUE(world.Holds(job));
  const Explanation why = world.engine.Explain(old, job, {});
  EXPECT_EQ(why.outcome, Outcome::kNotNow);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kCapacity, 3}));
  EXPECT_EQ(old.level_count(), 4);
  EXPECT_EQ(old.Job(runs).phase, engine::JobPhase::kStarting);
}

TEST(Explain, RunsOnAnotherThreadWhileTheEngineGoesOn) {
  World world = Eight();
  world.Submit(Gang(7, 8));
  world.Decide();
  const model::JobId job = world.Submit(Gang(4, 8));
  world.Decide();
  const Explanation expected = world.Why(job);
  const engine::View view = world.engine.view();
  std::atomic<bool> stop = false;
  std::atomic<int> answers = 0;
  std::atomic<int> wrong = 0;
  std::thread reader([&, view] {
    while (!stop || answers == 0) {
      const Explanation why = world.engine.Explain(view, job, {});
      if (why.binding != expected.binding || why.have != expected.have ||
          why.nodes != expected.nodes)
        ++wrong;
      ++answers;
    }
  });
  for (int round = 0; round < 200; ++round) {
    const model::JobId other = world.Submit(Gang(1, 8));
    world.Decide();
    world.Tell(model::NodeStateChanged{
        "n1", round % 2 == 0 ? model::NodeState::kDown : model::NodeState::kReady});
    world.Decide();
    world.Tell(model::JobChanged{other, Change::kCancel});
    world.Decide();
    world.ConfirmStop(other);
    world.Decide();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answers, 0);
}

}  // namespace
}  // namespace muster::test
