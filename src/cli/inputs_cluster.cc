// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "cli/validators.h"
#include "format/cluster_document.h"
#include "format/fields.h"
#include "format/file.h"
#include "format/slurm_topology.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;
using base::Result;

constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;
constexpr std::int64_t kCpusPerGpu = 16;
constexpr std::int64_t kMemoryPerGpu = std::int64_t{128} << 30;

/// Bandwidth left when a gang spans several domains of a level, where no file says it: 5 % less out
/// of a leaf, 17 % less out of a spine.
constexpr std::pair<std::string_view, std::int64_t> kUsualBandwidth[] = {{"leaf", 950},
                                                                         {"spine", 830}};

Error Usage(std::string_view option, std::string message) {
  return {ErrorCode::kInvalid, std::move(message), std::string(option)};
}

struct NameAndCount {
  std::string name;
  std::int64_t count = 0;
};

/// "spine=256,leaf=32".
Result<std::vector<NameAndCount>> ParseLevels(const std::string& text) {
  std::vector<NameAndCount> out;
  if (text.empty()) return out;
  for (const std::string_view part : base::Split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto count =
        base::ParseCount(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    if (!count || *count < 1 || equals == 0) {
      return Usage("--levels", Format("{} is not NAME=NODES, such as leaf=32", Quote(part)));
    }
    if (!out.empty() && (out.back().count % *count != 0 || out.back().count == *count)) {
      return Usage("--levels",
                   Format("{} nodes in {} are not several whole {}; give levels outermost first",
                          out.back().count, Quote(out.back().name), Quote(part.substr(0, equals))));
    }
    out.push_back({std::string(part.substr(0, equals)), *count});
  }
  return out;
}

/// The levels as a cluster has them.
Result<std::vector<model::Level>> MakeLevels(const std::vector<NameAndCount>& parsed) {
  std::vector<model::Level> levels;
  for (const NameAndCount& level : parsed)
    levels.push_back({.name = level.name, .label = level.name});
  const base::Errors errors = format::CheckLevels(levels);
  if (!errors.empty()) return Usage("--levels", errors.front().message);
  return levels;
}

struct NodeGroup {
  std::int64_t count = 0;
  std::int64_t gpus = 0;
};

/// "302" or "321x2,231x8".
Result<std::vector<NodeGroup>> ParseNodes(const ClusterOptions& options) {
  std::vector<NodeGroup> out;
  std::int64_t total = 0;
  for (const std::string_view part : base::Split(options.nodes, ',')) {
    const std::size_t times = part.find('x');
    const auto count = base::ParseCount(part.substr(0, times));
    const auto gpus = times == std::string_view::npos ? Result<std::int64_t>(options.gpus_per_node)
                                                      : base::ParseCount(part.substr(times + 1));
    if (!count || !gpus || *count < 1) {
      return Usage(
          "--nodes",
          Format("{} is neither a number of nodes nor NODESxGPUS, such as 231x8", Quote(part)));
    }
    if (*gpus > model::kMaxDevicesPerNode) {
      return Usage("--nodes",
                   Format("{} GPUs on one node; at most {}", *gpus, model::kMaxDevicesPerNode));
    }
    total += *count;
    if (*count > kMostNodes || total > kMostNodes) {
      return Usage("--nodes", Format("more than {} nodes; that is the limit", kMostNodes));
    }
    out.push_back({*count, *gpus});
  }
  return out;
}

/// A node without name or labels.
Result<model::NodeSpec> MakeNode(const ClusterOptions& options, std::int64_t gpus) {
  model::NodeSpec node;
  node.devices.resize(static_cast<std::size_t>(gpus),
                      model::Device{.model = "GPU", .memory = {}, .group = 0});
  node.cpu = base::MilliCpu::Of(1000 * kCpusPerGpu * std::max<std::int64_t>(1, gpus));
  node.memory = base::Bytes::Of(kMemoryPerGpu * std::max<std::int64_t>(1, gpus));
  if (!options.cpus_per_node.empty()) {
    const auto cpu = base::ParseCpu(options.cpus_per_node);
    if (!cpu) return Usage("--cpus-per-node", cpu.error().message);
    if (*cpu > format::kMostCpu) {
      return Usage("--cpus-per-node",
                   Format("{} is too much; at most {}", Quote(options.cpus_per_node),
                          base::FormatCpu(format::kMostCpu)));
    }
    node.cpu = *cpu;
  }
  if (!options.memory_per_node.empty()) {
    const auto memory = base::ParseBytes(options.memory_per_node);
    if (!memory) return Usage("--memory-per-node", memory.error().message);
    if (*memory > format::kMostMemory) {
      return Usage("--memory-per-node",
                   Format("{} is too much; at most {}", Quote(options.memory_per_node),
                          base::FormatBytes(format::kMostMemory)));
    }
    node.memory = *memory;
  }
  return node;
}

base::Checked<LoadedCluster> MakeFlatCluster(const ClusterOptions& options) {
  const auto groups = ParseNodes(options);
  if (!groups) return groups.error();
  const auto levels = ParseLevels(options.levels);
  if (!levels) return levels.error();
  auto made = MakeLevels(*levels);
  if (!made) return made.error();
  model::Cluster cluster;
  cluster.levels = std::move(*made);
  format::ClusterTotals totals;
  for (const NodeGroup& group : *groups) {
    const auto node = MakeNode(options, group.gpus);
    if (!node) return node.error();
    model::NodeSpec largest = *node;
    for (const NameAndCount& level : *levels)
      largest.labels.emplace_back(level.name, Format("{}-{}", level.name, kMostNodes));
    if (std::string exceeded = totals.Add(largest, static_cast<std::size_t>(group.count));
        !exceeded.empty()) {
      return Usage("--nodes", std::move(exceeded));
    }
    for (std::int64_t i = 0; i < group.count; ++i) {
      const std::size_t number = cluster.nodes.size();
      model::NodeSpec& added = cluster.nodes.emplace_back(*node);
      added.name = Format("node-{:05}", number + 1);
      for (const NameAndCount& level : *levels) {
        const std::size_t domain = number / static_cast<std::size_t>(level.count) + 1;
        added.labels.emplace_back(level.name, Format("{}-{:04}", level.name, domain));
      }
      std::ranges::sort(added.labels);
    }
  }
  return LoadedCluster{std::move(cluster), {}};
}

base::Checked<LoadedCluster> ReadTopology(const ClusterOptions& options) {
  const auto text = format::ReadFile(options.topology);
  if (!text) return text.error();
  const auto node = MakeNode(options, options.gpus_per_node);
  if (!node) return node.error();
  auto read = format::ParseSlurmTopology(*text, options.topology, *node);
  if (!read) return read.error();
  read->cluster.name = options.topology;
  return LoadedCluster{std::move(read->cluster), std::move(read->notes)};
}

base::Checked<LoadedCluster> ReadClusterFile(const ClusterOptions& options) {
  const auto text = format::ReadFile(options.file);
  if (!text) return text.error();
  auto cluster = format::ParseCluster(*text, options.file);
  if (!cluster) return cluster.error();
  if (cluster->name.empty()) cluster->name = options.file;
  return LoadedCluster{std::move(*cluster), {}};
}

base::Status SetBandwidth(const ClusterOptions& options, model::Cluster& cluster) {
  if (options.file.empty()) {
    for (const auto& [name, permille] : kUsualBandwidth) {
      const auto level = std::ranges::find(cluster.levels, name, &model::Level::name);
      if (level != cluster.levels.end()) level->bandwidth_permille = permille;
    }
  }
  for (const std::string& setting : options.bandwidth) {
    const std::size_t equals = setting.find('=');
    const auto level =
        std::ranges::find(cluster.levels, setting.substr(0, equals), &model::Level::name);
    if (level == cluster.levels.end()) {
      return Usage("--bandwidth",
                   Format("{} is not LEVEL=PART of a level of the cluster", Quote(setting)));
    }
    const auto part =
        base::ParseFraction(equals == std::string::npos ? "" : setting.substr(equals + 1));
    if (!part || part->IsZero()) {
      return Usage("--bandwidth", Format("{}: give a part of the NIC's bandwidth above 0, up to 1",
                                         Quote(setting)));
    }
    level->bandwidth_permille = part->value();
  }
  return {};
}

}  // namespace

void AddClusterOptions(CLI::App& app, ClusterOptions& options) {
  constexpr const char* kGroup = "Cluster (one of --cluster, --topology, --nodes)";
  app.add_option("--cluster", options.file, "cluster file (YAML or JSON)")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--topology", options.topology, "Slurm's topology.conf; every node is alike")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--nodes", options.nodes,
                 "that many nodes, or several kinds: 321x2,231x8 (nodes x GPUs)")
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--gpus-per-node", options.gpus_per_node, "with --nodes and --topology, 0 to 64")
      ->check(Quietly(CLI::Range(0, model::kMaxDevicesPerNode)))
      ->capture_default_str()
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--cpus-per-node", options.cpus_per_node, "likewise; default 16 for each GPU")
      ->type_name("CPUS")
      ->group(kGroup);
  app.add_option("--memory-per-node", options.memory_per_node,
                 "likewise; default 128Gi for each GPU")
      ->type_name("BYTES")
      ->group(kGroup);
  app.add_option("--levels", options.levels,
                 "with --nodes: nodes in one domain of each network level, outermost first: "
                 "spine=256,leaf=32")
      ->type_name("LEVELS")
      ->group(kGroup);
  app.add_option(
         "--bandwidth", options.bandwidth,
         "part of a GPU's network bandwidth left when a gang spans domains of a level: leaf=0.95")
      ->type_name("LEVEL=PART")
      ->group(kGroup);
}

base::Checked<LoadedCluster> LoadCluster(const ClusterOptions& options) {
  const int given = (options.file.empty() ? 0 : 1) + (options.topology.empty() ? 0 : 1) +
                    (options.nodes.empty() ? 0 : 1);
  if (given != 1) {
    return Usage(given == 0 ? "--cluster is missing" : "--cluster",
                 "give one of --cluster FILE, --topology FILE and --nodes N");
  }
  auto cluster = !options.file.empty()       ? ReadClusterFile(options)
                 : !options.topology.empty() ? ReadTopology(options)
                                             : MakeFlatCluster(options);
  if (!cluster) return cluster;
  if (const auto status = SetBandwidth(options, *cluster); !status) return status.error();
  return cluster;
}

std::int64_t TotalGpus(const model::Cluster& cluster) {
  std::int64_t total = 0;
  for (const model::NodeSpec& node : cluster.nodes)
    total += static_cast<std::int64_t>(node.devices.size());
  return total;
}

std::int32_t LargestNode(const model::Cluster& cluster) {
  std::size_t most = 0;
  for (const model::NodeSpec& node : cluster.nodes) most = std::max(most, node.devices.size());
  return static_cast<std::int32_t>(most);
}

std::string ClusterLabel(const model::Cluster& cluster) {
  const auto nodes = static_cast<std::int64_t>(cluster.nodes.size());
  std::int64_t cpu_milli = 0;
  for (const model::NodeSpec& node : cluster.nodes) cpu_milli += node.cpu.value();
  const std::int64_t gpus = TotalGpus(cluster);
  const std::string size =
      Format("{} node{}, {} {}", WithCommas(nodes), nodes == 1 ? "" : "s",
             WithCommas(gpus > 0 ? gpus : cpu_milli / 1000), gpus > 0 ? "GPUs" : "CPUs");
  return cluster.name.empty() ? size : Format("{} ({})", base::Printable(cluster.name), size);
}

}  // namespace muster::cli
