// SPDX-License-Identifier: Apache-2.0
// Nodes that do not exist, to try things on one machine: jobs run as real processes here, devices
// are numbers. Nothing that a virtual node offers is enforced, and all of them together may offer
// far more than the machine has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "driver/local/discovery.h"
#include "model/cluster.h"

namespace muster::driver {

inline constexpr std::int32_t kMostVirtualNodes = 1024;

/// What each virtual node offers, and how many of them share a leaf and a spine.
struct VirtualLayout {
  std::int32_t nodes = 1;
  std::int32_t devices = 0;          ///< of each node, model "virtual"
  std::int32_t nodes_per_leaf = 0;   ///< 0: no leaves
  std::int32_t nodes_per_spine = 0;  ///< 0: no spines; a multiple of `nodes_per_leaf`
  base::MilliCpu cpu = base::MilliCpu::Of(64'000);
  base::Bytes memory = base::Bytes::Of(std::int64_t{512} << 30);
  friend bool operator==(const VirtualLayout&, const VirtualLayout&) = default;
};

/// "NODESxDEVICES", then what differs from the defaults: "4x8", "4x0",
/// "16x8:leaf=2,spine=4,cpu=32,memory=256Gi". `leaf` and `spine` say how many nodes share one.
/// `kInvalid` names the part that does not do.
base::Result<VirtualLayout> ParseVirtual(std::string_view text);

/// Nodes "virtual-0" on; devices of model "virtual" with 80 GiB, all of one group. Labels: those of
/// the machine, muster.dev/virtual=true, and `leaf` and `spine` (names as in a cluster document:
/// leaf-1 on).
std::vector<model::NodeSpec> SplitMachine(const Machine& machine, const VirtualLayout& layout);

/// The topology levels that these nodes have labels for, outermost first.
std::vector<model::Level> VirtualLevels(const VirtualLayout& layout);

}  // namespace muster::driver
