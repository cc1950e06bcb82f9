// SPDX-License-Identifier: Apache-2.0
// Faults that were found by reading or by attack, each with the smallest case that showed it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/capacity/index.h"
#include "engine/placement/place.h"
#include "engine/state/state.h"
#include "model/check_request.h"
#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::JobEnd;
using model::Outcome;
using model::ReasonCode;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Slots were bounded by 65,535 a node and summed in 32 bits: above 32,768 nodes the sum wrapped.
TEST(Regression, RoomOfManyNodesForTinyReplicasDoesNotOverflow) {
  engine::State state;
  for (int i = 0; i < 40'000; ++i) {
    model::NodeSpec spec;
    spec.name = std::to_string(i);
    spec.cpu = base::MilliCpu::Of(128'000);
    state.PutNode(spec);
  }
  state.RefreshTopology();
  engine::CapacityIndex index(state);
  model::ReplicaShape tiny;
  tiny.cpu = base::MilliCpu::Of(1);
  const engine::Profile& room =
      index.Get(index.Intern(tiny, model::ResourceDefault::kProportional, {}));
  EXPECT_GT(room.Total(), 40'000);
}

// Deadlines came before facts: a job that ended in the batch of its time limit was said to have
// overrun it.
TEST(Regression, WhatEndsWellAtItsTimeLimitHasEndedWell) {
  World world;
  world.Add({GpuNode("n0")});
  model::GangRequest request = Gang(1, 8);
  request.time_limit = base::Minutes(5);
  request.completion.kind = model::Completion::Kind::kRank0;
  request.groups.push_back(Group(1, 0, "helper"));
  const model::JobId job = world.Submit(request);
  world.Decide();
  world.Advance(base::Minutes(5));
  world.Tell(model::TaskExited{job, world.Job(job).attempt, {0, 1}, false});
  world.Decide();
  world.ConfirmStop(job);
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kCompleted);
}

// Every failed job was explained by a failed task, also where a node was lost.
TEST(Regression, AJobThatALostNodeEndedSaysSo) {
  World world;
  world.Add({GpuNode("n0")});
  model::GangRequest request = Gang(1, 8);
  request.restart.on_node_loss = false;
  const model::JobId job = world.Submit(request);
  world.Decide();
  world.Tell(model::NodeGone{"n0"});
  world.Decide();
  EXPECT_EQ(world.Job(job).phase, JobPhase::kEnded);
  EXPECT_EQ(world.Why(job).binding.code, ReasonCode::kNodeLost);
}

// A relax step replaced the constraint even where it was the stricter one.
TEST(Regression, RelaxingNeverTightens) {
  World world;
  world.Add(Fabric(4, 2, 2));
  world.Submit(Gang(1, 8));
  world.Submit(Gang(1, 8));  // the first leaf is full
  model::GangRequest request = Gang(2, 8);
  request.topology.required = "leaf";
  request.relax = {{base::Minutes(1), "node"}};
  world.Decide();
  world.Tell(model::NodeStateChanged{"n2", model::NodeState::kCordoned});
  const model::JobId job = world.Submit(request);
  world.Decide();
  world.Advance(base::Minutes(2));
  world.Decide();
  EXPECT_FALSE(world.Holds(job));
  world.Tell(model::NodeStateChanged{"n2", model::NodeState::kReady});
  world.Decide();
  EXPECT_TRUE(world.Holds(job));
}

// Undoing a trial looked like new room: two blocked jobs of several groups woke each other in every
// pass.
TEST(Regression, TrialsAreNoNews) {
  engine::State state;
  for (const model::NodeSpec& spec : Fabric(4, 2, 2)) state.PutNode(spec);
  state.RefreshTopology();
  engine::CapacityIndex index(state);
  model::GangRequest request = Gang(4, 8);
  request.groups.push_back(Group(1, 8, "second"));  // five nodes on four
  const engine::GangPlan plan = engine::PlanGang(request, state, index);
  engine::Planner planner{.state = state,
                          .index = index,
                          .strategy = engine::Strategies().front(),
                          .rng = base::Rng(1)};
  const engine::ProfileId watched = plan.groups[0].variants[0];
  const std::uint64_t before = index.Get(watched).growth();
  EXPECT_EQ(engine::PlaceGang(planner, plan, plan.required).outcome, Outcome::kSearchEnded);
  EXPECT_EQ(index.Get(watched).growth(), before);
}

// The same node told again made everything be looked at anew.
TEST(Regression, ANodeSeenUnchangedChangesNothing) {
  World world;
  world.Add(Fabric(4, 2, 2));
  world.Decide();
  const auto snapshot = world.engine.Snapshot();
  world.Add(Fabric(4, 2, 2));
  EXPECT_EQ(world.engine.Snapshot(), snapshot);
  EXPECT_EQ(world.engine.Decide(world.now, {}).work, 0);
}

TEST(Regression, ANodeThatComesBackHasNoOldFaults) {
  World world;
  world.Add({GpuNode("n0")});
  world.Tell(model::HealthReported{"n0", 0xff});
  world.Tell(model::NodeGone{"n0"});
  world.Add({GpuNode("n0")});
  const model::JobId job = world.Submit(Gang(1, 8));
  world.Decide();
  EXPECT_TRUE(world.Holds(job));
}

// Jobs that ended before their chunk was old enough were kept for ever if the table grew by a
// burst.
TEST(Regression, JobsAreForgottenAlsoAfterABurst) {
  engine::Engine engine(FabricPolicy(), 1);
  engine.Apply({{}, model::NodeSeen{GpuNode("n0")}});
  const auto request = std::make_shared<const model::GangRequest>(Gang(1, 1));
  const auto submit = [&](std::uint32_t id) {
    engine.Apply({{}, model::JobSubmitted{model::JobId{id}, "default", "ana", 100, {}, request}});
  };
  const auto end = [&](std::uint32_t id) {
    engine.Decide({}, {});
    engine.Apply({{}, model::TaskExited{model::JobId{id}, model::Attempt{1}, {0, 1}, false}});
    engine.Decide({}, {});
  };
  for (std::uint32_t id = 0; id < 1024; ++id) {
    submit(id);
    end(id);
  }
  const std::uint32_t burst = 1024 + engine::kKeptJobs + 700;
  for (std::uint32_t id = 1024; id < burst; ++id) submit(id);
  end(1024);
  for (const std::uint32_t id : {0u, 300u, 600u, 1000u}) {
    EXPECT_EQ(engine.view().Job(model::JobId{id}).phase, JobPhase::kUnknown) << id;
  }
}

// A launcher beside workers in segments was refused, since 1 is no multiple of 16.
TEST(Regression, AGroupSmallerThanASegmentIsOneShortRun) {
  World world;
  world.Add(Fabric(8, 4, 2));
  model::GangRequest request = Gang(4, 8);
  request.groups.push_back(Group(3, 1, "launcher"));
  request.topology.segments = {{4, "leaf"}};
  EXPECT_THAT(model::CheckRequest(request), IsEmpty());
  world.Submit(
      Gang(1, 6));  // two GPUs are left on n0: no leaf has three one-GPU places but the free ones
  const model::JobId job = world.Submit(request);
  world.Decide();
  ASSERT_TRUE(world.Holds(job));
  const std::vector<std::string> nodes = world.NodesOf(job);
  ASSERT_THAT(nodes, SizeIs(7));
  const engine::View view = world.engine.view();
  const auto& ranks = view.Job(job).placement->ranks;
  for (std::size_t rank = 5; rank < 7; ++rank) {
    EXPECT_EQ(view.DomainOf(ranks[rank].node, 1), view.DomainOf(ranks[4].node, 1));
  }
}

// A search that found nothing for one head was held against the next one, which draws another lot.
TEST(Regression, AnUnprovedVerdictIsTheHeadsAlone) {
  World world;
  world.Add(Fabric(4, 2, 2));
  model::GangRequest request = Gang(4, 8);
  request.groups.push_back(Group(1, 8, "second"));
  world.Submit(request);
  world.Decide();
  world.Decide();  // takes note of what the trials left behind
  EXPECT_EQ(world.engine.Decide(world.now, {}).work, 0) << "nothing has changed";
  world.Submit(request, "default", 200);  // a new head of the same class
  EXPECT_GT(world.engine.Decide(world.now, {}).work, 0);
}

}  // namespace
}  // namespace muster::test
