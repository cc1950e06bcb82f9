// SPDX-License-Identifier: Apache-2.0
#include "format/cluster_document.h"

#include <gtest/gtest.h>

#include <string>

#include "format/yaml.h"

namespace muster::format {
namespace {

using model::Cluster;

/// A cluster document of these lines; its first line is line 3.
std::string With(const std::string& keys) {
  return "apiVersion: muster/v1\nkind: Cluster\n" + keys;
}

std::string FaultsOf(const std::string& text) {
  const base::Checked<Cluster> cluster = ParseCluster(text, "f");
  std::string out;
  if (cluster) return out;
  for (const base::Error& error : cluster.error()) out += error.ToString() + "\n";
  return out;
}

Cluster Parse(const std::string& text) {
  EXPECT_EQ(FaultsOf(text), "");
  return ParseCluster(text, "f").value_or(Cluster{});
}

std::string LabelOf(const model::NodeSpec& node, const std::string& key) {
  for (const auto& [name, value] : node.labels) {
    if (name == key) return value;
  }
  return "";
}

TEST(ClusterDocument, ReadsEveryKey) {
  const Cluster cluster = Parse(With(R"(metadata: {name: site-a}
levels: [zone, {name: leaf, label: site/leaf, bandwidth: 50%}]
fabric: zone
nodes:
  - name: gpu[01-02]
    devices: [{model: A, count: 4, memory: 80Gi, groups: 2}, {model: B}]
    anonymousDevices: true
    cpu: 192
    memory: 2Ti
    rdma: 8
    npu: 3
    labels: {zone: z1, site/leaf: l1}
    taints: [{key: gpu, value: x}]
)"));
  EXPECT_EQ(cluster.name, "site-a");
  EXPECT_EQ(cluster.fabric, "zone");
  EXPECT_EQ(cluster.levels,
            (std::vector<model::Level>{{"zone", "zone", 1000}, {"leaf", "site/leaf", 500}}));
  ASSERT_EQ(cluster.nodes.size(), 2U);
  const base::Bytes memory = base::Bytes::Of(80LL << 30);
  EXPECT_EQ(cluster.nodes[1], (model::NodeSpec{.name = "gpu02",
                                               .devices = {{"A", memory, 0},
                                                           {"A", memory, 0},
                                                           {"A", memory, 1},
                                                           {"A", memory, 1},
                                                           {"B", {}, 2}},
                                               .anonymous_devices = true,
                                               .cpu = base::MilliCpu::Of(192'000),
                                               .memory = base::Bytes::Of(2LL << 40),
                                               .nics = 8,
                                               .extended = {{"npu", 3}},
                                               .labels = {{"site/leaf", "l1"}, {"zone", "z1"}},
                                               .taints = {{"gpu", "x"}}}));
}

TEST(ClusterDocument, NumbersDomainsOverTheWholeFile) {
  const Cluster cluster = Parse(With(R"(levels: [spine, leaf]
nodes:
  - {name: "a[1-10]", domains: {spine: 8, leaf: 4}}
  - {name: "b[1-3]", domains: {leaf: 2}}
  - {name: "c", domains: {spine: 8, leaf: 4}}
  - {name: "d"}
)"));
  ASSERT_EQ(cluster.nodes.size(), 15U);
  const auto path = [&](std::size_t i) {
    return LabelOf(cluster.nodes[i], "spine") + " " + LabelOf(cluster.nodes[i], "leaf");
  };
  EXPECT_EQ(path(0), "spine-1 leaf-1");
  EXPECT_EQ(path(7), "spine-1 leaf-2");
  EXPECT_EQ(path(8), "spine-2 leaf-3");
  EXPECT_EQ(path(10), " leaf-4") << "a node may lack a level";
  EXPECT_EQ(path(12), " leaf-5");
  EXPECT_EQ(path(13), "spine-3 leaf-6");
  EXPECT_EQ(path(14), " ");
}

TEST(ClusterDocument, NamesEachFaultWithItsPlace) {
  const struct {
    const char* name;
    const char* keys;
    const char* fault;
  } kCases[] = {
      {"no nodes", "nodes: []", "f:3:8: nodes: a cluster needs at least one node"},
      {"no key nodes", "levels: [a]", "f:1:1: key \"nodes\" is missing"},
      {"node twice", "nodes: [{name: a}, {name: \"b,a\"}]",
       "f:3:27: nodes[1].name: node \"a\" is there already"},
      {"bad host list", "nodes: [{name: \"a[1-\"}]",
       "f:3:16: nodes[0].name: host list \"a[1-\": '[' without ']'"},
      {"too many nodes", "nodes: [{name: \"a[1-1000000]\"}, {name: \"b[1-1000000]\"}]",
       "f:3:33: nodes[1]: more than 1048576 nodes in all"},
      {"too many devices", "nodes: [{name: \"a[1-1000000]\", devices: {model: A, count: 64}}]",
       "f:3:9: nodes[0]: more than 4194304 devices in all"},
      {"too much memory", "nodes: [{name: \"a[1-1000000]\", memory: 1Pi}]",
       "f:3:9: nodes[0]: more than 4096Pi of memory in all"},
      {"65 devices", "nodes: [{name: a, devices: [{model: A, count: 60}, {model: B, count: 5}]}]",
       "f:3:28: nodes[0].devices: 65 devices on a node; at most 64"},
      {"65 devices of a model", "nodes: [{name: a, devices: {model: A, count: 65}}]",
       "f:3:46: nodes[0].devices.count: 65 is out of range; 1 to 64"},
      {"unequal groups", "nodes: [{name: a, devices: {model: A, count: 8, groups: 3}}]",
       "f:3:28: nodes[0].devices: 8 devices do not make 3 equal groups"},
      {"zero groups", "nodes: [{name: a, devices: {model: A, groups: 0}}]",
       "f:3:47: nodes[0].devices.groups: 0 is out of range; 1 to 64"},
      {"unknown level", "levels: [leaf]\nnodes: [{name: a, domains: {leav: 2}}]",
       "f:4:35: nodes[0].domains.leav: \"leav\" is unknown; did you mean \"leaf\"?"},
      {"domains without levels", "nodes: [{name: a, domains: {leaf: 2}}]",
       "f:3:35: nodes[0].domains.leaf: there are no levels"},
      {"domain named twice",
       "levels: [leaf]\nnodes: [{name: a, labels: {leaf: x}, domains: {leaf: 2}}]",
       "f:4:54: nodes[0].domains.leaf: label \"leaf\" names the domain already"},
      {"two parents",
       "levels: [spine, leaf]\nnodes: [{name: \"a[1-8]\", domains: {spine: 3, leaf: 2}}]",
       "f:4:35: nodes[0].domains: leaf \"leaf-2\" lies in two domains of spine: \"spine-1\" and "
       "\"spine-2\""},
      {"two parents by label",
       "levels: [s, l]\nnodes: [{name: a, labels: {s: x, l: y}}, {name: b, labels: {s: z, l: y}}]",
       "f:4:42: nodes[1].domains: l \"y\" lies in two domains of s: \"x\" and \"z\""},
      {"level twice", "levels: [a, a]\nnodes: [{name: n}]",
       "f:3:13: levels[1]: \"a\" is given twice"},
      {"reserved level", "levels: [node]\nnodes: [{name: n}]",
       "f:3:10: levels[0]: node is no level to define"},
      {"one label for two levels", "levels: [a, {name: b, label: a}]\nnodes: [{name: n}]",
       "f:3:13: levels[1]: \"a\" and \"b\" have the same label \"a\"; give each its own"},
      {"unknown fabric", "levels: [spine]\nfabric: spin\nnodes: [{name: n}]",
       "f:4:9: fabric: \"spin\" is unknown; did you mean \"spine\"?"},
      {"slip", "nodes: [{name: n, label: 1}]",
       "f:3:19: nodes[0].label: unknown key; did you mean \"labels\"?"},
      {"negative", "nodes: [{name: n, cpu: -1}]",
       "f:3:24: nodes[0].cpu: \"-1\" is negative; give 0 or more (CPUs, like 96, 0.5 or 500m)"},
  };
  for (const auto& test : kCases)
    EXPECT_EQ(FaultsOf(With(test.keys)), std::string(test.fault) + "\n") << test.name;
}

TEST(ClusterDocument, BoundsWhatIsCopiedToEveryNode) {
  std::string labels;
  for (int i = 0; i < 257; ++i) labels += (i == 0 ? "" : ", ") + ("l" + std::to_string(i)) + ": x";
  EXPECT_EQ(FaultsOf(With("nodes: [{name: n, labels: {" + labels + "}}]")),
            "f:3:9: nodes[0]: 257 labels, taints and named resources on a node; at most 256\n");
  const std::string few = labels.substr(0, labels.find(", l20:"));
  EXPECT_EQ(FaultsOf(With("nodes: [{name: \"n[1-1000000]\", labels: {" + few + "}}]")),
            "f:3:9: nodes[0]: more than 16777216 labels, taints and named resources in all\n");
  const std::string text(2000, 'x');
  EXPECT_EQ(FaultsOf(With("nodes: [{name: \"n[1-1000000]\", labels: {a: " + text + "}}]")),
            "f:3:9: nodes[0]: more than 1073741824 bytes of labels and other names in all\n");
}

// Each of a million nodes was given its place in each level before the fault was told.
TEST(ClusterDocument, TooManyLevelsTakeNoTime) {
  std::string levels;
  for (int i = 0; i < 50'000; ++i) levels += (i == 0 ? "l" : ", l") + std::to_string(i);
  EXPECT_EQ(FaultsOf(With("levels: [" + levels + "]\nnodes: [{name: \"n[1-1000000]\"}]")),
            "f:3:9: levels: 50000 levels; at most 16\n");
}

TEST(ClusterTotals, KeepSumsInRange) {
  ClusterTotals totals;
  const model::NodeSpec node{.devices = std::vector<model::Device>(8),
                             .memory = base::Bytes::Of(1LL << 50)};
  EXPECT_EQ(totals.Add(node, 4000), "");
  EXPECT_EQ(totals.Add(node, 97), "more than 4096Pi of memory in all");
  EXPECT_EQ(ClusterTotals().Add({.devices = std::vector<model::Device>(64)}, 65'537),
            "more than 4194304 devices in all");
  EXPECT_EQ(ClusterTotals().Add({}, SIZE_MAX), "more than 1048576 nodes in all");
}

TEST(Levels, FollowTheRulesOfTheFileWhereverTheyComeFrom) {
  const auto message = [](std::vector<model::Level> levels) {
    const base::Errors errors = CheckLevels(levels);
    return errors.empty() ? "" : errors.front().message;
  };
  EXPECT_EQ(message({{"spine", "spine"}, {"leaf", "leaf"}}), "");
  EXPECT_EQ(message({{"node", "node"}}), "node is no level to define");
  EXPECT_EQ(message({{"a", "x"}, {"a", "y"}}), "\"a\" is given twice");
  EXPECT_EQ(message({{"a", "x"}, {"b", "x"}}),
            "\"a\" and \"b\" have the same label \"x\"; give each its own");
  EXPECT_NE(message({{"a b", "x"}}), "");
  EXPECT_NE(message({{"", ""}}), "");
  std::vector<model::Level> many;
  for (int i = 0; i < 17; ++i) many.push_back({"l" + std::to_string(i), "l" + std::to_string(i)});
  EXPECT_EQ(message(many), "17 levels; at most 16");
}

TEST(ClusterDocument, FoldsEqualNeighboursWhenWritten) {
  const std::string text = With(R"(levels: [leaf]
nodes:
  - name: "gpu[01-64]"
    devices: [{model: A, count: 8, memory: 80Gi, groups: 2}, {model: B}]
    labels: {leaf: l1}
  - name: login
)");
  const Cluster cluster = Parse(text);
  const std::string written = WriteYaml(EncodeCluster(cluster));
  EXPECT_EQ(written, R"(apiVersion: muster/v1
kind: Cluster
levels: [leaf]
nodes:
  - name: "gpu[01-64]"
    devices:
      - model: A
        count: 8
        memory: 80Gi
        groups: 2
      - model: B
    labels:
      leaf: l1
  - name: login
)");
  EXPECT_EQ(Parse(written), cluster);
}

}  // namespace
}  // namespace muster::format
