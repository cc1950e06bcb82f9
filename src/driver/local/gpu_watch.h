// SPDX-License-Identifier: Apache-2.0
// Looks after the devices of a node: which are faulty, and which are used by someone else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/local/discovery.h"
#include "driver/local/nvml.h"
#include "model/decision.h"

namespace muster::driver {

/// Whether a process belongs to a gang of Muster's (or is one that may use devices anyway).
using IsOurs = std::function<bool(pid_t)>;

struct GpuWatchOptions {
  std::string node;
  std::vector<GpuIdentity> gpus;  ///< in the order of the node's devices, at most 64
  std::string root;               ///< goes before /proc; for tests
};

/// Asks NVML when it is told to; has no thread of its own and is used by one at a time. `nvml` must
/// outlive it.
///
/// A device is faulty while it
/// - is lost, or NVML does not know its UUID any more;
/// - had uncorrectable ECC errors since the driver was loaded (a reset clears them);
/// - could not replace a faulty row of memory;
/// - is split by MIG, so that nobody can be given all of it.
/// Where NVML does not answer a question this time, its last answer holds.
class GpuWatch {
 public:
  GpuWatch(const Nvml& nvml, GpuWatchOptions options);

  /// What changed since the last call: at most one `HealthSeen`, whose text names each faulty
  /// device with its reason and what to do, and one `ForeignSeen`. The first call tells both,
  /// whatever they are, so that what was known of an earlier run of the program is corrected.
  std::vector<Observation> Poll(const IsOurs& is_ours);

 private:
  /// What is wrong with a device; what is compared between calls.
  struct Faults {
    bool lost = false;
    bool ecc = false;
    bool remap_failed = false;
    bool mig = false;
    bool remap_pending = false;  ///< not a fault: it works on, and wants a reset
    friend bool operator==(const Faults&, const Faults&) = default;
  };
  struct Watched {
    GpuIdentity identity;
    GpuHandle handle;  ///< null: not found yet
    Faults faults;
    std::uint64_t ecc_errors = 0;
    bool foreign = false;
  };

  void LookAtHealth(Watched& gpu) const;
  void LookAtProcesses(Watched& gpu, const IsOurs& is_ours) const;
  bool IsAlive(pid_t pid) const;
  HealthSeen Health() const;
  model::DeviceMask ForeignDevices() const;

  const Nvml& nvml_;
  std::string node_;
  std::string root_;
  std::vector<Watched> gpus_;
  bool first_ = true;
};

}  // namespace muster::driver
