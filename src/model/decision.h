// SPDX-License-Identifier: Apache-2.0
// What the engine decided. Committing the same decisions to the same state gives the same state.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "model/ids.h"
#include "model/reason.h"

namespace muster::model {

/// A set of one node's devices: bit i = device i. For anonymous devices only the number of bits
/// means something.
using DeviceMask = std::uint64_t;

/// Where one replica runs and what it takes there.
struct ReplicaPlacement {
  NodeId node;
  DeviceMask devices = 0;
  base::MilliCpu cpu;
  base::Bytes memory;
  friend bool operator==(const ReplicaPlacement&, const ReplicaPlacement&) = default;
};

/// A whole gang: ranks of all groups, group after group, each group in topology order.
struct GangPlacement {
  std::vector<ReplicaPlacement> ranks;
  std::vector<std::int32_t> group_sizes;  ///< per task group; sums to ranks.size()
  std::uint8_t level = 0;  ///< index of the lowest level that holds it: 0 = node, up to "any"
  friend bool operator==(const GangPlacement&, const GangPlacement&) = default;
};
using GangPlacementPtr = std::shared_ptr<const GangPlacement>;

struct StartGang {
  JobId job;
  Attempt attempt;
  GangPlacementPtr placement;
  Reason reason;
};

/// Every task of the attempt that still runs is to stop within `grace`.
struct StopGang {
  JobId job;
  Attempt attempt;
  base::Duration grace;
  Reason reason;
};

/// The attempt is over and the job waits again at its old place.
struct RequeueJob {
  JobId job;
  Attempt attempt;
  Reason reason;
};

enum class JobEnd : std::uint8_t { kCompleted, kFailed, kCancelled, kTimedOut, kLast = kTimedOut };

/// The job is over.
struct FinishJob {
  JobId job;
  JobEnd end = JobEnd::kCompleted;
  Reason reason;
};

using Decision = std::variant<StartGang, StopGang, RequeueJob, FinishJob>;

template <class A>
void Archive(A& a, ReplicaPlacement& v) {
  a(v.node, v.devices, v.cpu, v.memory);
}
template <class A>
void Archive(A& a, GangPlacement& v) {
  a(v.ranks, v.group_sizes, v.level);
}
template <class A>
void Archive(A& a, StartGang& v) {
  a(v.job, v.attempt, v.placement, v.reason);
}
template <class A>
void Archive(A& a, StopGang& v) {
  a(v.job, v.attempt, v.grace, v.reason);
}
template <class A>
void Archive(A& a, RequeueJob& v) {
  a(v.job, v.attempt, v.reason);
}
template <class A>
void Archive(A& a, FinishJob& v) {
  a(v.job, v.end, v.reason);
}

}  // namespace muster::model
