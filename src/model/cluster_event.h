// SPDX-License-Identifier: Apache-2.0
// What happens to the machines while a workload is replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::model {

enum class ClusterEventKind : std::uint8_t {
  kDown,    ///< fails: what runs there is lost
  kUp,      ///< works again
  kCordon,  ///< takes nothing new; what runs goes on
  kDrain,   ///< as cordoned, on the way out: what runs may finish
  kRemove,  ///< taken out for good
  kAdd,     ///< a node of the cluster file arrives; it is absent before its first `kAdd`
  kLast = kAdd,
};

struct ClusterEvent {
  base::Instant at;  ///< from the start of the trace
  std::string node;
  ClusterEventKind kind = ClusterEventKind::kDown;
  std::string where;  ///< "events.csv:7", for messages; or empty
  friend bool operator==(const ClusterEvent&, const ClusterEvent&) = default;
};

using ClusterEvents = std::vector<ClusterEvent>;

}  // namespace muster::model
