// SPDX-License-Identifier: Apache-2.0
// The nodes that a local driver offers: this machine, or the virtual ones that it is cut into.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "driver/local/discovery.h"
#include "driver/local/virtual_nodes.h"

namespace muster::driver {

struct LocalNodes {
  Machine machine;  ///< with the device numbers of earlier runs
  bool is_virtual = false;
  std::vector<NodeFound> found;
  std::vector<std::string> missing;  ///< names of an earlier run that are no more
};

/// Looks at the machine. What masks of devices mean is kept in `file` from run to run; what cannot
/// be read there is as if it had never been. `held` says what cgroups hold, for the notes.
base::Result<LocalNodes> FindNodes(const DiscoveryOptions& discovery,
                                   const std::optional<VirtualLayout>& layout,
                                   const std::string& held, const std::string& file);

/// How CUDA_VISIBLE_DEVICES names device `index` of a node: by UUID where there is one. On virtual
/// nodes by number.
std::string DeviceName(const LocalNodes& nodes, std::size_t index);

}  // namespace muster::driver
