// SPDX-License-Identifier: Apache-2.0
// The engine through its face: starts, ends, waiting, outcomes.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/state/state.h"
#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::Outcome;
using model::ReasonCode;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(Engine, StartsAGangInOneDecisionWithAllItsDevices) {
  World world;
  world.Add(Fabric(8, 4, 2));
  const model::JobId job = world.Submit(Gang(4, 8));
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  const auto& start = std::get<model::StartGang>(decisions.front());
  EXPECT_EQ(start.job, job);
  EXPECT_EQ(start.attempt.value, 1u);
  EXPECT_EQ(start.placement->level, 1);  // one leaf
  EXPECT_THAT(world.NodesOf(job), ElementsAre("n0", "n1", "n2", "n3"));
  for (const auto& rank : start.placement->ranks) {
    EXPECT_EQ(rank.devices, 0xffu);
    EXPECT_EQ(rank.cpu, base::MilliCpu::Of(128'000));  // the node's share for 8 of 8 GPUs
  }
  EXPECT_EQ(world.Job(job).phase, JobPhase::kStarting);
}

TEST(Engine, ANotFittingGangWaitsAndStartsWhenRoomComes) {
  World world;
  world.Add(Fabric(4, 4, 2));
  const model::JobId first = world.Submit(Gang(3, 8));
  const model::JobId second = world.Submit(Gang(2, 8));
  world.Decide();
  EXPECT_TRUE(world.Holds(first));
  EXPECT_FALSE(world.Holds(second));
  const engine::Explanation why = world.Why(second);
  EXPECT_EQ(why.outcome, Outcome::kNotNow);
  EXPECT_EQ(why.binding, (model::Reason{ReasonCode::kCapacity, 1}));
  EXPECT_THAT(why.nodes, ElementsAre(model::Reason{ReasonCode::kDevicesBusy, 3}));
  EXPECT_TRUE(world.Decide().empty());
  world.Exit(first);
  world.Decide();
  EXPECT_EQ(world.Job(first).phase, JobPhase::kEnded);
  EXPECT_TRUE(world.Holds(second));
}

TEST(Engine, StrictQueueKeepsLaterJobsBehindTheHead) {
  for (const auto blocking : {model::Blocking::kStrict, model::Blocking::kBypass}) {
    model::Policy policy = FabricPolicy();
    policy.queues.front().blocking = blocking;
    World world(policy);
    world.Add(Fabric(2, 2, 1));
    world.Submit(Gang(1, 8));
    const model::JobId head = world.Submit(Gang(2, 8));
    const model::JobId small = world.Submit(Gang(1, 4));
    world.Decide();
    EXPECT_FALSE(world.Holds(head));
    EXPECT_EQ(world.Holds(small), blocking == model::Blocking::kBypass);
  }
}

TEST(Engine, AJobThatCanNeverFitBlocksNobody) {
  model::Policy policy = FabricPolicy();
  policy.queues.front().blocking = model::Blocking::kStrict;
  World world(policy);
  world.Add(Fabric(2, 2, 1));
  const model::JobId huge = world.Submit(Gang(3, 8));
  const model::JobId small = world.Submit(Gang(1, 8));
  world.Decide();
  EXPECT_TRUE(world.Holds(small));
  EXPECT_EQ(world.Why(huge).outcome, Outcome::kNever);
  // A third node makes it possible; until the small one ends it waits.
  world.Add({GpuNode("n2")});
  world.Decide();
  EXPECT_EQ(world.Why(huge).outcome, Outcome::kNotNow);
  world.Exit(small);
  world.Decide();
  EXPECT_TRUE(world.Holds(huge));
}

TEST(Engine, LostNodeBreaksTheGangAndRequeuesIt) {
  World world;
  world.Add(Fabric(4, 4, 2));
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  world.Tell(model::NodeGone{"n0"});
  auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<model::StopGang>(decisions[0]).reason.code, ReasonCode::kNodeLost);
  world.ConfirmStop(job);
  decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<model::RequeueJob>(decisions[0]));
  EXPECT_EQ(std::get<model::StartGang>(decisions[1]).attempt.value, 2u);
  EXPECT_THAT(world.NodesOf(job), ElementsAre("n1", "n2"));
}

TEST(Engine, ForgetsJobsThatEndedLongAgo) {
  engine::Engine engine(FabricPolicy(), 1);
  engine.Apply({{}, model::NodeSeen{GpuNode("n0")}});
  const auto request = std::make_shared<const model::GangRequest>(Gang(1, 1));
  const auto submit = [&](std::uint32_t id) {
    engine.Apply({{}, model::JobSubmitted{model::JobId{id}, "default", "ana", 100, {}, request}});
    return engine.Decide({}, {}).decisions.size();
  };
  const std::uint32_t count = engine::kKeptJobs + 1024;
  for (std::uint32_t id = 0; id < count; ++id) {
    ASSERT_EQ(submit(id), 1u);
    if (id == 300) continue;  // still runs: its chunk must stay
    engine.Apply({{}, model::TaskExited{model::JobId{id}, model::Attempt{1}, {0, 1}, false}});
    ASSERT_EQ(engine.Decide({}, {}).decisions.size(), 1u);
  }
  const auto phase = [&](std::uint32_t id) { return engine.view().Job(model::JobId{id}).phase; };
  EXPECT_EQ(phase(0), JobPhase::kUnknown);
  EXPECT_EQ(phase(300), JobPhase::kStarting);
  EXPECT_EQ(phase(301), JobPhase::kEnded);
  EXPECT_EQ(phase(600), JobPhase::kUnknown);
  EXPECT_EQ(phase(count - 1), JobPhase::kEnded);
  EXPECT_EQ(submit(0), 0u) << "a late copy of a forgotten submission is no new job";
  const auto restored = engine::Engine::Restore(engine.Snapshot());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->Snapshot(), engine.Snapshot());
  engine.Apply({{}, model::TaskExited{model::JobId{300}, model::Attempt{1}, {0, 1}, false}});
  engine.Decide({}, {});
  EXPECT_EQ(phase(300), JobPhase::kUnknown);
  EXPECT_EQ(engine.Verify(), "");
}

TEST(Engine, SnapshotRestoresTheSameState) {
  World world;
  world.Add(Fabric(8, 4, 2));
  for (int i = 1; i <= 6; ++i) world.Submit(Gang(i % 3 + 1, 8));
  world.Decide();
  const auto snapshot = world.engine.Snapshot();
  auto restored = engine::Engine::Restore(snapshot);
  ASSERT_TRUE(restored.has_value()) << restored.error().ToString();
  EXPECT_EQ(restored->Snapshot(), snapshot);
  EXPECT_EQ(restored->Verify(), "");
}

}  // namespace
}  // namespace muster::test
