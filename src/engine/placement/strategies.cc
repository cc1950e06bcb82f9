// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "engine/placement/strategy.h"

namespace muster::engine {
namespace {

constexpr std::array kStrategies = {
    Strategy{"topology", "lowest level that holds the gang, tightest domain, fewest children", true,
             &ChooseTightestDomain, &ChooseFewestChildren},
    Strategy{"first-fit", "first nodes in topology order", false, &ChooseFirstDomain,
             &ChooseFirstChildren},
    Strategy{"spread", "emptiest nodes first", false, &ChooseEmptiestDomain,
             &ChooseEmptiestChildren},
    Strategy{"random", "nodes drawn by lot: a baseline for comparisons", false, &ChooseRandomDomain,
             &ChooseRandomChildren},
};

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

const Strategy* FindStrategy(std::string_view name) {
  const auto at = std::ranges::find(kStrategies, name, &Strategy::name);
  return at == kStrategies.end() ? nullptr : &*at;
}

}  // namespace muster::engine
