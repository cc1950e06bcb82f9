// SPDX-License-Identifier: Apache-2.0
#include "driver/local/discovery_gpus.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "driver/local/cgroup_files.h"

namespace muster::driver {
namespace {

using base::Format;

constexpr std::size_t kMostDevices = static_cast<std::size_t>(model::kMaxDevicesPerNode);
// More than any machine has; bounds what a broken library can ask of us.
constexpr std::int32_t kMostAsked = 256;

/// A device that becomes one of the node's.
struct Taken {
  std::int32_t index = 0;  ///< NVML's
  GpuHandle handle;
  GpuFacts facts;
};

std::string Named(std::int32_t index, const GpuFacts& facts) {
  return Format("GPU {} ({})", index, facts.uuid);
}

/// The devices to offer; notes and minors of those left out go into `found`.
std::vector<Taken> TakeDevices(const Nvml& nvml, std::int32_t count, FoundGpus& found) {
  std::vector<Taken> taken;
  std::int32_t too_many = 0;
  for (std::int32_t index = 0; index < std::min(count, kMostAsked); ++index) {
    const base::Result<GpuHandle> handle = nvml.ByIndex(index);
    base::Result<GpuFacts> facts =
        handle ? nvml.Facts(*handle) : base::Result<GpuFacts>(handle.error());
    if (!facts) {
      found.notes.push_back(Format("GPU {} is left out: {}", index, facts.error().message));
      continue;
    }
    if (!facts->mig && taken.size() < kMostDevices) {
      taken.push_back({.index = index, .handle = *handle, .facts = *std::move(facts)});
      continue;
    }
    if (facts->minor >= 0) found.left_out_minors.push_back(facts->minor);
    if (facts->mig) {
      found.notes.push_back(
          Format("{} is left out: MIG is on, and Muster gives whole devices; `nvidia-smi -i {} "
                 "-mig 0` turns it off",
                 Named(index, *facts), index));
    } else {
      ++too_many;
    }
  }
  if (too_many > 0 || count > kMostAsked) {
    found.notes.push_back(Format("{} of {} GPUs are left out: a node has at most {}",
                                 too_many + std::max(count - kMostAsked, 0), count, kMostDevices));
  }
  return taken;
}

/// For each device the first device that it can reach over NVLink, also by way of others; itself if
/// none. Empty when no two are connected or the library cannot tell.
std::vector<std::size_t> NvlinkRoots(const Nvml& nvml, const std::vector<Taken>& taken) {
  std::vector<std::size_t> root(taken.size());
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = i;
  bool any = false;
  for (std::size_t a = 0; a < taken.size(); ++a) {
    for (std::size_t b = a + 1; b < taken.size(); ++b) {
      if (nvml.NvlinkBetween(taken[a].handle, taken[b].handle) != true) continue;
      any = true;
      const std::size_t joined = std::min(root[a], root[b]);
      const std::size_t old = std::max(root[a], root[b]);
      std::ranges::replace(root, old, joined);
    }
  }
  if (!any) root.clear();
  return root;
}

/// The NUMA node of each device as the kernel numbers them; -1: unknown.
std::vector<std::int64_t> NumaNodes(const std::vector<Taken>& taken, const std::string& root) {
  std::vector<std::int64_t> nodes;
  for (const Taken& gpu : taken) {
    const std::string path =
        Format("{}/sys/bus/pci/devices/{}/numa_node", root, gpu.facts.pci_bus_id);
    const base::Result<std::string> text = ReadSmallFile(path);
    nodes.push_back(text ? WholeNumber(*text).value_or(-1) : -1);
  }
  return nodes;
}

/// Groups by equal keys, numbered in the order of the devices.
template <class Key>
std::vector<std::uint16_t> Groups(const std::vector<Key>& keys) {
  std::map<Key, std::uint16_t> numbers;
  std::vector<std::uint16_t> groups;
  for (const Key& key : keys) {
    const auto next = static_cast<std::uint16_t>(numbers.size());
    groups.push_back(numbers.try_emplace(key, next).first->second);
  }
  return groups;
}

/// Says which devices have fewer working NVLink connections than others of their model.
void NoteMissingLinks(const std::vector<Taken>& taken, FoundGpus& found) {
  std::map<std::string, std::int32_t> most;
  for (const Taken& gpu : taken) {
    std::int32_t& links = most[gpu.facts.name];
    links = std::max(links, gpu.facts.nvlinks_up);
  }
  for (const Taken& gpu : taken) {
    const std::int32_t links = most[gpu.facts.name];
    if (gpu.facts.nvlinks_up == links) continue;
    found.notes.push_back(Format("{} has {} of {} NVLink connections", Named(gpu.index, gpu.facts),
                                 gpu.facts.nvlinks_up, links));
  }
}

}  // namespace

FoundGpus FindGpus(const NvmlSource& source, const std::string& root) {
  FoundGpus found;
  const base::Result<Nvml> nvml = Nvml::Open(source);
  if (!nvml) {
    const bool absent = nvml.error().code == base::ErrorCode::kNotFound;
    found.notes.push_back(Format("{} ({}): CPU node",
                                 absent ? "no NVIDIA driver" : "the NVIDIA driver does not answer",
                                 nvml.error().message));
    return found;
  }
  found.driver_version = nvml->DriverVersion();
  const base::Result<std::int32_t> count = nvml->DeviceCount();
  if (!count) {
    found.notes.push_back(Format("the NVIDIA driver does not tell its devices ({}): CPU node",
                                 count.error().message));
    return found;
  }
  const std::vector<Taken> taken = TakeDevices(*nvml, *count, found);
  const std::vector<std::size_t> links = NvlinkRoots(*nvml, taken);
  const std::vector<std::uint16_t> groups =
      links.empty() ? Groups(NumaNodes(taken, root)) : Groups(links);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const GpuFacts& facts = taken[i].facts;
    found.devices.push_back(
        {.model = ModelToken(facts.name), .memory = facts.memory, .group = groups[i]});
    found.identities.push_back(
        {.uuid = facts.uuid, .pci_bus_id = facts.pci_bus_id, .minor = facts.minor});
  }
  NoteMissingLinks(taken, found);
  return found;
}

Machine KeepDeviceNumbers(const Machine& before, Machine now) {
  if (before.spec.name != now.spec.name || before.gpus.size() != before.spec.devices.size() ||
      before.gpus.empty())
    return now;
  std::map<std::uint16_t, std::uint16_t> group_before;  // what a group of `now` was called
  std::uint16_t next_group = 0;
  for (const model::Device& device : before.spec.devices)
    next_group = std::max(next_group, static_cast<std::uint16_t>(device.group + 1));
  std::vector<model::Device> devices = before.spec.devices;
  std::vector<GpuIdentity> gpus = before.gpus;
  std::vector<bool> known(now.gpus.size(), false);
  std::vector<std::string> notes;
  if (!now.note.empty()) notes.push_back(now.note);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto at = std::ranges::find(now.gpus, gpus[i].uuid, &GpuIdentity::uuid);
    if (at == now.gpus.end()) {
      notes.push_back(Format("device {} ({}) is gone and keeps its number", i, gpus[i].uuid));
      continue;
    }
    const auto index = static_cast<std::size_t>(at - now.gpus.begin());
    known[index] = true;
    group_before.try_emplace(now.spec.devices[index].group, devices[i].group);
    const std::uint16_t group = devices[i].group;
    devices[i] = now.spec.devices[index];
    devices[i].group = group;
    gpus[i] = *at;
  }
  for (std::size_t index = 0; index < known.size(); ++index) {
    if (known[index]) continue;
    if (devices.size() == kMostDevices) {
      notes.push_back(Format("{} is left out: a node has at most {} devices, with those gone",
                             now.gpus[index].uuid, kMostDevices));
      if (now.gpus[index].minor >= 0) now.left_out_minors.push_back(now.gpus[index].minor);
      continue;
    }
    model::Device device = now.spec.devices[index];
    const auto [at, fresh] = group_before.try_emplace(device.group, next_group);
    if (fresh) ++next_group;
    device.group = at->second;
    devices.push_back(std::move(device));
    gpus.push_back(now.gpus[index]);
  }
  now.spec.devices = std::move(devices);
  now.gpus = std::move(gpus);
  now.note = base::Join(notes, "; ");
  return now;
}

}  // namespace muster::driver
