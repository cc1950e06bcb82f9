// SPDX-License-Identifier: Apache-2.0
// A placement strategy says which of several domains that would do is taken. What fits at all, and
// the search through the levels, are the same for all of them (place.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace muster::engine {

/// A child domain, as an index into the children shown, and how many replicas go there.
struct Pick {
  std::uint32_t child = 0;
  std::int32_t replicas = 0;
  friend bool operator==(const Pick&, const Pick&) = default;
};

struct Strategy {
  std::string_view name;
  std::string_view summary;
  /// True: looks for the lowest level that holds the gang and descends level by level. False: looks
  /// at the nodes of the allowed domain directly (segments are kept all the same).
  bool descends = true;
  /// One of the domains whose room is at least `need` (there is one).
  std::uint32_t (*choose_domain)(std::span<const std::int32_t> room, std::int32_t need,
                                 base::Rng& rng);
  /// Children that carry `need` together (their sum suffices). Takes whole rooms but for one pick,
  /// so that multiples stay multiples.
  std::vector<Pick> (*choose_children)(std::span<const std::int32_t> room, std::int32_t need,
                                       base::Rng& rng);
};

/// All strategies; the first is the default.
std::span<const Strategy> Strategies();
/// Null for an unknown name.
const Strategy* FindStrategy(std::string_view name);

// The rows' functions, one file each.
std::uint32_t ChooseTightestDomain(std::span<const std::int32_t> room, std::int32_t need,
                                   base::Rng& rng);
std::vector<Pick> ChooseFewestChildren(std::span<const std::int32_t> room, std::int32_t need,
                                       base::Rng& rng);
std::uint32_t ChooseFirstDomain(std::span<const std::int32_t> room, std::int32_t need,
                                base::Rng& rng);
std::vector<Pick> ChooseFirstChildren(std::span<const std::int32_t> room, std::int32_t need,
                                      base::Rng& rng);
std::uint32_t ChooseEmptiestDomain(std::span<const std::int32_t> room, std::int32_t need,
                                   base::Rng& rng);
std::vector<Pick> ChooseEmptiestChildren(std::span<const std::int32_t> room, std::int32_t need,
                                         base::Rng& rng);
std::uint32_t ChooseRandomDomain(std::span<const std::int32_t> room, std::int32_t need,
                                 base::Rng& rng);
std::vector<Pick> ChooseRandomChildren(std::span<const std::int32_t> room, std::int32_t need,
                                       base::Rng& rng);

}  // namespace muster::engine
