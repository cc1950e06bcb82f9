// SPDX-License-Identifier: Apache-2.0
// What every placement strategy and every queue order must keep. A new row of either table is
// tested by itself.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/placement/strategy.h"
#include "engine/queueing/orders.h"
#include "test/engine/builders.h"
#include "test/engine/random_case.h"
#include "test/engine/reference.h"

namespace muster::test {
namespace {

using engine::Pick;
using engine::QueueOrder;
using engine::Strategy;
using Rooms = std::vector<std::int32_t>;

std::string AsName(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

class StrategyTest : public testing::TestWithParam<Strategy> {
 protected:
  /// Random rooms, every one a multiple of `unit`, and a need that they can meet.
  struct Case {
    Rooms rooms;
    std::int32_t need = 0;
  };
  static Case DrawRooms(base::Rng& rng, std::int32_t unit) {
    Case c;
    const auto children =
        1 + rng.Below(rng.Below(4) == 0 ? 200 : 9);  // many are sorted another way
    for (std::uint64_t i = 0; i < children; ++i) {
      c.rooms.push_back(unit * static_cast<std::int32_t>(rng.Below(5)));
    }
    const std::int32_t total = std::accumulate(c.rooms.begin(), c.rooms.end(), 0) / unit;
    if (total > 0)
      c.need = unit * static_cast<std::int32_t>(1 + rng.Below(static_cast<std::uint64_t>(total)));
    return c;
  }
};

TEST_P(StrategyTest, IsFoundByItsNameAndSaysWhatItIs) {
  const Strategy* found = engine::FindStrategy(GetParam().name);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->choose_children, GetParam().choose_children);
  EXPECT_FALSE(GetParam().summary.empty());
}

TEST_P(StrategyTest, ChildrenCarryExactlyTheNeedAndNoneMoreThanItsRoom) {
  base::Rng rng(11);
  for (int round = 0; round < 2000; ++round) {
    const std::int32_t unit = 1 + round % 3;
    const Case c = DrawRooms(rng, unit);
    SCOPED_TRACE(round);
    if (c.need == 0) continue;
    base::Rng lot(static_cast<std::uint64_t>(round));
    const std::vector<Pick> picks = GetParam().choose_children(c.rooms, c.need, lot);
    std::int32_t sum = 0;
    int partly = 0;
    std::set<std::uint32_t> children;
    for (const Pick& pick : picks) {
      ASSERT_LT(pick.child, c.rooms.size());
      ASSERT_TRUE(children.insert(pick.child).second) << "one child twice";
      ASSERT_GT(pick.replicas, 0);
      ASSERT_LE(pick.replicas, c.rooms[pick.child]);
      ASSERT_EQ(pick.replicas % unit, 0) << "a segment is torn";
      if (pick.replicas < c.rooms[pick.child]) ++partly;
      sum += pick.replicas;
    }
    ASSERT_EQ(sum, c.need);
    ASSERT_LE(partly, 1);
    base::Rng same_lot(static_cast<std::uint64_t>(round));
    ASSERT_EQ(GetParam().choose_children(c.rooms, c.need, same_lot), picks);
  }
}

TEST_P(StrategyTest, ChosenDomainHasTheRoom) {
  base::Rng rng(12);
  for (int round = 0; round < 2000; ++round) {
    const Rooms rooms = DrawRooms(rng, 1).rooms;
    const std::int32_t most = *std::ranges::max_element(rooms);
    for (std::int32_t need = 1; need <= most; ++need) {
      base::Rng lot(static_cast<std::uint64_t>(round));
      const std::uint32_t chosen = GetParam().choose_domain(rooms, need, lot);
      ASSERT_LT(chosen, rooms.size());
      ASSERT_GE(rooms[chosen], need);
    }
  }
}

TEST_P(StrategyTest, GangsOnAClusterConserveCapacityAndKeepEveryRule) {
  const std::string name(GetParam().name);
  EXPECT_TRUE(rc::check(name, [&name] {
    RandomCase c = DrawCase(name);
    for (int jobs = 0; jobs < 4; ++jobs) {
      model::GangRequest request = Gang(2 * (1 + Draw(5)), 1);
      request.groups[0].shape = DrawShape();
      request.topology.required = DrawLevel(c);
      if (DrawOneIn(3)) request.topology.segments = {{2, "leaf"}};
      if (DrawOneIn(4)) request.topology.anti_affinity = DrawLevel(c);
      const engine::View before = c.world.engine.view();
      const model::JobId job = c.world.Submit(request);
      const std::vector<Left> left = LeftNow(before, job);
      const auto waiting = c.world.engine.Snapshot();
      c.world.Decide();
      RC_ASSERT(c.world.engine.Verify() == "");
      if (c.world.Holds(job)) {
        RC_ASSERT(CheckPlacement(before, request, *c.world.Job(job).placement, left,
                                 request.topology.required, c.fabric) == "");
      } else {
        RC_ASSERT(c.world.engine.Snapshot() == waiting);
      }
    }
  }));
}

TEST_P(StrategyTest, WhatFitsDoesNotDependOnTheStrategy) {
  // One job on the same idle cluster: every strategy starts it, or none.
  const std::string name(GetParam().name);
  base::Rng rng(13);
  for (int round = 0; round < 300; ++round) {
    model::GangRequest request =
        Gang(static_cast<int>(1 + rng.Below(20)), static_cast<int>(1 + rng.Below(8)));
    const char* const levels[] = {"", "node", "leaf", "spine"};
    request.topology.required = levels[rng.Below(4)];
    bool held[2];
    for (const bool own : {false, true}) {
      model::Policy policy = FabricPolicy();
      if (own) policy.placement.strategy = name;
      World world(policy);
      world.Add(Fabric(7, 3, 2));
      const model::JobId job = world.Submit(request);
      world.Decide();
      held[own ? 1 : 0] = world.Holds(job);
    }
    EXPECT_EQ(held[0], held[1]) << request.groups[0].replicas << " on "
                                << request.topology.required;
  }
}

TEST_P(StrategyTest, IsIdleWhenNothingFitsAndRepeatsItself) {
  std::vector<std::vector<std::uint8_t>> runs;
  for (int run = 0; run < 2; ++run) {
    model::Policy policy = FabricPolicy();
    policy.placement.strategy = GetParam().name;
    World world(policy, 42);
    world.Add(Fabric(12, 3, 2));
    for (int i = 0; i < 12; ++i) world.Submit(Gang(1 + i % 4, 1 + i % 8));
    auto decisions = world.Decide();
    EXPECT_TRUE(world.Decide().empty());
    for (int n = 0; n < 12; ++n) world.Tell(model::HealthReported{base::Format("n{}", n), 0xff});
    const model::JobId job = world.Submit(Gang(1, 1));
    EXPECT_TRUE(world.Decide().empty());
    EXPECT_FALSE(world.Holds(job));
    runs.push_back(BytesOf(decisions));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

INSTANTIATE_TEST_SUITE_P(Every, StrategyTest,
                         testing::ValuesIn(engine::Strategies().begin(),
                                           engine::Strategies().end()),
                         [](const auto& row) { return AsName(row.param.name); });

TEST(Strategies, NamesAreUniqueTheFirstIsTheDefaultAndUnknownOnesAreNotFound) {
  std::set<std::string_view> names;
  for (const Strategy& strategy : engine::Strategies())
    EXPECT_TRUE(names.insert(strategy.name).second);
  EXPECT_EQ(engine::Strategies().front().name, model::PlacementPolicy{}.strategy);
  EXPECT_EQ(engine::FindStrategy("best"), nullptr);
}

TEST(Strategies, EachTakesTheNodesThatItsNameSays) {
  const auto place = [](const char* strategy) {
    model::Policy policy = FabricPolicy();
    policy.placement.strategy = strategy;
    World world(policy);
    world.Add(Fabric(6, 2, 2));
    world.Tell(model::ForeignUsage{"n0", 0x01});
    world.Tell(model::ForeignUsage{"n3", 0x3f});
    const model::JobId job = world.Submit(Gang(2, 2));
    world.Decide();
    return world.NodesOf(job);
  };
  EXPECT_EQ(place("topology"),
            (std::vector<std::string>{"n0", "n0"}));  // tightest node that holds both
  EXPECT_EQ(place("first-fit"), (std::vector<std::string>{"n0", "n0"}));
  EXPECT_EQ(place("spread"),
            (std::vector<std::string>{"n1", "n1"}));  // the emptiest, as far as it goes
}

TEST(Strategies, TheLotDependsOnTheSeed) {
  std::set<std::vector<std::string>> placements;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    model::Policy policy = FabricPolicy();
    policy.placement.strategy = "random";
    World world(policy, seed);
    world.Add(Fabric(12, 3, 2));
    const model::JobId job = world.Submit(Gang(3, 8));
    world.Decide();
    placements.insert(world.NodesOf(job));
  }
  EXPECT_GT(placements.size(), 10u);
}

class OrderTest : public testing::TestWithParam<QueueOrder> {};

TEST_P(OrderTest, IsTotalAndStable) {
  ASSERT_NE(engine::FindQueueOrder(GetParam().name), nullptr);
  EXPECT_FALSE(GetParam().summary.empty());
  base::Rng rng(3);
  std::vector<engine::OrderKey> keys;
  for (std::uint32_t i = 0; i < 200; ++i) {
    engine::JobRow row;
    row.request =
        std::make_shared<const model::GangRequest>(Gang(static_cast<int>(1 + rng.Below(3)), 1));
    row.priority = static_cast<std::int32_t>(rng.Below(3));
    row.submitted = {static_cast<std::int64_t>(rng.Below(4))};
    keys.push_back(engine::KeyOf(GetParam(), row, {i}));
    EXPECT_EQ(engine::KeyOf(GetParam(), row, {i}), keys.back());
    const engine::OrderKey later = engine::KeyOf(GetParam(), row, {i + 1});
    EXPECT_LT(keys.back(), later) << "equal jobs in the order of their ids";
    row.priority += 1;
    EXPECT_LT(engine::KeyOf(GetParam(), row, {i + 1}), keys.back()) << "a higher class goes first";
  }
  for (const auto& a : keys) {
    for (const auto& b : keys) {
      EXPECT_EQ((a < b) + (b < a) + (a.job == b.job), 1);
    }
  }
}

TEST_P(OrderTest, EqualJobsStartByIdAndNothingStartsWithoutRoom) {
  model::Policy policy = FabricPolicy();
  policy.queues.front().order = GetParam().name;
  ASSERT_TRUE(engine::CheckPolicy(policy).empty());
  World world(policy);
  world.Add(Fabric(1, 1, 1));
  std::vector<model::JobId> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(world.Submit(Gang(1, 8)));
  for (const model::JobId job : jobs) {
    EXPECT_EQ(world.Decide().size(),
              job == jobs.front() ? 1u : 2u);  // the end of one, the start of the next
    EXPECT_TRUE(world.Holds(job));
    EXPECT_TRUE(world.Decide().empty());
    world.Exit(job);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, OrderTest,
                         testing::ValuesIn(engine::QueueOrders().begin(),
                                           engine::QueueOrders().end()),
                         [](const auto& row) { return AsName(row.param.name); });

TEST(Orders, FifoIsByClassThenSubmissionThenId) {
  const auto key = [](std::int32_t priority, std::int64_t submitted, std::uint32_t id) {
    engine::JobRow row;
    row.priority = priority;
    row.submitted = {submitted};
    return engine::KeyOf(*engine::FindQueueOrder("fifo"), row, {id});
  };
  EXPECT_LT(key(2, 9, 9), key(1, 0, 0));
  EXPECT_LT(key(1, 0, 9), key(1, 1, 0));
  EXPECT_LT(key(1, 1, 0), key(1, 1, 1));
  EXPECT_LT(key(INT32_MAX, 1, 0), key(INT32_MIN, 0, 0));
  EXPECT_EQ(engine::FindQueueOrder("lifo"), nullptr);
}

}  // namespace
}  // namespace muster::test
