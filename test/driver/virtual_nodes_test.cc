// SPDX-License-Identifier: Apache-2.0
#include "driver/local/virtual_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/labels.h"

namespace muster::driver {
namespace {

using testing::HasSubstr;

base::Bytes Gibibytes(std::int64_t n) { return base::Bytes::Of(n << 30); }
base::MilliCpu Cpus(std::int64_t n) { return base::MilliCpu::Of(n * 1000); }

TEST(VirtualNodes, ReadsLayouts) {
  struct Case {
    std::string text;
    VirtualLayout layout;
  };
  const std::vector<Case> cases = {
      {"4x8", {.nodes = 4, .devices = 8}},
      {"4x0", {.nodes = 4, .devices = 0}},
      {"1x64", {.nodes = 1, .devices = 64}},
      {"1024x1", {.nodes = 1024, .devices = 1}},
      {"4x8:leaf=2", {.nodes = 4, .devices = 8, .nodes_per_leaf = 2}},
      {"5x8:leaf=2,spine=4", {.nodes = 5, .devices = 8, .nodes_per_leaf = 2, .nodes_per_spine = 4}},
      {"4x8:spine=3", {.nodes = 4, .devices = 8, .nodes_per_spine = 3}},
      {"4x8:cpu=0.5,memory=256Gi",
       {.nodes = 4, .devices = 8, .cpu = base::MilliCpu::Of(500), .memory = Gibibytes(256)}},
  };
  for (const Case& c : cases) {
    const base::Result<VirtualLayout> layout = ParseVirtual(c.text);
    ASSERT_TRUE(layout.has_value()) << c.text << ": " << layout.error().ToString();
    EXPECT_EQ(*layout, c.layout) << c.text;
  }
}

TEST(VirtualNodes, RefusesWhatIsNoLayout) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "\"\" is not NODESxDEVICES, like 4x8"},
      {"8", "\"8\" is not NODESxDEVICES"},
      {"0x8", "\"0\" is no number of nodes: 1 to 1024"},
      {"1025x8", "\"1025\" is no number of nodes"},
      {"x8", "\"\" is no number of nodes"},
      {"4x", "\"\" is no number of devices of a node: 0 to 64"},
      {"4x65", "\"65\" is no number of devices"},
      {"4x-1", "\"-1\" is no number of devices"},
      {"4x8x2", "\"8x2\" is no number of devices"},
      {"99999999999999999999x8", "is no number of nodes"},
      {"4x8:", "\"\" is unknown; known are leaf, spine, cpu and memory"},
      {"4x8:leav=2", "\"leav\" is unknown; did you mean \"leaf\"?"},
      {"4x8:leaf", "\"leaf\" has no value; write leaf=..."},
      {"4x8:leaf=0", "\"0\" is no number of nodes of a leaf: 1 to 1024"},
      {"4x8:spine=a", "\"a\" is no number of nodes of a spine"},
      {"4x8:leaf=2,leaf=2", "\"leaf\" is given twice"},
      {"4x8:leaf=2,spine=3", "3 nodes of a spine do not make whole leaves of 2"},
      {"4x8:cpu=many", "cpu: "},
      {"4x8:cpu=1000001", "1000001 CPUs are too many for a node"},
      {"4x8:memory=2Pi", "2Pi is too much memory for a node"},
      {"4x8:memory=-1", "memory: "},
  };
  for (const Case& c : cases) {
    const base::Result<VirtualLayout> layout = ParseVirtual(c.text);
    ASSERT_FALSE(layout.has_value()) << c.text;
    EXPECT_EQ(layout.error().code, base::ErrorCode::kInvalid) << c.text;
    EXPECT_THAT(layout.error().message, HasSubstr(c.message)) << c.text;
  }
}

TEST(VirtualNodes, OffersWhatTheLayoutSays) {
  Machine machine;
  machine.spec.name = "here";
  machine.spec.cpu = Cpus(2);
  machine.spec.labels = {{"muster.dev/arch", "x86_64"}, {"muster.dev/host", "here"}};
  const VirtualLayout layout = ParseVirtual("5x8:leaf=2,spine=4,memory=64Gi").value();
  const std::vector<model::NodeSpec> nodes = SplitMachine(machine, layout);
  ASSERT_EQ(nodes.size(), 5U);
  const std::vector<std::string> leaves = {"leaf-1", "leaf-1", "leaf-2", "leaf-2", "leaf-3"};
  const std::vector<std::string> spines = {"spine-1", "spine-1", "spine-1", "spine-1", "spine-2"};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(nodes[i].name, "virtual-" + std::to_string(i));
    EXPECT_EQ(nodes[i].cpu, Cpus(64));
    EXPECT_EQ(nodes[i].memory, Gibibytes(64));
    ASSERT_EQ(nodes[i].devices.size(), 8U);
    EXPECT_EQ(nodes[i].devices[7],
              (model::Device{.model = "virtual", .memory = Gibibytes(80), .group = 0}));
    const model::Labels labels = {{"leaf", leaves[i]},
                                  {"muster.dev/arch", "x86_64"},
                                  {"muster.dev/host", "here"},
                                  {"muster.dev/virtual", "true"},
                                  {"spine", spines[i]}};
    EXPECT_EQ(nodes[i].labels, labels);
  }
}

TEST(VirtualNodes, NamesTheirLevels) {
  EXPECT_TRUE(VirtualLevels(ParseVirtual("4x8").value()).empty());
  const std::vector<model::Level> both = {{.name = "spine", .label = "spine"},
                                          {.name = "leaf", .label = "leaf"}};
  EXPECT_EQ(VirtualLevels(ParseVirtual("4x8:leaf=2,spine=4").value()), both);
  EXPECT_TRUE(SplitMachine({}, ParseVirtual("1x0").value())[0].devices.empty());
}

}  // namespace
}  // namespace muster::driver
