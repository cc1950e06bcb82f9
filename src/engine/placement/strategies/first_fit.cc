// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/placement/strategy.h"

namespace muster::engine {

std::uint32_t ChooseFirstDomain(std::span<const std::int32_t> room, std::int32_t need, base::Rng&) {
  const auto at = std::ranges::find_if(room, [need](std::int32_t r) { return r >= need; });
  return static_cast<std::uint32_t>(at - room.begin());
}

std::vector<Pick> ChooseFirstChildren(std::span<const std::int32_t> room, std::int32_t need,
                                      base::Rng&) {
  std::vector<Pick> chosen;
  for (std::uint32_t i = 0; i < room.size() && need > 0; ++i) {
    if (room[i] <= 0) continue;
    chosen.push_back({i, std::min(room[i], need)});
    need -= chosen.back().replicas;
  }
  return chosen;
}

}  // namespace muster::engine
