// SPDX-License-Identifier: Apache-2.0
#include "driver/local/local_nodes.h"

#include <algorithm>
#include <utility>

#include "base/archive.h"
#include "base/strings.h"
#include "driver/local/files.h"

namespace muster::driver {
namespace {

constexpr std::uint32_t kMagic = 0x444F4E4DU;  // "MNOD"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

// The stored form: types of this file alone, so that what is on disk changes only when this does.

struct StoredGpu {
  GpuIdentity identity;
};
template <class A>
void Archive(A& a, StoredGpu& v) {
  a(v.identity.uuid, v.identity.pci_bus_id, v.identity.minor);
}

struct StoredDevice {
  model::Device device;
};
template <class A>
void Archive(A& a, StoredDevice& v) {
  a(v.device.model, v.device.memory, v.device.group);
}

struct StoredNodes {
  std::string machine;  ///< empty: the nodes were virtual
  std::vector<StoredDevice> devices;
  std::vector<StoredGpu> gpus;
  std::vector<std::string> names;
};
template <class A>
void Archive(A& a, StoredNodes& v) {
  a(v.machine, v.devices, v.gpus, v.names);
}

StoredNodes ReadStored(const std::string& file) {
  const auto bytes = ReadOwnFile(file, kMostBytes);
  if (!bytes) return {};
  base::Reader reader(*bytes);
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  StoredNodes stored;
  reader(magic, version);
  if (magic == kMagic && version == kVersion) reader(stored);
  if (!reader.ok() || stored.devices.size() != stored.gpus.size()) return {};
  return stored;
}

base::Status WriteStored(const std::string& file, const StoredNodes& stored) {
  base::Writer writer;
  writer(kMagic, kVersion, stored);
  return WriteDurably(file, writer.bytes());
}

Machine ToMachine(const StoredNodes& stored) {
  Machine machine;
  machine.spec.name = stored.machine;
  for (const StoredDevice& device : stored.devices) machine.spec.devices.push_back(device.device);
  for (const StoredGpu& gpu : stored.gpus) machine.gpus.push_back(gpu.identity);
  return machine;
}

std::string Note(std::string_view machine_note, std::string_view held) {
  std::string note = base::Format("isolation: {}", held);
  if (!machine_note.empty()) note += base::Format("; {}", machine_note);
  return note;
}

}  // namespace

base::Result<LocalNodes> FindNodes(const DiscoveryOptions& discovery,
                                   const std::optional<VirtualLayout>& layout,
                                   const std::string& held, const std::string& file) {
  base::Result<Machine> machine = DiscoverMachine(discovery);
  if (!machine) return machine.error();
  LocalNodes nodes{.machine = std::move(*machine), .is_virtual = layout.has_value()};
  const StoredNodes before = ReadStored(file);
  StoredNodes now;
  if (layout) {
    for (model::NodeSpec& spec : SplitMachine(nodes.machine, *layout)) {
      nodes.found.push_back({std::move(spec), "virtual: nothing that it offers is enforced"});
    }
  } else {
    if (before.machine == nodes.machine.spec.name) {
      nodes.machine = KeepDeviceNumbers(ToMachine(before), std::move(nodes.machine));
    }
    nodes.found.push_back({nodes.machine.spec, Note(nodes.machine.note, held)});
    now.machine = nodes.machine.spec.name;
    for (const GpuIdentity& gpu : nodes.machine.gpus) now.gpus.push_back({gpu});
    for (const model::Device& device : nodes.machine.spec.devices) now.devices.push_back({device});
  }
  for (const NodeFound& node : nodes.found) now.names.push_back(node.spec.name);
  for (const std::string& name : before.names) {
    if (std::find(now.names.begin(), now.names.end(), name) == now.names.end()) {
      nodes.missing.push_back(name);
    }
  }
  if (const base::Status wrote = WriteStored(file, now); !wrote) return wrote.error();
  return nodes;
}

std::string DeviceName(const LocalNodes& nodes, std::size_t index) {
  const bool has_name = !nodes.is_virtual && index < nodes.machine.gpus.size() &&
                        !nodes.machine.gpus[index].uuid.empty();
  return has_name ? nodes.machine.gpus[index].uuid : base::Format("{}", index);
}

}  // namespace muster::driver
