// SPDX-License-Identifier: Apache-2.0
// Why something was, or was not, done. The same value is the audit entry, the explanation and the
// metric label.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::model {

enum class ReasonCode : std::uint8_t {
  // What keeps a replica off a node. In the order in which a node is judged: the first that applies
  // counts.
  kNodeNotReady,  ///< cordoned, draining, in maintenance, down or in probation
  kLabelMismatch,
  kTaintNotTolerated,
  kWrongModel,
  kDeviceMemoryShort,
  kNodeTooSmall,       ///< would not fit even on the empty node
  kFractionAnonymous,  ///< a fraction of a device on a node that only counts devices
  kDevicesFaulty,      ///< enough devices, but too few healthy ones
  kDevicesForeign,     ///< enough devices, but others use them
  kDevicesBusy,
  kCpuShort,
  kMemoryShort,
  kNicsShort,
  kExtendedShort,  ///< a named resource
  // What keeps a gang from starting although replicas fit.
  kTopology,  ///< room enough in all, not inside one domain of the required level
  kSegment,   ///< room enough, not in whole segments
  kSpread,
  kAntiAffinity,
  kFabric,        ///< room enough in all, not inside one fabric
  kTogether,      ///< each group fits alone, not all at once
  kCapacity,      ///< too little room in all
  kSearchLimit,   ///< the search ended before an answer was proved
  kUnknownLevel,  ///< names a topology level that the cluster does not have
  kUnknownQueue,
  // Why a job is not even considered.
  kBehindHead,  ///< strict queue: an earlier job waits
  kHeldByUser,
  kStartAfter,
  // Why something was decided.
  kPlaced,
  kCancelled,
  kCompleted,
  kTaskFailed,
  kNodeLost,
  kTimeLimit,
  kRestartLimit,
  // Numbers are recorded, so what is new comes last, whatever it belongs to.
  kRequeued,      ///< an operator or the owner wanted it back in the queue
  kStartsPaused,  ///< why a job is not even considered: nothing is started
  kLast = kStartsPaused,
};
inline constexpr int kReasonCodes = static_cast<int>(ReasonCode::kLast) + 1;

/// "devices-busy": for labels and JSON.
std::string_view Name(ReasonCode code);
/// "GPUs in use": for people.
std::string_view Text(ReasonCode code);

/// A cause with how often it applied (nodes, or replicas short; the context says which).
struct Reason {
  ReasonCode code = ReasonCode::kPlaced;
  std::int64_t count = 0;
  friend bool operator==(const Reason&, const Reason&) = default;
};

template <class A>
void Archive(A& a, Reason& v) {
  a(v.code, v.count);
}

/// What became of an attempt to place a gang.
enum class Outcome : std::uint8_t {
  kPlaced,
  kNotNow,       ///< proved: it does not fit the present state
  kNever,        ///< proved: it would not fit the empty cluster as it stands
  kSearchEnded,  ///< the bounded search found nothing; no proof
  kLast = kSearchEnded,
};
std::string_view Name(Outcome outcome);

}  // namespace muster::model
