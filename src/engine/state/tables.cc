// SPDX-License-Identifier: Apache-2.0
#include "engine/state/tables.h"

#include <algorithm>
#include <bit>

namespace muster::engine {

model::DeviceMask AllDevices(const model::NodeSpec& spec) {
  const std::size_t count = spec.devices.size();
  if (count == 0) return 0;
  return ~model::DeviceMask{0} >> (64 - count);
}

model::DeviceMask FreeDevices(const NodeRow& row) {
  const model::DeviceMask all = AllDevices(*row.spec);
  if (!row.spec->anonymous_devices) return all & ~(row.use.devices | row.faulty | row.foreign);
  // Only counts mean something: hand out the lowest bits that no placement carries.
  const int taken =
      std::popcount(row.use.devices) + std::popcount(row.faulty) + std::popcount(row.foreign);
  int free = std::max(0, static_cast<int>(row.spec->devices.size()) - taken);
  model::DeviceMask mask = 0;
  for (model::DeviceMask rest = all & ~row.use.devices; free > 0 && rest != 0; --free) {
    mask |= rest & (0 - rest);
    rest &= rest - 1;
  }
  return mask;
}

TopologyPtr BuildTopology(const Tables& tables) {
  std::vector<Topology::Node> nodes;
  for (std::uint32_t i = 0; i < tables.nodes.size(); ++i) {
    const NodeRow& row = tables.nodes[i];
    if (!row.gone) nodes.push_back({model::NodeId{i}, row.spec.get()});
  }
  return std::make_shared<const Topology>(tables.policy->topology.levels, nodes,
                                          static_cast<std::uint32_t>(tables.nodes.size()));
}

}  // namespace muster::engine
