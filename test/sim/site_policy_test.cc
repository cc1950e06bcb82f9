// SPDX-License-Identifier: Apache-2.0
#include "sim/site_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/sim/builders.h"

namespace muster::sim::test {
namespace {

model::Cluster WithFabric() {
  model::Cluster cluster = MakeCluster(4, 8, 2);
  cluster.fabric = "leaf";
  return cluster;
}

TEST(SitePolicy, TakesLevelsAndFabricOfTheCluster) {
  const auto policy = CompletePolicy({}, WithFabric());
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->topology.levels, WithFabric().levels);
  EXPECT_EQ(policy->topology.fabric, "leaf");
  EXPECT_FALSE(policy->queues.empty());
  EXPECT_EQ(CompletePolicy(*policy, WithFabric()).value(), *policy);
}

TEST(SitePolicy, MayNameAFabricAmongTheLevelsOfTheCluster) {
  model::Policy own;
  own.topology.fabric = "leaf";
  EXPECT_TRUE(CheckPolicyAlone(own).empty());
  const auto policy = CompletePolicy(own, MakeCluster(4, 8, 2));
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->topology.fabric, "leaf");
}

TEST(SitePolicy, LevelsOfItsOwnLeaveTheFabricOfTheClusterBehind) {
  model::Policy own;
  own.topology.levels = {{.name = "rack", .label = "rack"}};
  const auto policy = CompletePolicy(own, WithFabric());
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->topology.levels, own.topology.levels);
  EXPECT_EQ(policy->topology.fabric, "");

  own.topology.levels.push_back({.name = "leaf", .label = "leaf"});
  EXPECT_EQ(CompletePolicy(own, WithFabric())->topology.fabric, "leaf");
}

TEST(SitePolicy, FaultsAreErrorsOfASimulation) {
  model::Policy own;
  own.topology.fabric = "island";
  const auto policy = CompletePolicy(own, WithFabric());
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().front().where, "topology.fabric");
  EXPECT_FALSE(Simulate(WithFabric(), MakeWorkload({{}}), own, Checked()).has_value());
  own.topology.fabric.clear();
  own.placement.strategy = "fastest";
  EXPECT_FALSE(CheckPolicyAlone(own).empty());
  EXPECT_FALSE(Simulate(WithFabric(), MakeWorkload({{}}), own, Checked()).has_value());
}

TEST(SitePolicy, NoGangSpansTheFabricThatAPolicyNames) {
  model::Policy own;
  own.topology.fabric = "leaf";
  const auto workload = MakeWorkload({{.replicas = 3, .gpus = 8}});
  EXPECT_EQ(Simulate(MakeCluster(4, 8, 2), workload, {}, Checked())->jobs[0].fate,
            Fate::kCompleted);
  EXPECT_EQ(Simulate(MakeCluster(4, 8, 2), workload, own, Checked())->jobs[0].fate, Fate::kNever);
}

}  // namespace
}  // namespace muster::sim::test
