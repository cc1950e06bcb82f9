// SPDX-License-Identifier: Apache-2.0
#include "driver/local/discovery.h"

#include <hwloc.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <utility>

#include "base/strings.h"
#include "driver/local/cgroup_files.h"
#include "driver/local/discovery_gpus.h"
#include "model/labels.h"

namespace muster::driver {
namespace {

using base::Bytes;
using base::Error;
using base::ErrorCode;
using base::Format;
using base::MilliCpu;

constexpr std::size_t kLongestName = 253;  // that of a DNS name, as in the documents
constexpr Bytes kMostReserve = Bytes::Of(std::int64_t{1} << 30);

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

struct Processors {
  std::int64_t cpus = 0;
  std::int64_t numa_nodes = 0;
};

base::Result<Processors> FindProcessors(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return Error{ErrorCode::kIo, "hwloc cannot start: out of memory", {}};
  const Topology topology(raw);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
    return Error{ErrorCode::kInvalid,
                 Format("hwloc does not take {} as a machine; write like \"pack:2 core:8 pu:2\"",
                        base::Quote(synthetic)),
                 {}};
  }
  if (hwloc_topology_load(raw) != 0)
    return Error{ErrorCode::kIo, "hwloc cannot read the CPUs from /sys; is it mounted?", {}};
  Processors found{.cpus = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU),
                   .numa_nodes = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE)};
  if (synthetic.empty()) {
    const Bitmap mine(hwloc_bitmap_alloc());
    if (mine != nullptr && hwloc_get_proc_cpubind(raw, ::getpid(), mine.get(), 0) == 0) {
      hwloc_bitmap_and(mine.get(), mine.get(), hwloc_topology_get_allowed_cpuset(raw));
      found.cpus = hwloc_bitmap_weight(mine.get());
    }
  }
  if (found.cpus <= 0) return Error{ErrorCode::kIo, "hwloc finds no CPU in /sys", {}};
  return found;
}

/// The smallest of what `limit` says of this process's group and those around it, in one hierarchy.
template <class Limit>
std::optional<std::int64_t> Smallest(const CgroupMount& mount, Limit limit) {
  std::optional<std::int64_t> least;
  std::string folder = mount.own;
  while (folder.size() >= mount.top.size()) {
    const std::optional<std::int64_t> here = limit(folder);
    if (here && *here >= 0 && (!least || *here < *least)) least = here;
    if (folder.size() == mount.top.size()) break;
    folder.resize(folder.rfind('/'));
  }
  return least;
}

std::optional<std::int64_t> NumberIn(const std::string& path) {
  const base::Result<std::string> text = ReadSmallFile(path);
  return text ? WholeNumber(*text) : std::nullopt;
}

/// In milli-CPUs.
std::optional<std::int64_t> CpuLimit(const std::string& folder, bool v2) {
  std::optional<std::int64_t> quota_us;
  std::optional<std::int64_t> period_us;
  if (v2) {
    const std::string text = ReadSmallFile(folder + "/cpu.max").value_or("");
    const std::vector<std::string_view> words = base::Split(base::Trim(text), ' ');
    if (words.size() == 2) {
      quota_us = WholeNumber(words[0]);
      period_us = WholeNumber(words[1]);
    }
  } else {
    quota_us = NumberIn(folder + "/cpu.cfs_quota_us");
    period_us = NumberIn(folder + "/cpu.cfs_period_us");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0 || *quota_us > kMost)
    return std::nullopt;
  return std::max<std::int64_t>(*quota_us * 1000 / *period_us, 1);
}

struct CgroupBounds {
  std::optional<std::int64_t> milli_cpus;
  std::optional<std::int64_t> memory_bytes;
};

CgroupBounds FindCgroupBounds(const std::string& root) {
  CgroupBounds bounds;
  const auto lower = [](std::optional<std::int64_t>& bound, std::optional<std::int64_t> found) {
    if (found && (!bound || *found < *bound)) bound = found;
  };
  for (const CgroupMount& mount : CgroupMounts(root)) {
    lower(bounds.milli_cpus,
          Smallest(mount, [&](const std::string& folder) { return CpuLimit(folder, mount.v2); }));
    lower(bounds.memory_bytes, Smallest(mount, [&](const std::string& folder) {
            return NumberIn(folder + (mount.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
          }));
  }
  return bounds;
}

base::Result<Bytes> FindMemory(const DiscoveryOptions& options, const CgroupBounds& bounds) {
  const std::string path = options.root + "/proc/meminfo";
  const base::Result<std::string> text = ReadSmallFile(path);
  if (!text) return Error{ErrorCode::kIo, text.error().message, {}};
  std::int64_t total_kib = -1;
  for (const std::string_view line : base::Split(*text, '\n')) {
    if (!line.starts_with("MemTotal:") || !line.ends_with(" kB")) continue;
    total_kib = WholeNumber(line.substr(9, line.size() - 12)).value_or(-1);
  }
  if (total_kib < 0 || total_kib > std::int64_t{1} << 50)
    return Error{ErrorCode::kIo, Format("{} has no line \"MemTotal: NUMBER kB\"", path), {}};
  const std::int64_t built_in = total_kib * 1024;
  const std::int64_t bytes = std::min(built_in, bounds.memory_bytes.value_or(built_in));
  const Bytes reserve = options.reserve.value_or(std::min(kMostReserve, Bytes::Of(bytes / 10)));
  return Bytes::Of(std::max<std::int64_t>(bytes - std::min(reserve.value(), bytes), 0));
}

bool IsNameCharacter(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
}

base::Result<std::string> FindName(const DiscoveryOptions& options) {
  if (!options.name.empty()) {
    if (options.name.size() > kLongestName || !std::ranges::all_of(options.name, IsNameCharacter)) {
      return Error{ErrorCode::kInvalid,
                   Format("{} is no name of a node: 1 to {} letters, digits, '-', '.' and '_'",
                          base::Quote(options.name), kLongestName),
                   {}};
    }
    return options.name;
  }
  const std::string text =
      ReadSmallFile(options.root + "/proc/sys/kernel/hostname", kLongestName).value_or("");
  std::string name(base::Trim(text));
  std::ranges::replace_if(
      name, [](char c) { return !IsNameCharacter(static_cast<unsigned char>(c)); }, '-');
  return name.empty() ? "localhost" : name;
}

/// RDMA cards; virtual functions are parts of one that is counted.
std::int32_t CountNics(const std::string& root) {
  const std::string folder = root + "/sys/class/infiniband";
  std::int32_t count = 0;
  for (const std::string& name : FoldersIn(folder)) {
    struct stat status {};
    if (::stat(Format("{}/{}/device/physfn", folder, name).c_str(), &status) != 0) ++count;
  }
  return count;
}

void SetLabels(Machine& machine, const DiscoveryOptions& options, std::int64_t numa_nodes,
               const std::string& gpu_driver) {
  model::Labels& labels = machine.spec.labels;
  model::SetLabel(labels, "muster.dev/host", machine.spec.name);
  model::SetLabel(labels, "muster.dev/numa", Format("{}", numa_nodes));
  if (utsname system{}; ::uname(&system) == 0)
    model::SetLabel(labels, "muster.dev/arch", system.machine);
  const std::string kernel =
      ReadSmallFile(options.root + "/proc/sys/kernel/osrelease", kLongestName).value_or("");
  if (const std::string_view release = base::Trim(kernel); !release.empty())
    model::SetLabel(labels, "muster.dev/kernel", std::string(release));
  if (!gpu_driver.empty()) model::SetLabel(labels, "muster.dev/gpu-driver", gpu_driver);
}

}  // namespace

std::string ModelToken(std::string_view name) {
  name = base::Trim(name);
  for (const std::string_view vendor : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(vendor)) name = base::Trim(name.substr(vendor.size()));
  }
  std::string token;
  for (const char c : name) {
    const bool keep =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+';
    if (keep) token.push_back(c);
    if (!keep && !token.empty() && token.back() != '-') token.push_back('-');
  }
  while (token.ends_with('-')) token.pop_back();
  return token.empty() ? "GPU" : token;
}

base::Result<Machine> DiscoverMachine(const DiscoveryOptions& options) {
  Machine machine;
  base::Result<std::string> name = FindName(options);
  if (!name) return name.error();
  machine.spec.name = *std::move(name);
  const base::Result<Processors> processors = FindProcessors(options.synthetic);
  if (!processors) return processors.error();
  const CgroupBounds bounds = FindCgroupBounds(options.root);
  const std::int64_t milli_cpus = processors->cpus * 1000;
  machine.spec.cpu = MilliCpu::Of(std::min(milli_cpus, bounds.milli_cpus.value_or(milli_cpus)));
  const base::Result<Bytes> memory = FindMemory(options, bounds);
  if (!memory) return memory.error();
  machine.spec.memory = *memory;
  machine.spec.nics = CountNics(options.root);
  FoundGpus gpus = FindGpus(options.nvml, options.root);
  machine.spec.devices = std::move(gpus.devices);
  machine.gpus = std::move(gpus.identities);
  machine.left_out_minors = std::move(gpus.left_out_minors);
  machine.note = base::Join(gpus.notes, "; ");
  SetLabels(machine, options, processors->numa_nodes, gpus.driver_version);
  return machine;
}

}  // namespace muster::driver
