// SPDX-License-Identifier: Apache-2.0
// Which device models a gang gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using model::Outcome;
using ::testing::ElementsAre;

std::vector<model::NodeSpec> TwoModels() {
  std::vector<model::NodeSpec> specs;
  for (int i = 0; i < 4; ++i) {
    specs.push_back(GpuNode(base::Format("n{}", i), 8));
    for (model::Device& device : specs.back().devices) device.model = i < 2 ? "A100" : "H100";
  }
  return specs;
}

TEST(Models, AGangIsOfOneModelUnlessMixed) {
  for (const bool mixed : {false, true}) {
    World world;
    world.Add(TwoModels());
    const model::JobId job =
        world.Submit(With(Gang(3, 8), [&](auto& r) { r.groups[0].shape.mixed_models = mixed; }));
    world.Decide();
    EXPECT_EQ(world.Holds(job), mixed);
    if (!mixed) {
      EXPECT_EQ(world.Why(job).outcome, Outcome::kNever);
    }
  }
}

TEST(Models, AreTriedInTheOrderOfTheRequestElseOfFirstAppearance) {
  World world;
  world.Add(TwoModels());
  const auto submit = [&](std::vector<std::string> models) {
    return world.Submit(With(Gang(1, 8), [&](auto& r) { r.groups[0].shape.models = models; }));
  };
  const model::JobId wants_h = submit({"H100", "A100"});
  const model::JobId any = submit({});
  const model::JobId wants_a = submit({"A100", "H100"});
  const model::JobId again = submit({"A100", "H100"});
  world.Decide();
  EXPECT_THAT(world.NodesOf(wants_h), ElementsAre("n2"));
  EXPECT_THAT(world.NodesOf(any), ElementsAre("n0"));
  EXPECT_THAT(world.NodesOf(wants_a), ElementsAre("n1"));
  EXPECT_THAT(world.NodesOf(again), ElementsAre("n3"));
}

TEST(Models, MixedDevicesInOneNodeAreNotMixedInAReplica) {
  World world;
  model::NodeSpec spec = GpuNode("a", 4);
  spec.devices[0].model = spec.devices[2].model = "A100";
  world.Add({spec});
  const model::JobId two = world.Submit(Gang(1, 2));
  const model::JobId three = world.Submit(Gang(1, 3));
  world.Decide();
  EXPECT_THAT(world.DevicesOf(two), ElementsAre(0b0101u));
  EXPECT_FALSE(world.Holds(three));
}

TEST(Models, EachGroupChoosesItsOwn) {
  World world;
  world.Add(TwoModels());
  model::GangRequest request;
  request.groups = {Group(2, 8, "a"), Group(2, 8, "b")};
  request.groups[0].shape.models = {"H100"};
  request.groups[1].shape.models = {"A100"};
  const model::JobId job = world.Submit(request);
  world.Decide();
  ASSERT_TRUE(world.Holds(job));
  EXPECT_THAT(world.NodesOf(job), ElementsAre("n2", "n3", "n0", "n1"));
}

}  // namespace
}  // namespace muster::test
