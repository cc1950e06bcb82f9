// SPDX-License-Identifier: Apache-2.0
#include "server/usage.h"

#include <algorithm>
#include <bit>
#include <string>

#include "server/tables.h"

namespace muster::server {
namespace {

constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;

bool IsLoss(model::ReasonCode why) {
  return why == model::ReasonCode::kTaskFailed || why == model::ReasonCode::kNodeLost ||
         why == model::ReasonCode::kRestartLimit || why == model::ReasonCode::kRequeued;
}

/// Devices by model and CPUs that the attempt held.
struct Held {
  std::map<std::string, std::int64_t> devices;
  std::int64_t milli_cpu = 0;
};

Held HeldBy(const model::GangPlacement& placement, const engine::View& view) {
  Held held;
  for (const model::ReplicaPlacement& rank : placement.ranks) {
    held.milli_cpu += rank.cpu.value();
    const auto spec = view.Node(rank.node).spec;
    for (std::size_t i = 0; i < spec->devices.size(); ++i) {
      if ((rank.devices >> i & 1) != 0) ++held.devices[spec->devices[i].model];
    }
  }
  // CPU time has one row: that of the first model, or of no model.
  if (held.devices.empty()) held.devices[""] = 0;
  return held;
}

}  // namespace

void AddUsage(UsageDays& days, const JobRecord& job, const AttemptRecord& attempt,
              const engine::View& view) {
  const Held held = HeldBy(*attempt.placement, view);
  base::Instant lost_from = attempt.ended;
  if (IsLoss(attempt.why)) {
    lost_from = attempt.placed;
    if (job.checkpoint != nullptr && job.checkpoint->attempt == attempt.number)
      lost_from = std::max(lost_from, job.checkpoint->at);
  }
  for (std::int64_t from = attempt.placed.us; from < attempt.ended.us;) {
    const std::int64_t day = from / kDayUs;
    const std::int64_t to = std::min((day + 1) * kDayUs, attempt.ended.us);
    const std::int64_t lost = std::max<std::int64_t>(0, to - std::max(from, lost_from.us));
    std::shared_ptr<const UsageDay>& rows = days[day];
    auto changed = rows == nullptr ? UsageDay{} : *rows;
    bool first = true;
    for (const auto& [model, count] : held.devices) {
      UsageRow& row = changed[{day, job.queue, job.owner.user, model}];
      row.allocated_us += count * (to - from);
      row.lost_us += count * lost;
      if (first) row.cpu_us += held.milli_cpu * (to - from) / 1000;
      first = false;
    }
    rows = std::make_shared<const UsageDay>(std::move(changed));
    from = to;
  }
  while (days.size() > kKeptUsageDays) days.erase(days.begin());
}

}  // namespace muster::server
