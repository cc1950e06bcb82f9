// SPDX-License-Identifier: Apache-2.0
// Keeps gangs together and large domains whole.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "engine/placement/strategy.h"

namespace muster::engine {
namespace {

struct Child {
  std::int32_t room = 0;
  std::uint32_t index = 0;
};

/// Children with room, most room first, equal ones by index. Rooms are small numbers, so many
/// children are sorted by counting.
std::vector<Child> ByFallingRoom(std::span<const std::int32_t> room) {
  std::vector<Child> children;
  std::int32_t most = 0;
  for (std::uint32_t i = 0; i < room.size(); ++i) {
    if (room[i] <= 0) continue;
    children.push_back({room[i], i});
    most = std::max(most, room[i]);
  }
  constexpr std::size_t kFewChildren = 64;  // below, comparing is as fast
  if (children.size() <= kFewChildren || static_cast<std::size_t>(most) > children.size()) {
    std::ranges::sort(children, [](const Child& a, const Child& b) {
      return a.room != b.room ? a.room > b.room : a.index < b.index;
    });
    return children;
  }
  std::vector<std::uint32_t> start(static_cast<std::size_t>(most) + 2);
  for (const Child& child : children) ++start[static_cast<std::size_t>(most - child.room) + 1];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<Child> sorted(children.size());
  for (const Child& child : children)
    sorted[start[static_cast<std::size_t>(most - child.room)]++] = child;
  return sorted;
}

/// Children of equal room: [next, end) of the sorted list are not taken yet.
struct Run {
  std::int32_t room = 0;
  std::size_t next = 0;
  std::size_t end = 0;
};

std::vector<Run> RunsOf(const std::vector<Child>& children) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (runs.empty() || runs.back().room != children[i].room) {
      runs.push_back({.room = children[i].room, .next = i, .end = i});
    }
    ++runs.back().end;
  }
  return runs;
}

/// Sums of the largest 0, 1, 2, ... rooms until they reach `need`: as many entries as children are
/// needed, plus one.
std::vector<std::int64_t> SumsUntil(const std::vector<Child>& children, std::int32_t need) {
  std::vector<std::int64_t> sums = {0};
  for (const Child& child : children) {
    if (sums.back() >= need) break;
    sums.push_back(sums.back() + child.room);
  }
  MUSTER_CHECK(sums.back() >= need);
  return sums;
}

}  // namespace

std::uint32_t ChooseTightestDomain(std::span<const std::int32_t> room, std::int32_t need,
                                   base::Rng&) {
  // Two passes that vectorise: the least sufficient room, then where it is first.
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t r : room)
    least = std::min(least, r >= need ? r : std::numeric_limits<std::int32_t>::max());
  return static_cast<std::uint32_t>(std::ranges::find(room, least) - room.begin());
}

/// The fewest children whose rooms reach `need`; among such sets, small rooms go first: each pick
/// is the smallest that still lets the largest others finish. Large domains stay whole, and the
/// last ranks do not open a big empty domain.
std::vector<Pick> ChooseFewestChildren(std::span<const std::int32_t> room, std::int32_t need,
                                       base::Rng&) {
  const std::vector<Child> children = ByFallingRoom(room);
  const std::vector<std::int64_t> sums = SumsUntil(children, need);
  std::vector<Run> runs = RunsOf(children);
  const std::size_t picks = sums.size() - 1;
  std::vector<Pick> chosen;
  chosen.reserve(picks);
  std::int32_t rest = need;
  for (std::size_t i = 1; i <= picks; ++i) {
    const std::int64_t least = std::max<std::int64_t>(1, rest - sums[picks - i]);
    auto run = std::ranges::partition_point(runs, [&](const Run& r) { return r.room >= least; });
    do --run;
    while (run->next == run->end);
    const std::int32_t replicas = std::min(run->room, rest);
    chosen.push_back({children[run->next++].index, replicas});
    rest -= replicas;
  }
  MUSTER_CHECK(rest == 0);
  return chosen;
}

}  // namespace muster::engine
