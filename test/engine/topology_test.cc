// SPDX-License-Identifier: Apache-2.0
// The tree of placement domains: what is in it, how it is numbered, what its parts are called.
#include "engine/state/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::DomainIndex;
using engine::LevelIndex;
using engine::Position;
using engine::Topology;
using ::testing::ElementsAre;

/// Keeps the specifications alive that a tree only points to.
struct Tree {
  std::vector<std::unique_ptr<model::NodeSpec>> specs;
  std::vector<Topology::Node> nodes;
  Topology topology;
};

Tree Build(const std::vector<std::string>& levels, const std::vector<model::NodeSpec>& specs) {
  Tree tree;
  std::vector<model::Level> rows;
  for (const std::string& level : levels) rows.push_back({level, level});
  for (const model::NodeSpec& spec : specs) {
    tree.specs.push_back(std::make_unique<model::NodeSpec>(spec));
    const model::NodeId id{static_cast<std::uint32_t>(tree.nodes.size())};
    tree.nodes.push_back({id, tree.specs.back().get()});
  }
  tree.topology = Topology(rows, tree.nodes, static_cast<std::uint32_t>(specs.size()));
  return tree;
}

std::vector<std::string> NamesAt(const Topology& topology, LevelIndex level) {
  std::vector<std::string> names;
  for (DomainIndex d = 0; d < topology.domains(level).size(); ++d) {
    names.push_back(topology.DomainName(level, d));
  }
  return names;
}

std::vector<std::string> NodeNames(const Tree& tree) {
  std::vector<std::string> names;
  for (Position p = 0; p < tree.topology.node_count(); ++p) {
    names.push_back(tree.nodes[tree.topology.node_at(p).value].spec->name);
  }
  return names;
}

TEST(Topology, EmptyTreeHasTheTwoFixedLevelsAndNoNode) {
  const Topology topology;
  EXPECT_EQ(topology.level_count(), 2);
  EXPECT_EQ(topology.level_name(0), "node");
  EXPECT_EQ(topology.level_name(1), "any");
  EXPECT_EQ(topology.node_count(), 0u);
  EXPECT_TRUE(topology.domains(0).empty());
  ASSERT_EQ(topology.domains(1).size(), 1u);
  EXPECT_EQ(topology.domain(1, 0).begin, topology.domain(1, 0).end);
  EXPECT_EQ(topology.position_of(model::NodeId{7}), engine::kNoPosition);
}

TEST(Topology, WithoutNetworkLevelsEverythingHangsOnAny) {
  const Tree tree = Build({}, {GpuNode("b"), GpuNode("a")});
  EXPECT_EQ(tree.topology.level_count(), 2);
  EXPECT_THAT(NamesAt(tree.topology, 0), ElementsAre("b", "a"));
  EXPECT_THAT(NamesAt(tree.topology, 1), ElementsAre("any"));
  EXPECT_EQ(tree.topology.domain(1, 0).child_end, 2u);
}

TEST(Topology, LevelsAreFoundByNameFromTheInsideOut) {
  const Tree tree = Build({"zone", "spine", "leaf"}, {GpuNode("a")});
  EXPECT_EQ(tree.topology.FindLevel("node"), 0);
  EXPECT_EQ(tree.topology.FindLevel("leaf"), 1);
  EXPECT_EQ(tree.topology.FindLevel("spine"), 2);
  EXPECT_EQ(tree.topology.FindLevel("zone"), 3);
  EXPECT_EQ(tree.topology.FindLevel("any"), 4);
  EXPECT_EQ(tree.topology.FindLevel(""), 4);
  EXPECT_EQ(tree.topology.FindLevel("rack"), -1);
  EXPECT_EQ(tree.topology.top(), 4);
}

TEST(Topology, DomainsKeepTogetherNodesThatBecameKnownApart) {
  const Tree tree =
      Build({"leaf"}, {GpuNode("a", 8, {{"leaf", "x"}}), GpuNode("b", 8, {{"leaf", "y"}}),
                       GpuNode("c", 8, {{"leaf", "x"}})});
  EXPECT_THAT(NodeNames(tree), ElementsAre("a", "c", "b"));
  EXPECT_THAT(NamesAt(tree.topology, 1), ElementsAre("x", "y"));
  EXPECT_EQ(tree.topology.position_of(model::NodeId{1}), 2u);
}

TEST(Topology, NodeWithoutLabelIsAloneInADomainOfItsOwn) {
  const Tree tree = Build({"spine", "leaf"}, {GpuNode("a", 8, {{"leaf", "l"}, {"spine", "s"}}),
                                              GpuNode("b", 8, {{"spine", "s"}}),
                                              GpuNode("c", 8, {{"spine", "s"}}), GpuNode("d")});
  EXPECT_THAT(NamesAt(tree.topology, 1), ElementsAre("s/l", "s/(b)", "s/(c)", "(d)/(d)"));
  EXPECT_THAT(NamesAt(tree.topology, 2), ElementsAre("s", "(d)"));
}

TEST(Topology, InnerLabelUnderAMissingOuterOneIsNotSharedWithOthers) {
  // `a` and `b` name the same leaf, but nobody says that they hang on the same spine.
  const Tree tree = Build({"spine", "leaf"},
                          {GpuNode("a", 8, {{"leaf", "l"}}), GpuNode("b", 8, {{"leaf", "l"}})});
  EXPECT_THAT(NamesAt(tree.topology, 1), ElementsAre("(a)/l", "(b)/l"));
}

TEST(Topology, EqualLabelsUnderDifferentParentsAreDifferentDomains) {
  const Tree tree = Build({"spine", "leaf"}, {GpuNode("a", 8, {{"leaf", "0"}, {"spine", "s0"}}),
                                              GpuNode("b", 8, {{"leaf", "0"}, {"spine", "s1"}})});
  EXPECT_THAT(NamesAt(tree.topology, 1), ElementsAre("s0/0", "s1/0"));
  EXPECT_NE(tree.topology.DomainAt(1, 0), tree.topology.DomainAt(1, 1));
}

TEST(Topology, EmptyLabelValueIsAValue) {
  const Tree tree =
      Build({"leaf"}, {GpuNode("a", 8, {{"leaf", ""}}), GpuNode("b", 8, {{"leaf", ""}})});
  EXPECT_EQ(tree.topology.domains(1).size(), 1u);
}

TEST(Topology, LabelsAreFoundByExactKey) {
  const model::Labels labels = {{"a", "1"}, {"leaf", "2"}, {"z", "3"}};
  ASSERT_NE(engine::FindLabel(labels, "leaf"), nullptr);
  EXPECT_EQ(*engine::FindLabel(labels, "leaf"), "2");
  EXPECT_EQ(engine::FindLabel(labels, "lea"), nullptr);
  EXPECT_EQ(engine::FindLabel(labels, "leaf2"), nullptr);
  EXPECT_EQ(engine::FindLabel({}, "leaf"), nullptr);
}

TEST(Topology, GoneNodesLeaveTheTreeAndComeBackAtTheirOldPlace) {
  World world;
  world.Add(Fabric(4, 2, 1));
  world.Tell(model::NodeGone{"n1"});
  world.Decide();
  const engine::View without = world.engine.view();
  EXPECT_EQ(without.DomainCount(0), 3u);
  EXPECT_EQ(without.DomainOf(world.Node("n1"), 1), UINT32_MAX);
  EXPECT_EQ(without.DomainOf(world.Node("n2"), 0), 1u);
  EXPECT_TRUE(without.Node(world.Node("n1")).gone);
  world.Add({Fabric(4, 2, 1)[1]});
  const engine::View again = world.engine.view();
  EXPECT_EQ(again.DomainCount(0), 4u);
  EXPECT_EQ(again.DomainOf(world.Node("n1"), 0), 1u);
  EXPECT_EQ(again.node_count(), 4u);      // the same row
  EXPECT_EQ(without.DomainCount(0), 3u);  // the old view did not move
}

TEST(Topology, ADomainWhoseLastNodeIsGoneIsGone) {
  World world;
  world.Add(Fabric(4, 2, 1));
  world.Tell(model::NodeGone{"n0"});
  world.Tell(model::NodeGone{"n1"});
  const engine::View view = world.engine.view();
  EXPECT_EQ(view.DomainCount(1), 1u);
  EXPECT_EQ(view.DomainName(1, 0), "spine1/leaf1");
  EXPECT_EQ(view.DomainName(2, 0), "spine1");
  EXPECT_EQ(view.DomainName(3, 0), "any");
}

TEST(Topology, ChangedLabelMovesTheNode) {
  World world;
  world.Add(Fabric(4, 2, 2));
  world.Add({GpuNode("n0", 8, {{"leaf", "leaf1"}, {"spine", "spine0"}})});
  const engine::View view = world.engine.view();
  EXPECT_EQ(view.DomainOf(world.Node("n0"), 1), view.DomainOf(world.Node("n3"), 1));
  EXPECT_NE(view.DomainOf(world.Node("n0"), 1), view.DomainOf(world.Node("n1"), 1));
}

TEST(Topology, ActivatedPolicyBringsItsLevels) {
  World world;
  world.Add(Fabric(4, 2, 1));
  EXPECT_EQ(world.engine.view().level_count(), 4);
  world.Tell(model::PolicyActivated{LevelsPolicy({"leaf"})});
  const engine::View view = world.engine.view();
  EXPECT_EQ(view.level_count(), 3);
  EXPECT_EQ(view.LevelName(1), "leaf");
  EXPECT_EQ(view.DomainName(1, 1), "leaf1");
}

TEST(Topology, ForestWithFabricNoGangSpansTwoTrees) {
  model::Policy policy = LevelsPolicy({"fabric", "leaf"});
  policy.topology.fabric = "fabric";
  ASSERT_TRUE(engine::CheckPolicy(policy).empty());
  World world(policy);
  for (int i = 0; i < 6; ++i) {
    const std::string fabric = i < 4 ? "ib" : "roce";
    world.Add({GpuNode(base::Format("n{}", i), 8,
                       {{"fabric", fabric}, {"leaf", base::Format("l{}", i / 2)}})});
  }
  const model::JobId five = world.Submit(Gang(5, 8));
  const model::JobId four = world.Submit(Gang(4, 8));
  const model::JobId two = world.Submit(Gang(2, 8));
  world.Decide();
  EXPECT_FALSE(world.Holds(five));
  EXPECT_EQ(world.Why(five).outcome, model::Outcome::kNever);
  EXPECT_EQ(world.Why(five).binding, (model::Reason{model::ReasonCode::kFabric, 1}));
  EXPECT_THAT(world.NodesOf(four), ElementsAre("n0", "n1", "n2", "n3"));
  EXPECT_THAT(world.NodesOf(two), ElementsAre("n4", "n5"));
}

// Every domain is a range, ranges tile their parent, names are unique within a level, and two nodes
// are in one domain exactly if all their labels down to that level are equal and present.
RC_GTEST_PROP(TopologyProperty, DomainsAreRangesThatTile, ()) {
  const int depth = *rc::gen::inRange(0, 5);
  std::vector<std::string> levels;
  for (int i = 0; i < depth; ++i) levels.push_back(base::Format("l{}", i));
  const auto count = *rc::gen::inRange(0, 24);
  std::vector<model::NodeSpec> specs;
  for (int n = 0; n < count; ++n) {
    model::Labels labels;
    for (const std::string& level : levels) {
      const int value = *rc::gen::inRange(0, 4);
      if (value > 0) labels.emplace_back(level, std::to_string(value));
    }
    specs.push_back(GpuNode(base::Format("n{}", n), 1, labels));
  }
  const Tree tree = Build(levels, specs);
  const Topology& topology = tree.topology;
  RC_ASSERT(topology.level_count() == depth + 2);
  RC_ASSERT(topology.node_count() == static_cast<std::uint32_t>(count));
  std::set<std::uint32_t> seen;
  for (Position p = 0; p < topology.node_count(); ++p) {
    seen.insert(topology.node_at(p).value);
    RC_ASSERT(topology.position_of(topology.node_at(p)) == p);
  }
  RC_ASSERT(seen.size() == topology.node_count());
  for (LevelIndex level = 0; level < topology.level_count(); ++level) {
    const auto& domains = topology.domains(level);
    Position at = 0;
    std::set<std::string> names;
    for (DomainIndex d = 0; d < domains.size(); ++d) {
      RC_ASSERT(domains[d].begin == at);
      at = domains[d].end;
      RC_ASSERT(domains[d].end > domains[d].begin || count == 0);
      for (Position p = domains[d].begin; p < domains[d].end; ++p)
        RC_ASSERT(topology.DomainAt(level, p) == d);
      if (level > 0) RC_ASSERT(names.insert(topology.DomainName(level, d)).second);
      if (level == 0) continue;
      for (DomainIndex c = domains[d].first_child; c < domains[d].child_end; ++c) {
        RC_ASSERT(topology.domain(level - 1, c).parent == d);
      }
      if (count == 0) continue;
      RC_ASSERT(topology.domain(level - 1, domains[d].first_child).begin == domains[d].begin);
      RC_ASSERT(topology.domain(level - 1, domains[d].child_end - 1).end == domains[d].end);
    }
    RC_ASSERT(at == topology.node_count());
    if (level == 0 || level == topology.top()) continue;
    for (Position a = 0; a < topology.node_count(); ++a) {
      for (Position b = 0; b < a; ++b) {
        bool together = true;
        for (int outer = 0; outer <= depth - level; ++outer) {
          const auto& level_name = levels[static_cast<std::size_t>(outer)];
          const auto* label_a =
              engine::FindLabel(specs[topology.node_at(a).value].labels, level_name);
          const auto* label_b =
              engine::FindLabel(specs[topology.node_at(b).value].labels, level_name);
          together = together && label_a != nullptr && label_b != nullptr && *label_a == *label_b;
        }
        RC_ASSERT((topology.DomainAt(level, a) == topology.DomainAt(level, b)) == together);
      }
    }
  }
}

TEST(Inventory, CountsByDomainAndModel) {
  World world;
  std::vector<model::NodeSpec> nodes = Fabric(4, 2, 1);
  for (model::Device& device : nodes[3].devices) device.model = "A100";
  world.Add(nodes);
  world.Submit(Gang(1, 8));
  world.Decide();
  world.Tell(model::NodeStateChanged{"n1", model::NodeState::kCordoned});
  world.Tell(model::HealthReported{"n3", 0x3});
  const engine::View view = world.engine.view();
  const auto count = [&](const engine::InventoryFilter& filter, model::DeviceState state) {
    return view.Devices(filter)[static_cast<std::size_t>(state)];
  };
  EXPECT_EQ(count({}, model::DeviceState::kIdle), 14);
  EXPECT_EQ(count({}, model::DeviceState::kAllocated), 8);
  EXPECT_EQ(count({}, model::DeviceState::kDraining), 8);
  EXPECT_EQ(count({.level = 1, .domain = 0}, model::DeviceState::kIdle), 8);
  EXPECT_EQ(count({.level = 1, .domain = 1}, model::DeviceState::kIdle), 6);
  EXPECT_EQ(count({.model = "A100"}, model::DeviceState::kFaulty), 2);
  EXPECT_EQ(count({.model = "A100"}, model::DeviceState::kIdle), 6);
  EXPECT_EQ(count({.level = 2, .domain = 0, .model = "A100"}, model::DeviceState::kIdle), 0);
}

}  // namespace
}  // namespace muster::test
