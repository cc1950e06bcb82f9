// SPDX-License-Identifier: Apache-2.0
// What a site has: nodes with devices, and where they hang in the network.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace muster::model {

/// Named values of a node or a selector, sorted by key, keys unique.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A countable named resource beyond the built-in ones (`npu`, licences on a node...).
struct NamedAmount {
  std::string name;
  std::int64_t amount = 0;
  friend bool operator==(const NamedAmount&, const NamedAmount&) = default;
};

/// A GPU or other accelerator. Its index in the node is its name to the engine.
struct Device {
  std::string model;   ///< "H100-SXM-80G"; compared as text
  base::Bytes memory;  ///< 0 = unknown: fits no job that asks for a device memory
  std::uint16_t group =
      0;  ///< NVLink or NUMA group inside the node; devices of one group are close
  friend bool operator==(const Device&, const Device&) = default;
};

/// Keeps away every job that does not tolerate it.
struct Taint {
  std::string key;
  std::string value;
  friend bool operator==(const Taint&, const Taint&) = default;
};

/// Most devices on one node: a set of devices is one machine word.
inline constexpr int kMaxDevicesPerNode = 64;

struct NodeSpec {
  std::string name;
  std::vector<Device> devices;     ///< at most kMaxDevicesPerNode
  bool anonymous_devices = false;  ///< the layer below chooses the device; we only count
  base::MilliCpu cpu;
  base::Bytes memory;
  std::int32_t nics = 0;
  std::vector<NamedAmount> extended;  ///< sorted by name
  Labels labels;                      ///< the topology levels are among them
  std::vector<Taint> taints;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// What the administrator or the health rules say about a whole node.
enum class NodeState : std::uint8_t {
  kReady,
  kCordoned,  ///< takes nothing new; what runs goes on
  kDraining,  ///< as cordoned, on the way out: what runs may finish
  kMaintenance,
  kDown,       ///< silent or off: what ran there is lost
  kProbation,  ///< repaired; watched before it takes work again
  kLast = kProbation,
};

/// State of one device, as the inventory counts it.
enum class DeviceState : std::uint8_t {
  kIdle,
  kAllocated,
  kReserved,
  kDraining,
  kFaulty,
  kForeign,  ///< used by someone who is not Muster
  kUnknown,  ///< its node is silent
  kLast = kUnknown,
};
inline constexpr int kDeviceStates = static_cast<int>(DeviceState::kLast) + 1;

/// A topology level, outermost first in a list of them.
struct Level {
  std::string name;   ///< "leaf"
  std::string label;  ///< the node label that names the domain of this level
  /// Bandwidth left to each GPU when a gang spans several domains of this level, in permille of its
  /// NIC; the simulator's slowdown model and (later) tightening use it.
  std::int64_t bandwidth_permille = 1000;
  friend bool operator==(const Level&, const Level&) = default;
};

struct Cluster {
  std::string name;
  std::vector<Level> levels;  ///< outermost first, without `node`
  /// The level whose domains no gang may span (separate fabrics), or empty.
  std::string fabric;
  std::vector<NodeSpec> nodes;  ///< in topology order as far as the site's numbering follows it
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

template <class A>
void Archive(A& a, NamedAmount& v) {
  a(v.name, v.amount);
}
template <class A>
void Archive(A& a, Device& v) {
  a(v.model, v.memory, v.group);
}
template <class A>
void Archive(A& a, Taint& v) {
  a(v.key, v.value);
}
template <class A>
void Archive(A& a, NodeSpec& v) {
  a(v.name, v.devices, v.anonymous_devices, v.cpu, v.memory, v.nics, v.extended, v.labels,
    v.taints);
}
template <class A>
void Archive(A& a, Level& v) {
  a(v.name, v.label, v.bandwidth_permille);
}

}  // namespace muster::model
