// SPDX-License-Identifier: Apache-2.0
#include "model/reason.h"

#include <array>
#include <cstddef>

namespace muster::model {
namespace {

struct Row {
  ReasonCode code;
  std::string_view name;
  std::string_view text;
};

constexpr std::array<Row, kReasonCodes> kRows = {{
    {ReasonCode::kNodeNotReady, "node-not-ready", "node not ready"},
    {ReasonCode::kLabelMismatch, "label-mismatch", "label does not match"},
    {ReasonCode::kTaintNotTolerated, "taint-not-tolerated", "taint not tolerated"},
    {ReasonCode::kWrongModel, "wrong-model", "other GPU model"},
    {ReasonCode::kDeviceMemoryShort, "device-memory-short", "GPU memory too small"},
    {ReasonCode::kNodeTooSmall, "node-too-small", "node too small even when empty"},
    {ReasonCode::kFractionAnonymous, "fraction-anonymous", "GPU fractions need named devices"},
    {ReasonCode::kDevicesFaulty, "devices-faulty", "GPUs faulty"},
    {ReasonCode::kDevicesForeign, "devices-foreign", "GPUs used outside Muster"},
    {ReasonCode::kDevicesBusy, "devices-busy", "GPUs in use"},
    {ReasonCode::kCpuShort, "cpu-short", "short of CPU"},
    {ReasonCode::kMemoryShort, "memory-short", "short of memory"},
    {ReasonCode::kNicsShort, "nics-short", "short of NICs"},
    {ReasonCode::kExtendedShort, "extended-short", "short of a named resource"},
    {ReasonCode::kTopology, "topology", "room, but not in one domain of the required level"},
    {ReasonCode::kSegment, "segment", "room, but not in whole segments"},
    {ReasonCode::kSpread, "spread", "cannot be spread evenly enough"},
    {ReasonCode::kAntiAffinity, "anti-affinity", "too few separate domains"},
    {ReasonCode::kFabric, "fabric", "room, but not inside one fabric"},
    {ReasonCode::kTogether, "together", "each group fits alone, not all together"},
    {ReasonCode::kCapacity, "capacity", "too little free capacity"},
    {ReasonCode::kSearchLimit, "search-limit", "search ended without proof"},
    {ReasonCode::kUnknownLevel, "unknown-level", "the cluster has no such topology level"},
    {ReasonCode::kUnknownQueue, "unknown-queue", "the policy has no such queue"},
    {ReasonCode::kBehindHead, "behind-head", "an earlier job of the strict queue waits"},
    {ReasonCode::kHeldByUser, "held-by-user", "held"},
    {ReasonCode::kStartAfter, "start-after", "not before its start time"},
    {ReasonCode::kPlaced, "placed", "placed"},
    {ReasonCode::kCancelled, "cancelled", "cancelled"},
    {ReasonCode::kCompleted, "completed", "completed"},
    {ReasonCode::kTaskFailed, "task-failed", "a task failed"},
    {ReasonCode::kNodeLost, "node-lost", "a node was lost"},
    {ReasonCode::kTimeLimit, "time-limit", "time limit reached"},
    {ReasonCode::kRestartLimit, "restart-limit", "restart limit reached"},
    {ReasonCode::kRequeued, "requeued", "requeued"},
    {ReasonCode::kStartsPaused, "starts-paused", "starts are paused"},
}};

consteval bool RowsInOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].code != static_cast<ReasonCode>(i)) return false;
  }
  return true;
}
static_assert(RowsInOrder(), "one row per code, in the order of the enumeration");

}  // namespace

std::string_view Name(ReasonCode code) { return kRows[static_cast<std::size_t>(code)].name; }
std::string_view Text(ReasonCode code) { return kRows[static_cast<std::size_t>(code)].text; }

std::string_view Name(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"placed", "not-now", "never", "search-ended"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace muster::model
