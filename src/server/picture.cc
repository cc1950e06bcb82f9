// SPDX-License-Identifier: Apache-2.0
#include "server/picture.h"

#include <algorithm>

namespace muster::server {

std::string_view Name(EventKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "submitted", "placed",     "running", "stopping", "requeued", "ended",
      "changed",   "checkpoint", "node",    "pause",    "policy"};
  static_assert(kNames.size() == static_cast<std::size_t>(EventKind::kLast) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

void Histogram::Add(base::Duration span) {
  const std::int64_t us = std::max<std::int64_t>(span.value(), 0);
  const auto* at = std::ranges::find_if(
      kHistogramBoundsMs, [us](std::int64_t bound_ms) { return us <= bound_ms * 1000; });
  ++buckets[static_cast<std::size_t>(at - kHistogramBoundsMs.begin())];
  sum_us += us;
  ++count;
}

}  // namespace muster::server
