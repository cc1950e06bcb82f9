// SPDX-License-Identifier: Apache-2.0
// What happens to the machines while a simulation runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"

namespace muster::sim {

enum class ClusterEventKind : std::uint8_t {
  kDown,    ///< fails: what runs there is lost
  kUp,      ///< works again
  kCordon,  ///< takes nothing new; what runs goes on
  kDrain,   ///< as cordoned, and what runs is asked to leave
  kRemove,  ///< taken out for good
  kAdd,     ///< a node of the cluster file arrives; it is absent before its first `kAdd`
};

struct ClusterEvent {
  base::Instant at;  ///< from the start of the trace
  std::string node;
  ClusterEventKind kind = ClusterEventKind::kDown;
  friend bool operator==(const ClusterEvent&, const ClusterEvent&) = default;
};

using ClusterEvents = std::vector<ClusterEvent>;

/// "down", "up"...: the words of an events file. None for an unknown one.
std::optional<ClusterEventKind> ParseClusterEventKind(std::string_view text);

/// Every event names a node of the cluster, nodes are added before anything else happens to them,
/// and what was removed does not come back.
base::Errors CheckClusterEvents(const model::Cluster& cluster, const ClusterEvents& events);

}  // namespace muster::sim
