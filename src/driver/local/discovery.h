// SPDX-License-Identifier: Apache-2.0
// What this machine is: one node with what Muster may give away of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "driver/local/nvml.h"
#include "model/cluster.h"

namespace muster::driver {

/// How a device is named outside of Muster.
struct GpuIdentity {
  std::string uuid;         ///< "GPU-..."; for CUDA_VISIBLE_DEVICES
  std::string pci_bus_id;   ///< "0000:1b:00.0"; empty: unknown
  std::int32_t minor = -1;  ///< N of /dev/nvidiaN; -1: unknown
  friend bool operator==(const GpuIdentity&, const GpuIdentity&) = default;
};

struct Machine {
  model::NodeSpec spec;
  std::vector<GpuIdentity> gpus;  ///< as `spec.devices`, one for one; empty for virtual devices
  /// N of /dev/nvidiaN of devices that are here but not in `spec` (see `note`): no job gets them.
  std::vector<std::int32_t> left_out_minors;
  /// For people: what was left out and why. Empty: nothing to say.
  std::string note;
  friend bool operator==(const Machine&, const Machine&) = default;
};

template <class A>
void Archive(A& a, GpuIdentity& v) {
  a(v.uuid, v.pci_bus_id, v.minor);
}
template <class A>
void Archive(A& a, Machine& v) {
  a(v.spec, v.gpus, v.left_out_minors, v.note);
}

struct DiscoveryOptions {
  NvmlSource nvml;
  std::string name;  ///< of the node; empty: the host's
  std::string root;  ///< goes before /proc and /sys; tests: a folder that stands in for both
  /// hwloc's description of a made-up machine for tests ("pack:2 numa:2 core:8 pu:2"). Then all its
  /// CPUs count, whatever this process is bound to. Empty: the real one.
  std::string synthetic;
  /// Memory kept back for the system. Empty: 1 GiB or a tenth of the memory, whichever is less.
  std::optional<base::Bytes> reserve;
};

/// Looks at the machine. What it finds:
/// - CPUs that this process may use (affinity, cpuset), at most the CPU limit of its cgroups;
///   a CPU is a hardware thread, as the kernel counts.
/// - memory: what is built in, at most the limit of its cgroups, less the reserve; never below 0.
/// - devices by NVML, in its order (that of the PCI bus), first of 64. Devices with MIG on, and
///   those that are lost, are left out. Devices of one `group` reach each other over NVLink; where
///   no two do, those at one NUMA node are a group.
/// - RDMA cards: entries of /sys/class/infiniband that are no virtual functions.
/// - labels muster.dev/host, /arch, /kernel, /numa (number of NUMA nodes), /gpu-driver.
///
/// No NVIDIA driver is no error: a node without devices, and a note. Errors: `kInvalid` a name or
/// synthetic description that does not do; `kIo` the CPUs or the memory cannot be read.
base::Result<Machine> DiscoverMachine(const DiscoveryOptions& options);

/// `now` with the device numbers of `before`, known by UUID, since a mask of devices must mean the
/// same after a restart: devices that were there keep their number, those that vanished keep it too
/// (with what was known of them; the watch will find them faulty), and new ones come after. At most
/// 64. `before` is of the same node, or nothing is kept.
Machine KeepDeviceNumbers(const Machine& before, Machine now);

/// A device's name as a model that jobs can ask for: "NVIDIA H100 80GB HBM3" -> "H100-80GB-HBM3".
/// Vendor words (NVIDIA, GeForce) in front go, runs of blanks, slashes and anything else but
/// letters, digits, `.`, `_` and `+` become one dash; nothing left: "GPU".
std::string ModelToken(std::string_view name);

}  // namespace muster::driver
