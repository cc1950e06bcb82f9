// SPDX-License-Identifier: Apache-2.0
#include "format/slurm_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

model::NodeSpec Template() {
  return {.devices = {{.model = "H100"}},
          .cpu = base::MilliCpu::Of(96'000),
          .labels = {{"leaf", "old"}, {"zone", "z"}}};
}

SlurmTopology MustRead(std::string_view text) {
  auto topology = ParseSlurmTopology(text, "topology.conf", Template());
  if (topology) return std::move(*topology);
  ADD_FAILURE() << topology.error().front().ToString();
  return {};
}

std::vector<std::string> FaultsOf(std::string_view text) {
  std::vector<std::string> faults;
  const auto topology = ParseSlurmTopology(text, "t", Template());
  if (topology) return faults;
  for (const base::Error& error : topology.error()) faults.push_back(error.ToString());
  return faults;
}

std::vector<std::string> LevelsOf(const model::Cluster& cluster) {
  std::vector<std::string> names;
  for (const model::Level& level : cluster.levels) names.push_back(level.name);
  return names;
}

/// `node: outermost/.../innermost` of every node.
std::vector<std::string> PathsOf(const model::Cluster& cluster) {
  std::vector<std::string> paths;
  for (const model::NodeSpec& node : cluster.nodes) {
    std::vector<std::string> domains;
    for (const model::Level& level : cluster.levels) {
      for (const auto& [key, value] : node.labels) {
        if (key == level.label) domains.push_back(value);
      }
    }
    paths.push_back(node.name + ": " + base::Join(domains, "/"));
  }
  return paths;
}

TEST(SlurmTopologyTest, TreeInTreeOrder) {
  const SlurmTopology out = MustRead(
      "# two spines\n"
      "SwitchName=top Switches=s[2,1]\n"
      "SwitchName=s1 Switches=l1\n"
      "SwitchName=s2 Switches=l[2-3]\n"
      "SwitchName=l1 Nodes=n[09-10]\n"
      "SwitchName=l3 Nodes=n1\n"
      "SwitchName=l2 Nodes=n2,x\n");
  EXPECT_THAT(LevelsOf(out.cluster), ElementsAre("core", "spine", "leaf"));
  EXPECT_THAT(PathsOf(out.cluster), ElementsAre("n2: top/s2/l2", "x: top/s2/l2", "n1: top/s2/l3",
                                                "n09: top/s1/l1", "n10: top/s1/l1"));
  EXPECT_EQ(out.cluster.fabric, "");
  EXPECT_THAT(out.notes, IsEmpty());
  EXPECT_EQ(out.cluster.levels[2].bandwidth_permille, 950);
  EXPECT_EQ(out.cluster.levels[1].bandwidth_permille, 830);
}

TEST(SlurmTopologyTest, NodesAreTheTemplateWithNameAndLabels) {
  const SlurmTopology out = MustRead("SwitchName=a Nodes=n1\n");
  model::NodeSpec expected = Template();
  expected.name = "n1";
  expected.labels = {{"leaf", "a"}, {"zone", "z"}};
  EXPECT_THAT(out.cluster.nodes, ElementsAre(expected));
}

TEST(SlurmTopologyTest, LinesAsSlurmReadsThem) {
  const SlurmTopology out = MustRead(
      "switchname = a  NODES=\"n1, n2\" LinkSpeed=100 # the first\r\n"
      "SwitchName=b \\\r\n"
      "  Nodes=n3,\\\n"
      "n4 linkspeed=100\n"
      "SWITCHNAME=top switches=a,b\\");
  EXPECT_THAT(PathsOf(out.cluster),
              ElementsAre("n1: top/a", "n2: top/a", "n3: top/b", "n4: top/b"));
  EXPECT_THAT(out.notes, ElementsAre("LinkSpeed ignored on 2 lines"));
}

TEST(SlurmTopologyTest, ForestHasNoCommonFabric) {
  const SlurmTopology out = MustRead(
      "SwitchName=spineA Switches=leafA1,leafA2\n"
      "SwitchName=leafA1 Nodes=n1\n"
      "SwitchName=leafA2 Nodes=n2\n"
      "SwitchName=leafC Nodes=n[3-4]\n");
  EXPECT_THAT(LevelsOf(out.cluster), ElementsAre("spine", "leaf"));
  EXPECT_EQ(out.cluster.fabric, "spine");
  EXPECT_THAT(PathsOf(out.cluster), ElementsAre("n1: spineA/leafA1", "n2: spineA/leafA2",
                                                "n3: leafC/leafC", "n4: leafC/leafC"));
  EXPECT_THAT(out.notes,
              ElementsAre("2 switch trees without a common root: no job can span two of them",
                          "the trees are of uneven depth: 2 missing levels of nodes were filled "
                          "with the switch below"));
}

TEST(SlurmTopologyTest, UnevenDepthKeepsASwitchOnOneLevel) {
  const SlurmTopology out = MustRead(
      "SwitchName=root Switches=near,far\n"
      "SwitchName=near Nodes=n1\n"
      "SwitchName=far Switches=leaf1,leaf2\n"
      "SwitchName=leaf1 Nodes=n2\n"
      "SwitchName=leaf2 Nodes=n3\n");
  EXPECT_THAT(PathsOf(out.cluster),
              ElementsAre("n1: root/near/near", "n2: root/far/leaf1", "n3: root/far/leaf2"));
}

TEST(SlurmTopologyTest, BlocksAndTheirSizes) {
  const SlurmTopology out = MustRead(
      "BlockName=b1 Nodes=n[1-2]\n"
      "BlockName=b2 Nodes=n[3-4]\n"
      "BlockName=b3 Nodes=n5\n"
      "BlockSizes=2,4,8\n");
  EXPECT_THAT(LevelsOf(out.cluster), ElementsAre("block8", "block4", "block"));
  EXPECT_THAT(PathsOf(out.cluster),
              ElementsAre("n1: b1..b3/b1..b2/b1", "n2: b1..b3/b1..b2/b1", "n3: b1..b3/b1..b2/b2",
                          "n4: b1..b3/b1..b2/b2", "n5: b1..b3/b3/b3"));
  EXPECT_EQ(out.cluster.fabric, "");
  EXPECT_THAT(out.notes, ElementsAre("1 block has fewer nodes than the first of BlockSizes, 2"));
  EXPECT_THAT(LevelsOf(MustRead("BlockName=b Nodes=n1\n").cluster), ElementsAre("block"));
}

TEST(SlurmTopologyTest, ReadGivesTheClusterAlone) {
  const auto cluster = ReadSlurmTopology("SwitchName=a Nodes=n1\n", "t", Template());
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->nodes.size(), 1U);
  EXPECT_FALSE(ReadSlurmTopology("", "t", Template()).has_value());
}

struct FaultCase {
  std::string_view name;
  std::string text;
  std::vector<std::string> faults;
};

TEST(SlurmTopologyTest, WrongLines) {
  const FaultCase cases[] = {
      {"empty file",
       "# nothing\n",
       {"t: the file names no switch and no block; it needs SwitchName= or BlockName= lines"}},
      {"no pair", "SwitchName=a Nodes\n", {"t:1: \"Nodes\" is not of the form Key=Value"}},
      {"blank in key",
       "SwitchName=a and Nodes=b\n",
       {"t:1: \"and Nodes=b\" is not of the form Key=Value"}},
      {"open quote", "SwitchName=a Nodes=\"n1\n", {"t:1: the quote after Nodes= is never closed"}},
      {"unknown key", "SwitchName=a Node=n1\n", {"t:1: unknown key \"Node\"; did you mean Nodes?"}},
      {"far key",
       "Colour=red\n",
       {"t:1: unknown key \"Colour\"; the keys are SwitchName, Switches, Nodes, LinkSpeed, "
        "BlockName and BlockSizes"}},
      {"no name", "Nodes=n1\n", {"t:1: the line needs either SwitchName= or BlockName="}},
      {"two names",
       "SwitchName=a BlockName=b Nodes=n1\n",
       {"t:1: the line needs either SwitchName= or BlockName="}},
      {"range as name",
       "SwitchName=a[1-2] Nodes=n1\n",
       {"t:1: switch \"a[1-2]\": one line names one switch; give each its own"}},
      {"empty switch",
       "SwitchName=a\n\nSwitchName=b Nodes=\n",
       {"t:1: switch \"a\" is empty; give it Nodes= or Switches=",
        "t:3: switch \"b\" is empty; give it Nodes= or Switches="}},
      {"nodes and switches",
       "SwitchName=a Nodes=n1 Switches=b\n",
       {"t:1: switch \"a\" has Nodes= and Switches=; give it one of them"}},
      {"block of switches",
       "BlockName=a Switches=b\n",
       {"t:1: block \"a\": a block has Nodes=, not Switches="}},
      {"both kinds",
       "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n",
       {"t:2: switches and blocks in one file; Slurm reads one kind of topology"}},
      {"continued line counts from its start",
       "\nSwitchName=a \\\n Nodes=n1 \\\n Speed=1\n",
       {"t:2: unknown key \"Speed\"; the keys are SwitchName, Switches, Nodes, LinkSpeed, "
        "BlockName and BlockSizes"}},
      {"block sizes",
       "BlockName=a Nodes=n1\nBlockSizes=2,6\n",
       {"t:2: BlockSizes: 6; give growing sizes, each the first times a power of two, such as "
        "18,36,72"}},
      {"block size text", "BlockSizes=x\n", {"t:1: BlockSizes: \"x\" is not a number"}},
      {"block sizes twice",
       "BlockSizes=1\nBlockSizes=2\n",
       {"t:2: BlockSizes= is given on line 1 already"}},
      {"too many sizes",
       "BlockSizes=1,2,4,8,16,32,64,128,256\n",
       {"t:1: BlockSizes: more than 8 sizes"}},
  };
  for (const FaultCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(FaultsOf(c.text), c.faults);
  }
}

TEST(SlurmTopologyTest, WrongTrees) {
  const FaultCase cases[] = {
      {"switch twice",
       "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
       {"t:2: switch \"a\" is on line 1 already; remove one"}},
      {"unknown child",
       "SwitchName=a Switches=b,c\nSwitchName=b Nodes=n1\n",
       {"t:1: switch \"a\" lists the unknown switch \"c\"; add its SwitchName= line"}},
      {"two parents",
       "SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n",
       {"t:2: switch \"c\" is below switch \"a\" and switch \"b\"; a switch has one parent"}},
      {"node under two",
       "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n3\n",
       {"t:2: node \"n3\" is below switch \"a\" and switch \"b\"; a node has one"}},
      {"node in two blocks",
       "BlockName=a Nodes=n1\nBlockName=b Nodes=n1\n",
       {"t:2: node \"n1\" is below block \"a\" and block \"b\"; a node has one"}},
      {"node twice",
       "SwitchName=a Nodes=n1,n1\n",
       {"t:1: switch \"a\" lists node \"n1\" twice; remove one"}},
      {"own child", "SwitchName=a Switches=a\n", {"t:1: switch \"a\" is below itself: a < a"}},
      {"circle with a tail",
       "SwitchName=a Switches=b,d\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n"
       "SwitchName=d Nodes=n1\n",
       {"t:1: switch \"a\" is below itself: a < c < b < a"}},
  };
  for (const FaultCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(FaultsOf(c.text), c.faults);
  }
}

TEST(SlurmTopologyTest, TakesAByteOrderMark) {
  EXPECT_THAT(PathsOf(MustRead("\xEF\xBB\xBFSwitchName=a Nodes=n1\n").cluster),
              ElementsAre("n1: a"));
}

// The last one won.
TEST(SlurmTopologyTest, AKeyOnceALine) {
  EXPECT_THAT(FaultsOf("SwitchName=a Nodes=n1 nodes=n2\n"),
              ElementsAre("t:1: nodes= is given twice on this line; remove one"));
}

TEST(SlurmTopologyTest, NodesAreBoundedAsInAClusterFile) {
  EXPECT_THAT(FaultsOf("SwitchName=" + std::string(254, 's') + " Nodes=n1\n"),
              ElementsAre("t:1: switch \"" + std::string(40, 's') +
                          "...\": the name has more than 253 characters"));
  model::NodeSpec large = Template();
  large.memory = base::Bytes::Of(1LL << 50);
  const auto refused = ParseSlurmTopology("SwitchName=a Nodes=n[1-5000]\n", "t", large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().ToString(),
            "t: the nodes of this file would have more than 4096Pi of memory in all");
}

TEST(SlurmTopologyTest, Bounds) {
  std::string deep;
  for (int i = 0; i < 8; ++i) deep += base::Format("SwitchName=s{} Switches=s{}\n", i, i + 1);
  deep += "SwitchName=s8 Nodes=n1\n";
  EXPECT_THAT(FaultsOf(deep),
              ElementsAre("t:1: switch \"s0\" is the root of a tree of 9 levels; at "
                          "most 8 are supported"));
  EXPECT_THAT(FaultsOf("SwitchName=a Nodes=n[1-200000]\n"),
              ElementsAre("t:1: switch \"a\": more than 131072 names in this file"));
  std::string many;
  for (int i = 0; i < 25; ++i) many += "SwitchName=a\n";
  ASSERT_EQ(FaultsOf(many).size(), 21U);
  EXPECT_EQ(FaultsOf(many).back(), "t: and more; reading stopped after 20 faults");
}

}  // namespace
}  // namespace muster::format
