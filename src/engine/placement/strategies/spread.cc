// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/placement/strategy.h"

namespace muster::engine {

std::uint32_t ChooseEmptiestDomain(std::span<const std::int32_t> room, std::int32_t, base::Rng&) {
  return static_cast<std::uint32_t>(std::ranges::max_element(room) - room.begin());
}

std::vector<Pick> ChooseEmptiestChildren(std::span<const std::int32_t> room, std::int32_t need,
                                         base::Rng&) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < room.size(); ++i) {
    if (room[i] > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [room](std::uint32_t a, std::uint32_t b) { return room[a] > room[b]; });
  std::vector<Pick> chosen;
  for (const std::uint32_t child : order) {
    if (need == 0) break;
    chosen.push_back({child, std::min(room[child], need)});
    need -= chosen.back().replicas;
  }
  return chosen;
}

}  // namespace muster::engine
