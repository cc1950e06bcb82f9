// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "engine/placement/strategy.h"

namespace muster::engine {

std::uint32_t ChooseRandomDomain(std::span<const std::int32_t> room, std::int32_t need,
                                 base::Rng& rng) {
  const auto fits = std::ranges::count_if(room, [need](std::int32_t r) { return r >= need; });
  auto draw = rng.Below(static_cast<std::uint64_t>(fits));
  for (std::uint32_t i = 0; i < room.size(); ++i) {
    if (room[i] >= need && draw-- == 0) return i;
  }
  return 0;  // not reached: one of the `fits` was drawn
}

std::vector<Pick> ChooseRandomChildren(std::span<const std::int32_t> room, std::int32_t need,
                                       base::Rng& rng) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < room.size(); ++i) {
    if (room[i] > 0) order.push_back(i);
  }
  std::vector<Pick> chosen;
  for (std::size_t i = 0; i < order.size() && need > 0; ++i) {  // Fisher-Yates, as far as needed
    std::swap(order[i], order[i + rng.Below(order.size() - i)]);
    chosen.push_back({order[i], std::min(room[order[i]], need)});
    need -= chosen.back().replicas;
  }
  return chosen;
}

}  // namespace muster::engine
