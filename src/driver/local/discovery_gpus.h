// SPDX-License-Identifier: Apache-2.0
// The devices of the machine. For discovery.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/local/discovery.h"
#include "driver/local/nvml.h"
#include "model/cluster.h"

namespace muster::driver {

struct FoundGpus {
  std::vector<model::Device> devices;   ///< at most kMaxDevicesPerNode
  std::vector<GpuIdentity> identities;  ///< as `devices`
  std::vector<std::int32_t> left_out_minors;
  std::string driver_version;  ///< empty: unknown
  std::vector<std::string> notes;
};

/// Never fails: without a driver there are no devices, and a note. `root` goes before /sys.
FoundGpus FindGpus(const NvmlSource& source, const std::string& root);

}  // namespace muster::driver
