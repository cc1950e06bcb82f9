// SPDX-License-Identifier: Apache-2.0
#include "driver/local/virtual_nodes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "model/labels.h"

namespace muster::driver {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;

constexpr base::Bytes kDeviceMemory = base::Bytes::Of(std::int64_t{80} << 30);
// Those of the documents: 1 Mi CPUs, 1 Pi bytes.
constexpr base::MilliCpu kMostCpu = base::MilliCpu::Of(std::int64_t{1'000'000} * 1000);
constexpr base::Bytes kMostMemory = base::Bytes::Of(std::int64_t{1} << 50);
constexpr std::array<std::string_view, 4> kKeys = {"leaf", "spine", "cpu", "memory"};

Error Fault(std::string message) {
  return {ErrorCode::kInvalid, "virtual nodes: " + std::move(message), {}};
}

struct Range {
  std::string_view what;
  std::int32_t least;
  std::int32_t most;
};

base::Result<std::int32_t> CountIn(std::string_view text, Range range) {
  const base::Result<std::int64_t> count = base::ParseCount(text);
  if (!count || *count < range.least || *count > range.most) {
    return Fault(Format("{} is no number of {}: {} to {}", Quote(text), range.what, range.least,
                        range.most));
  }
  return static_cast<std::int32_t>(*count);
}

/// Sets one "key=value" of the text.
base::Result<VirtualLayout> With(VirtualLayout layout, std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view key = part.substr(0, equals);
  if (std::ranges::find(kKeys, key) == kKeys.end()) {
    const std::string_view meant = base::Nearest(key, kKeys);
    return Fault(Format("{} is unknown; {}", Quote(key),
                        meant.empty() ? "known are leaf, spine, cpu and memory"
                                      : Format("did you mean {}?", Quote(meant))));
  }
  if (equals == std::string_view::npos)
    return Fault(Format("{} has no value; write {}=...", Quote(key), key));
  const std::string_view value = part.substr(equals + 1);
  if (key == "cpu") {
    const base::Result<base::MilliCpu> cpu = base::ParseCpu(value);
    if (!cpu) return Fault("cpu: " + cpu.error().message);
    if (*cpu > kMostCpu) return Fault(Format("{} CPUs are too many for a node", value));
    layout.cpu = *cpu;
  } else if (key == "memory") {
    const base::Result<base::Bytes> memory = base::ParseBytes(value);
    if (!memory) return Fault("memory: " + memory.error().message);
    if (*memory > kMostMemory) return Fault(Format("{} is too much memory for a node", value));
    layout.memory = *memory;
  } else {
    const bool leaf = key == "leaf";
    const Range range{leaf ? "nodes of a leaf" : "nodes of a spine", 1, kMostVirtualNodes};
    const base::Result<std::int32_t> count = CountIn(value, range);
    if (!count) return count.error();
    (leaf ? layout.nodes_per_leaf : layout.nodes_per_spine) = *count;
  }
  return layout;
}

}  // namespace

base::Result<VirtualLayout> ParseVirtual(std::string_view text) {
  VirtualLayout layout;
  const std::size_t colon = text.find(':');
  const std::string_view size = text.substr(0, colon);
  const std::size_t cross = size.find('x');
  if (cross == std::string_view::npos) {
    return Fault(Format("{} is not NODESxDEVICES, like 4x8 or 4x8:leaf=2,spine=4", Quote(text)));
  }
  const base::Result<std::int32_t> nodes =
      CountIn(size.substr(0, cross), {"nodes", 1, kMostVirtualNodes});
  if (!nodes) return nodes.error();
  const base::Result<std::int32_t> devices =
      CountIn(size.substr(cross + 1), {"devices of a node", 0, model::kMaxDevicesPerNode});
  if (!devices) return devices.error();
  layout.nodes = *nodes;
  layout.devices = *devices;
  if (colon == std::string_view::npos) return layout;
  std::vector<std::string_view> seen;
  for (const std::string_view part : base::Split(text.substr(colon + 1), ',')) {
    const std::string_view key = part.substr(0, part.find('='));
    if (std::ranges::find(seen, key) != seen.end())
      return Fault(Format("{} is given twice", Quote(key)));
    seen.push_back(key);
    base::Result<VirtualLayout> next = With(layout, part);
    if (!next) return next;
    layout = *next;
  }
  // A leaf lies in one spine.
  if (layout.nodes_per_leaf > 0 && layout.nodes_per_spine % layout.nodes_per_leaf != 0) {
    return Fault(Format("{} nodes of a spine do not make whole leaves of {}; give a multiple",
                        layout.nodes_per_spine, layout.nodes_per_leaf));
  }
  return layout;
}

std::vector<model::NodeSpec> SplitMachine(const Machine& machine, const VirtualLayout& layout) {
  std::vector<model::NodeSpec> nodes;
  for (std::int32_t i = 0; i < layout.nodes; ++i) {
    model::NodeSpec& node = nodes.emplace_back();
    node.name = Format("virtual-{}", i);
    node.devices.assign(static_cast<std::size_t>(layout.devices),
                        {.model = "virtual", .memory = kDeviceMemory});
    node.cpu = layout.cpu;
    node.memory = layout.memory;
    node.labels = machine.spec.labels;
    model::SetLabel(node.labels, "muster.dev/virtual", "true");
    if (layout.nodes_per_leaf > 0)
      model::SetLabel(node.labels, "leaf", Format("leaf-{}", i / layout.nodes_per_leaf + 1));
    if (layout.nodes_per_spine > 0)
      model::SetLabel(node.labels, "spine", Format("spine-{}", i / layout.nodes_per_spine + 1));
  }
  return nodes;
}

std::vector<model::Level> VirtualLevels(const VirtualLayout& layout) {
  std::vector<model::Level> levels;
  if (layout.nodes_per_spine > 0) levels.push_back({.name = "spine", .label = "spine"});
  if (layout.nodes_per_leaf > 0) levels.push_back({.name = "leaf", .label = "leaf"});
  return levels;
}

}  // namespace muster::driver
