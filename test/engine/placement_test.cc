// SPDX-License-Identifier: Apache-2.0
// Placement through the engine's face: what the golden files (test/golden/placement_*.txt) do not
// show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "engine/placement/strategy.h"
#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::Outcome;
using model::Reason;
using model::ReasonCode;
using model::StartGang;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Of the job's place; -1 if it has none.
int LevelOf(const World& world, model::JobId job) {
  const auto placement = world.Job(job).placement;
  return placement == nullptr ? -1 : int{placement->level};
}

/// Takes `gpus` devices of one node, for good.
void Load(World& world, const std::string& node, int gpus) {
  const model::DeviceMask mask = (model::DeviceMask{1} << gpus) - 1;
  world.Tell(model::ForeignUsage{node, mask});
}

TEST(Placement, LowestLevelThatHoldsTheGang) {
  struct Case {
    int replicas;
    int gpus;
    int level;
  };
  for (const Case& c : {Case{8, 1, 0}, Case{2, 8, 1}, Case{9, 4, 2}, Case{16, 8, 3}}) {
    World world;
    world.Add(Fabric(16, 4, 2));  // 2 spines x 2 leaves x 4 nodes
    const model::JobId job = world.Submit(Gang(c.replicas, c.gpus));
    world.Decide();
    ASSERT_TRUE(world.Holds(job));
    EXPECT_EQ(LevelOf(world, job), c.level) << c.replicas << "x" << c.gpus;
  }
}

TEST(Placement, TightestNodeThenTightestLeaf) {
  World world;
  world.Add(Fabric(8, 2, 2));
  Load(world, "n1", 4);
  Load(world, "n5", 6);
  Load(world, "n6", 5);
  const model::JobId two = world.Submit(Gang(1, 2));
  const model::JobId three = world.Submit(Gang(1, 3));
  const model::JobId leaf =
      world.Submit(Gang(2, 4));  // on n1, whose 4 are left, and n0? leaf0 has 12 free
  world.Decide();
  EXPECT_THAT(world.NodesOf(two), ElementsAre("n5"));
  EXPECT_THAT(world.NodesOf(three), ElementsAre("n6"));
  EXPECT_EQ(LevelOf(world, leaf), 0);
}

TEST(Placement, ALargeDomainIsKeptWholeForALargeJob) {
  World world;
  world.Add(Fabric(12, 4, 3));
  Load(world, "n0", 8);
  Load(world, "n5", 8);  // leaf0 and leaf1 have three nodes left, leaf2 four
  const model::JobId pair = world.Submit(Gang(2, 8));
  const model::JobId four = world.Submit(Gang(4, 8));
  world.Decide();
  EXPECT_EQ(LevelOf(world, four), 1);
  EXPECT_THAT(world.NodesOf(four), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_EQ(LevelOf(world, pair), 1);
}

TEST(Placement, FewestChildrenWithSmallOnesFirst) {
  World world;
  world.Add(Fabric(8, 8, 1));
  Load(world, "n0", 2);
  Load(world, "n1", 6);
  Load(world, "n2", 4);
  // 18 devices: three nodes at least; the smallest that still let two others finish.
  const model::JobId job = world.Submit(Gang(18, 1));
  world.Decide();
  const auto nodes = world.NodesOf(job);
  EXPECT_EQ(std::set<std::string>(nodes.begin(), nodes.end()),
            (std::set<std::string>{"n1", "n3", "n4"}));
}

TEST(Placement, RanksAreInTopologyOrderAndDevicesInOrderWithinANode) {
  World world;
  world.Add(Fabric(4, 2, 1));
  const model::JobId job = world.Submit(Gang(8, 3));
  world.Decide();
  EXPECT_THAT(world.NodesOf(job), ElementsAre("n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"));
  EXPECT_THAT(world.DevicesOf(job),
              ElementsAre(0x07u, 0x38u, 0x07u, 0x38u, 0x07u, 0x38u, 0x07u, 0x38u));
}

TEST(Placement, RequiredIsKeptAndPreferredIsNot) {
  World world;
  world.Add(Fabric(8, 2, 2));
  const auto ask = [&](const char* required, const char* preferred) {
    return world.Submit(With(Gang(3, 8), [&](auto& r) {
      r.topology.required = required;
      r.topology.preferred = preferred;
    }));
  };
  const model::JobId required = ask("leaf", "");
  const model::JobId preferred = ask("", "leaf");
  world.Decide();
  EXPECT_FALSE(world.Holds(required));
  EXPECT_EQ(world.Why(required).outcome, Outcome::kNever);
  EXPECT_EQ(world.Why(required).binding, (Reason{ReasonCode::kTopology, 1}));
  EXPECT_EQ(LevelOf(world, preferred), 2);
}

TEST(Placement, RequiredNodeTakesAllReplicasOnOneNode) {
  World world;
  world.Add(Fabric(2, 2, 1));
  Load(world, "n0", 5);
  const auto node = [](auto& r) { r.topology.required = "node"; };
  const model::JobId job = world.Submit(With(Gang(4, 1), node));
  const model::JobId next = world.Submit(With(Gang(5, 1), node));
  world.Decide();
  EXPECT_THAT(world.NodesOf(job), ElementsAre("n1", "n1", "n1", "n1"));
  EXPECT_EQ(world.Why(next).binding, (Reason{ReasonCode::kTopology, 1}));
}

TEST(Placement, UnknownLevelsAreNeverPlacedAndNamed) {
  const std::function<void(model::GangRequest&)> cases[] = {
      [](auto& r) { r.topology.required = "rack"; },
      [](auto& r) { r.topology.preferred = "rack"; },
      [](auto& r) {
        r.topology.segments = {{1, "rack"}};
      },
      [](auto& r) {
        r.topology.spread = model::Spread{"rack", 1};
      },
      [](auto& r) { r.topology.anti_affinity = "rack"; },
      [](auto& r) {
        r.relax = {{base::Minutes(1), "rack"}};
      },
  };
  World world;
  world.Add(Fabric(2, 2, 1));
  for (const auto& change : cases) {
    const model::JobId job = world.Submit(With(Gang(1, 1), change));
    world.Decide();
    EXPECT_FALSE(world.Holds(job));
    EXPECT_EQ(world.Why(job).outcome, Outcome::kNever);
    EXPECT_EQ(world.Why(job).binding.code, ReasonCode::kUnknownLevel);
    world.Tell(model::PolicyActivated{LevelsPolicy({"rack"})});
    world.Decide();
    EXPECT_TRUE(world.Holds(job)) << "the level has come";
    world.Exit(job);
    world.Tell(model::PolicyActivated{FabricPolicy()});
    world.Decide();
  }
}

TEST(Placement, SegmentsAreNotTornAndMayLeaveRoomUnused) {
  World world;
  world.Add(Fabric(6, 3, 2));
  const auto segment = [](auto& r) { r.topology.segments = {{2, "leaf"}}; };
  const model::JobId six = world.Submit(With(Gang(6, 8), segment));
  const model::JobId four = world.Submit(With(Gang(4, 8), segment));
  world.Decide();
  EXPECT_FALSE(world.Holds(six));
  EXPECT_EQ(world.Why(six).binding.code, ReasonCode::kSegment);
  EXPECT_THAT(world.NodesOf(four), ElementsAre("n0", "n1", "n3", "n4"));
}

TEST(Placement, SegmentsNest) {
  World world(LevelsPolicy({"spine", "leaf", "rack"}));
  for (int i = 0; i < 16; ++i) {
    world.Add({GpuNode(base::Format("n{}", i), 8,
                       {{"leaf", base::Format("l{}", i / 4)},
                        {"rack", base::Format("r{}", i / 2)},
                        {"spine", base::Format("s{}", i / 8)}})});
  }
  Load(world, "n1", 8);  // rack r0 has one node left, leaf l0 three
  const model::JobId job = world.Submit(With(Gang(8, 8), [](auto& r) {
    r.topology.segments = {{2, "rack"}, {4, "leaf"}};
  }));
  world.Decide();
  EXPECT_THAT(world.NodesOf(job),
              ElementsAre("n8", "n9", "n10", "n11", "n12", "n13", "n14", "n15"));
}

TEST(Placement, AntiAffinityKeepsReplicasApartAtEveryLevelAndStrategy) {
  for (const engine::Strategy* strategy :
       {engine::FindStrategy("topology"), engine::FindStrategy("first-fit"),
        engine::FindStrategy("spread"), engine::FindStrategy("random")}) {
    for (const char* level : {"node", "leaf", "spine"}) {
      SCOPED_TRACE(level);
      model::Policy policy = FabricPolicy();
      policy.placement.strategy = strategy->name;
      World world(policy);
      world.Add(Fabric(12, 2, 2));  // 3 spines, 6 leaves
      const model::JobId three =
          world.Submit(With(Gang(3, 1), [&](auto& r) { r.topology.anti_affinity = level; }));
      world.Decide();
      ASSERT_TRUE(world.Holds(three));
      const engine::View view = world.engine.view();
      std::set<std::uint32_t> domains;
      const int index = std::string_view(level) == "node"   ? 0
                        : std::string_view(level) == "leaf" ? 1
                                                            : 2;
      for (const auto& rank : world.RanksOf(three)) domains.insert(view.DomainOf(rank.node, index));
      EXPECT_EQ(domains.size(), 3u) << strategy->name;
    }
  }
}

TEST(Placement, AntiAffinityIsNamedWhereDomainsAreTooFew) {
  World world;
  world.Add(Fabric(4, 2, 1));
  for (const auto& [level, replicas] : {std::pair{"node", 5}, std::pair{"leaf", 3}}) {
    const model::JobId job =
        world.Submit(With(Gang(replicas, 1), [&](auto& r) { r.topology.anti_affinity = level; }));
    world.Decide();
    EXPECT_FALSE(world.Holds(job));
    EXPECT_EQ(world.Why(job).outcome, Outcome::kNever);
    EXPECT_EQ(world.Why(job).binding, (Reason{ReasonCode::kAntiAffinity, 1}));
  }
}

TEST(Placement, SpreadBalancesAndCountsDomainsWithoutRoom) {
  World world;
  world.Add(Fabric(6, 2, 3));
  const auto spread = [](auto& r) { r.topology.spread = model::Spread{"leaf", 1}; };
  const model::JobId seven = world.Submit(With(Gang(7, 2), spread));
  world.Decide();
  ASSERT_TRUE(world.Holds(seven));
  std::map<std::uint32_t, int> counts;
  for (const auto& rank : world.RanksOf(seven)) {
    ++counts[world.engine.view().DomainOf(rank.node, 1)];
  }
  EXPECT_EQ(counts, (std::map<std::uint32_t, int>{{0, 3}, {1, 2}, {2, 2}}));
  world.Exit(seven);
  Load(world, "n0", 8);
  Load(world, "n1", 8);  // the first leaf is full: the others may have one more than its none
  const model::JobId three = world.Submit(With(Gang(3, 2), spread));
  const model::JobId two = world.Submit(With(Gang(2, 2), spread));
  world.Decide();
  EXPECT_EQ(world.Why(three).binding.code, ReasonCode::kSpread);
  EXPECT_EQ(world.Why(three).outcome, Outcome::kNotNow);
  EXPECT_TRUE(world.Holds(two));
}

TEST(Placement, SeveralGroupsStartInOneTransactionOrNotAtAll) {
  World world;
  world.Add(Fabric(4, 4, 1));
  model::GangRequest request;
  request.groups = {Group(3, 8, "worker"), Group(2, 0, "server"), Group(1, 8, "eval")};
  request.groups[1].shape.cpu = base::MilliCpu::Of(64'000);
  const model::JobId job = world.Submit(request);
  EXPECT_THAT(world.Decide(), IsEmpty());  // the workers and eval take every CPU
  EXPECT_EQ(world.Why(job).binding.code, ReasonCode::kTogether);
  EXPECT_EQ(world.Why(job).outcome, Outcome::kSearchEnded);
  EXPECT_EQ(world.engine.view().Devices()[0], 32);
  world.Add({GpuNode("extra", 0, {{"leaf", "leaf0"}, {"spine", "spine0"}})});
  EXPECT_THAT(world.Decide(), SizeIs(1));
  EXPECT_THAT(world.Job(job).placement->group_sizes, ElementsAre(3, 2, 1));
  EXPECT_EQ(world.NodesOf(job)[3], "extra");
  EXPECT_EQ(world.NodesOf(job)[4], "extra");
}

TEST(Placement, GroupsThatFitAnyNodeAloneFindALeafInALargeCluster) {
  // Each group fits each of 100 nodes, both fit none: more dead ends on the node level than the
  // search tries in all.
  World world;
  world.Add(Fabric(100, 10, 5));
  model::GangRequest request;
  request.groups = {Group(1, 8, "trainer"), Group(1, 8, "eval")};
  const model::JobId job = world.Submit(request);
  world.Decide();
  ASSERT_TRUE(world.Holds(job));
  EXPECT_EQ(LevelOf(world, job), 1);
}

TEST(Placement, SearchLimitEndsTheSearchWithoutAProof) {
  model::Policy policy = FabricPolicy();
  policy.placement.search_limit = 1;
  World world(policy);
  world.Add(Fabric(4, 1, 4));
  Load(world, "n0", 4);
  model::GangRequest request;
  request.groups = {Group(1, 4, "a"), Group(1, 4, "b")};
  request.topology.required = "leaf";
  const model::JobId job = world.Submit(request);
  world.Decide();
  EXPECT_FALSE(world.Holds(job));  // only the tightest leaf was tried
  EXPECT_EQ(world.Why(job).outcome, Outcome::kSearchEnded);
  EXPECT_EQ(world.Why(job).binding, (Reason{ReasonCode::kSearchLimit, 1}));
  Load(world, "n0", 0);
  world.Decide();
  EXPECT_TRUE(world.Holds(job));
}

TEST(Placement, ElasticGangsStartAtTheLargestSizeInSteps) {
  struct Case {
    const char* name;
    int free;
    int min;
    int step;
    int max;
    int size;  ///< 0: waits
  };
  for (const Case& c :
       {Case{"all", 8, 2, 2, 8, 8}, Case{"last step is shorter", 8, 3, 2, 6, 6},
        Case{"steps from the minimum", 6, 3, 2, 8, 5}, Case{"minimum", 3, 3, 4, 8, 3},
        Case{"one short", 2, 3, 1, 8, 0}, Case{"one more than the minimum", 4, 3, 1, 8, 4}}) {
    SCOPED_TRACE(c.name);
    World world;
    world.Add(Fabric(8, 8, 1));
    for (int n = c.free; n < 8; ++n) Load(world, base::Format("n{}", n), 8);
    const model::JobId job = world.Submit(With(Gang(c.max, 8), [&](auto& r) {
      r.groups[0].min_replicas = c.min;
      r.groups[0].step = c.step;
    }));
    world.Decide();
    ASSERT_EQ(world.Holds(job), c.size > 0);
    if (c.size > 0) {
      EXPECT_THAT(world.RanksOf(job), SizeIs(static_cast<std::size_t>(c.size)));
    }
  }
}

TEST(Placement, SeveralElasticGroupsGrowOneAfterTheOther) {
  World world;
  world.Add(Fabric(5, 5, 1));
  model::GangRequest request;
  request.groups = {Group(3, 8, "a"), Group(3, 8, "b")};
  for (auto& group : request.groups) group.min_replicas = 1;
  const model::JobId job = world.Submit(request);
  world.Decide();
  ASSERT_TRUE(world.Holds(job));
  EXPECT_THAT(world.Job(job).placement->group_sizes, ElementsAre(3, 2));
}

TEST(Placement, RelaxStepsComeDueByTime) {
  World world;
  world.Add(Fabric(8, 2, 2));
  const model::JobId job = world.Submit(With(Gang(5, 8), [](auto& r) {
    r.topology.required = "leaf";
    r.relax = {{base::Minutes(10), "spine"}, {base::Minutes(30), "any"}};
  }));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(job).outcome, Outcome::kNotNow);  // not never: it will be relaxed
  ASSERT_EQ(world.engine.NextDeadline(), base::Instant{} + base::Minutes(10));
  EXPECT_EQ(world.Why(job).next_relax, base::Instant{} + base::Minutes(10));
  world.Advance(base::Minutes(10));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Why(job).level, "spine");
  ASSERT_EQ(world.engine.NextDeadline(), base::Instant{} + base::Minutes(30));
  world.Advance(base::Minutes(20) - base::Microseconds(1));
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Advance(base::Microseconds(1));
  EXPECT_THAT(world.Decide(), SizeIs(1));
  EXPECT_EQ(LevelOf(world, job), 3);
}

TEST(Placement, WaitingTimeBeforeAStartTimeCountsForRelaxing) {
  World world;
  world.Add(Fabric(4, 2, 2));
  const model::JobId job{1};
  world.Tell(
      model::JobSubmitted{job, "default", "ana", 100, base::Minutes(20),
                          std::make_shared<const model::GangRequest>(With(Gang(3, 8), [](auto& r) {
                            r.topology.required = "leaf";
                            r.relax = {{base::Minutes(10), "spine"}};
                          }))});
  world.Decide();
  world.Advance(base::Minutes(20));
  EXPECT_THAT(world.Decide(), SizeIs(1));
}

TEST(Placement, RelaxingNeverLeavesTheFabric) {
  model::Policy policy = FabricPolicy();
  policy.topology.fabric = "spine";
  World world(policy);
  world.Add(Fabric(8, 2, 2));
  const auto relaxed = [](auto& r) {
    r.topology.required = "leaf";
    r.relax = {{base::Minutes(1), "any"}};
  };
  const model::JobId five = world.Submit(With(Gang(5, 8), relaxed));
  const model::JobId three = world.Submit(With(Gang(3, 8), relaxed));
  world.Decide();
  world.Advance(base::Minutes(1));
  world.Decide();
  EXPECT_FALSE(world.Holds(five));
  EXPECT_EQ(world.Why(five).outcome, Outcome::kNever);
  EXPECT_EQ(world.Why(five).binding, (Reason{ReasonCode::kFabric, 1}));
  EXPECT_EQ(LevelOf(world, three), 2);
}

}  // namespace
}  // namespace muster::test
