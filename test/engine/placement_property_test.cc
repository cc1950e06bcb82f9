// SPDX-License-Identifier: Apache-2.0
// Placement against an exhaustive search on small random clusters: what is placed keeps every rule
// and is best by the order of semantics 2, and "not now" and "never" are said only where nothing
// fits.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "test/engine/builders.h"
#include "test/engine/random_case.h"
#include "test/engine/reference.h"

namespace muster::test {
namespace {

using engine::View;
using model::Outcome;
/// Jobs tried one after the other on each random cluster.
constexpr int kJobsEach = 6;
using Counts = std::set<std::int64_t>;  ///< how many replicas a domain may host, rules kept

/// Nodes of a domain, and its child domains, found by asking every node where it is.
std::vector<model::NodeId> NodesIn(const View& view, int level, std::uint32_t domain) {
  std::vector<model::NodeId> nodes;
  for (std::uint32_t n = 0; n < view.node_count(); ++n) {
    if (!view.Node({n}).gone && view.DomainOf({n}, level) == domain) nodes.push_back({n});
  }
  return nodes;
}
std::set<std::uint32_t> ChildrenOf(const View& view, int level, std::uint32_t domain) {
  std::set<std::uint32_t> children;
  for (const model::NodeId node : NodesIn(view, level, domain))
    children.insert(view.DomainOf(node, level - 1));
  return children;
}

/// One group against the nodes as they are, tried with one device model.
struct Reference {
  const View& view;
  const model::GangRequest& request;
  std::vector<Left> left;
  std::string device_model;

  bool Keeps(int level, std::int64_t count) const {
    for (const model::Segment& segment : request.topology.segments) {
      if (LevelNamed(view, segment.level) == level && count % segment.size != 0) return false;
    }
    const std::string& apart = request.topology.anti_affinity;
    return apart.empty() || LevelNamed(view, apart) < level ||
           count <= 1;  // and inside one of them
  }
  Counts In(int level, std::uint32_t domain) const {
    Counts counts = {0};
    if (level == 0) {
      const model::NodeId node = NodesIn(view, 0, domain).front();
      const std::int64_t room =
          RoomOn(view, node, left[node.value], request.groups[0].shape, device_model);
      for (std::int64_t i = 1; i <= room; ++i) counts.insert(i);
    } else {
      for (const std::uint32_t child : ChildrenOf(view, level, domain)) {
        Counts sums;
        for (const std::int64_t a : In(level - 1, child)) {
          for (const std::int64_t b : counts) sums.insert(a + b);
        }
        counts = std::move(sums);
      }
    }
    std::erase_if(counts, [&](std::int64_t count) { return !Keeps(level, count); });
    return counts;
  }
  std::int64_t Room(int level, std::uint32_t domain) const { return *In(level, domain).rbegin(); }
  /// Domains of the level that can host `need` replicas without breaking a rule above it.
  std::vector<std::uint32_t> Hosts(int level, std::int64_t need) const {
    std::vector<std::uint32_t> hosts;
    for (int above = level; above < view.level_count(); ++above) {
      if (!Keeps(above, need)) return hosts;
    }
    for (std::uint32_t d = 0; d < view.DomainCount(level); ++d) {
      if (In(level, d).contains(need)) hosts.push_back(d);
    }
    return hosts;
  }
};

/// Every domain that the gang was broken down into uses as few children as its share needs.
void CheckFewestChildren(const Reference& reference, const model::GangPlacement& placement,
                         int level, std::uint32_t domain) {
  if (level == 0) return;
  const View& view = reference.view;
  std::int64_t share = 0;
  std::set<std::uint32_t> used;
  for (const model::ReplicaPlacement& rank : placement.ranks) {
    if (view.DomainOf(rank.node, level) != domain) continue;
    ++share;
    used.insert(view.DomainOf(rank.node, level - 1));
  }
  std::vector<std::int64_t> rooms;
  for (const std::uint32_t child : ChildrenOf(view, level, domain)) {
    rooms.push_back(reference.Room(level - 1, child));
  }
  std::ranges::sort(rooms, std::ranges::greater{});
  std::size_t fewest = 0;
  for (std::int64_t sum = 0; sum < share; ++fewest) sum += rooms[fewest];
  RC_ASSERT(used.size() == fewest);
  for (const std::uint32_t child : used)
    CheckFewestChildren(reference, placement, level - 1, child);
}

/// Room in the best domain of `level`, and the sizes that the group may have, largest first.
std::vector<std::int32_t> SizesOf(const model::TaskGroup& group) {
  std::vector<std::int32_t> sizes = {group.replicas};
  std::int32_t size = group.min_replicas;
  while (size + group.step < group.replicas) size += group.step;
  for (; size >= group.min_replicas; size -= group.step) {
    if (size < group.replicas) sizes.push_back(size);
  }
  return sizes;
}

/// The size that the reference would start with this device model at this level, or nothing.
std::optional<std::int32_t> SizeFor(const Reference& reference, int level) {
  for (const std::int32_t size : SizesOf(reference.request.groups[0])) {
    if (!reference.Hosts(level, size).empty()) return size;
  }
  return std::nullopt;
}

model::GangRequest DrawSingle(const RandomCase& c, bool rules) {
  model::GangRequest request = Gang(1 + Draw(10), 1);
  model::TaskGroup& group = request.groups[0];
  group.shape = DrawShape();
  request.topology.required = DrawLevel(c);
  std::int32_t unit = 1;
  if (rules && DrawOneIn(2)) {
    unit = 1 + Draw(3);
    request.topology.segments = {{unit, DrawLevel(c)}};
    if (DrawOneIn(3)) request.topology.segments.push_back({unit *= 2, DrawLevel(c)});
  }
  if (rules && DrawOneIn(3)) request.topology.anti_affinity = DrawLevel(c);
  for (model::Segment& segment : request.topology.segments) {
    if (segment.level.empty()) segment.level = "leaf";
  }
  group.replicas = group.min_replicas = group.replicas * unit;
  if (DrawOneIn(3)) {
    group.min_replicas = unit * (1 + Draw(group.replicas / unit));
    group.step = unit * (1 + Draw(3));
  }
  return request;
}

/// For the log of a failing case.
std::string Describe(const model::GangRequest& request) {
  const model::TaskGroup& group = request.groups[0];
  std::string text =
      base::Format("{}..{} step {} of {} mGPU {} mCPU, required '{}' apart '{}'",
                   group.min_replicas, group.replicas, group.step, group.shape.gpu.value(),
                   group.shape.cpu.value_or(base::MilliCpu{}).value(), request.topology.required,
                   request.topology.anti_affinity);
  for (const model::Segment& segment : request.topology.segments) {
    text += base::Format(" segment {} {}", segment.size, segment.level);
  }
  return text;
}

void CheckSingle(RandomCase& c, bool rules) {
  const model::GangRequest request = DrawSingle(c, rules);
  const View before = c.world.engine.view();
  const model::JobId job = c.world.Submit(request);
  const std::vector<Left> left = LeftNow(before, job);
  const int fabric = c.fabric.empty() ? before.level_count() - 1 : LevelNamed(before, c.fabric);
  const int required = std::min(LevelNamed(before, request.topology.required), fabric);
  c.world.Decide();
  RC_ASSERT(c.world.engine.Verify() == "");

  std::optional<std::int32_t> size;
  Reference reference{before, request, left, ""};
  for (const std::string& device_model : ModelsTried(before, request.groups[0].shape)) {
    reference.device_model = device_model;
    size = SizeFor(reference, required);
    if (size) break;
  }
  RC_ASSERT(c.world.Holds(job) == size.has_value());
  if (!size) {
    const engine::Explanation why = c.world.Why(job);
    RC_ASSERT(why.outcome == Outcome::kNotNow || why.outcome == Outcome::kNever);
    if (why.outcome != Outcome::kNever) return;
    for (const std::string& device_model : ModelsTried(before, request.groups[0].shape)) {
      const Reference empty{before, request, LeftWhenEmpty(before), device_model};
      RC_ASSERT(!SizeFor(empty, required).has_value());
    }
    return;
  }
  const auto placement = c.world.Job(job).placement;
  RC_LOG() << Describe(request) << " on level " << int{placement->level} << "\n";
  RC_ASSERT(
      CheckPlacement(before, request, *placement, left, request.topology.required, c.fabric) == "");
  RC_ASSERT(placement->group_sizes.front() == *size);
  int lowest = 0;
  while (reference.Hosts(lowest, *size).empty()) ++lowest;
  RC_ASSERT(int{placement->level} == lowest);
  const std::uint32_t chosen = before.DomainOf(placement->ranks.front().node, lowest);
  for (const std::uint32_t host : reference.Hosts(lowest, *size)) {
    RC_ASSERT(reference.Room(lowest, chosen) <= reference.Room(lowest, host));
  }
  CheckFewestChildren(reference, *placement, lowest, chosen);
}

RC_GTEST_PROP(PlacementProperty, SingleGroupIsPlacedAsTheExhaustiveSearchSays, ()) {
  RandomCase c = DrawCase();
  for (int jobs = 0; jobs < kJobsEach; ++jobs) CheckSingle(c, false);
}

RC_GTEST_PROP(PlacementProperty, SegmentsAndAntiAffinityAsTheExhaustiveSearchSays, ()) {
  RandomCase c = DrawCase();
  for (int jobs = 0; jobs < kJobsEach; ++jobs) CheckSingle(c, true);
}

/// Can `need` replicas be spread over the domains of `level` inside `inside`? Domains that could
/// host none even when empty do not count.
bool SpreadFits(const Reference& now, const Reference& empty, int required, std::uint32_t inside,
                int level, std::int64_t need) {
  const View& view = now.view;
  std::set<std::uint32_t> domains;
  for (const model::NodeId node : NodesIn(view, required, inside))
    domains.insert(view.DomainOf(node, level));
  std::erase_if(domains, [&](std::uint32_t d) { return empty.Room(level, d) == 0; });
  for (std::int64_t low = 0; low <= need; ++low) {
    Counts sums = {0};
    for (const std::uint32_t d : domains) {
      Counts next;
      const std::int64_t room = now.Room(level, d);
      for (std::int64_t i = low; i <= std::min(room, low + now.request.topology.spread->max_skew);
           ++i) {
        for (const std::int64_t sum : sums) next.insert(sum + i);
      }
      sums = std::move(next);
    }
    if (sums.contains(need)) return true;
  }
  return false;
}

RC_GTEST_PROP(PlacementProperty, SpreadIsExact, ()) {
  RandomCase c = DrawCase();
  model::GangRequest request = Gang(1 + Draw(10), 1);
  request.groups[0].shape = DrawShape();
  request.groups[0].shape.mixed_models =
      true;  // one way to fill it: the choice of models is tested elsewhere
  request.topology.required = DrawLevel(c);
  request.topology.spread = model::Spread{DrawLevel(c), 1 + Draw(2)};
  if (request.topology.spread->level.empty()) request.topology.spread->level = "leaf";
  const View before = c.world.engine.view();
  const model::JobId job = c.world.Submit(request);
  const std::vector<Left> left = LeftNow(before, job);
  const Reference now{before, request, left, ""};
  const Reference empty{before, request, LeftWhenEmpty(before), ""};
  const int fabric = c.fabric.empty() ? before.level_count() - 1 : LevelNamed(before, c.fabric);
  const int required = std::min(LevelNamed(before, request.topology.required), fabric);
  const int level = LevelNamed(before, request.topology.spread->level);
  RC_PRE(level < required);
  c.world.Decide();
  bool fits = false;
  for (std::uint32_t d = 0; d < before.DomainCount(required); ++d) {
    fits = fits || SpreadFits(now, empty, required, d, level, request.groups[0].replicas);
  }
  const engine::Explanation why = c.world.Why(job);
  if (!fits) {
    RC_ASSERT(!c.world.Holds(job));
    RC_ASSERT(why.outcome == Outcome::kNotNow || why.outcome == Outcome::kNever);
    return;
  }
  RC_ASSERT(c.world.Holds(job));
  const auto placement = c.world.Job(job).placement;
  RC_ASSERT(
      CheckPlacement(before, request, *placement, left, request.topology.required, c.fabric) == "");
  const std::uint32_t inside = before.DomainOf(placement->ranks.front().node, required);
  std::set<std::uint32_t> domains;
  for (const model::NodeId node : NodesIn(before, required, inside)) {
    if (empty.Room(level, before.DomainOf(node, level)) > 0)
      domains.insert(before.DomainOf(node, level));
  }
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (const std::uint32_t d : domains) {
    const auto count =
        std::ranges::count_if(placement->ranks, [&](const model::ReplicaPlacement& rank) {
          return before.DomainOf(rank.node, level) == d;
        });
    least = std::min<std::int64_t>(least, count);
    most = std::max<std::int64_t>(most, count);
  }
  RC_ASSERT(most - least <= request.topology.spread->max_skew);
}

/// Can both groups be hosted together inside one domain of `required`? Goes over the nodes and
/// keeps every pair of counts that can be reached.
bool PairFits(const View& view, const model::GangRequest& request, const std::vector<Left>& left,
              int required) {
  const model::TaskGroup& a = request.groups[0];
  const model::TaskGroup& b = request.groups[1];
  for (const std::string& model_a : ModelsTried(view, a.shape)) {
    for (const std::string& model_b : ModelsTried(view, b.shape)) {
      for (std::uint32_t domain = 0; domain < view.DomainCount(required); ++domain) {
        std::set<std::pair<std::int64_t, std::int64_t>> reached = {{0, 0}};
        for (const model::NodeId node : NodesIn(view, required, domain)) {
          const model::NodeSpec& spec = *view.Node(node).spec;
          const Left& rest = left[node.value];
          const Take take_a = TakeOf(a.shape, spec);
          const Take take_b = TakeOf(b.shape, spec);
          const auto usable_a = rest.devices & Usable(a.shape, spec, model_a);
          const auto usable_b = rest.devices & Usable(b.shape, spec, model_b);
          const std::int64_t most_a =
              std::min<std::int64_t>(a.replicas, RoomOn(view, node, rest, a.shape, model_a));
          const std::int64_t most_b =
              std::min<std::int64_t>(b.replicas, RoomOn(view, node, rest, b.shape, model_b));
          std::set<std::pair<std::int64_t, std::int64_t>> next;
          for (std::int64_t i = 0; i <= most_a; ++i) {
            for (std::int64_t j = 0; j <= most_b; ++j) {
              if (i * take_a.devices + j * take_b.devices > std::popcount(usable_a | usable_b))
                break;
              const bool both = i > 0 && j > 0;
              if (both && (i * take_a.cpu + j * take_b.cpu > rest.cpu ||
                           i * take_a.memory + j * take_b.memory > rest.memory ||
                           i * take_a.nics + j * take_b.nics > rest.nics)) {
                break;
              }
              for (const auto& [x, y] : reached) {
                next.emplace(std::min<std::int64_t>(a.replicas, x + i),
                             std::min<std::int64_t>(b.replicas, y + j));
              }
            }
          }
          reached = std::move(next);
        }
        if (reached.contains({a.replicas, b.replicas})) return true;
      }
    }
  }
  return false;
}

void CheckPair(RandomCase& c) {
  model::GangRequest request;
  request.groups = {Group(1 + Draw(6), 1, "a"), Group(1 + Draw(3), 1, "b")};
  for (model::TaskGroup& group : request.groups) group.shape = DrawShape();
  request.topology.required = DrawLevel(c);
  const View before = c.world.engine.view();
  const model::JobId job = c.world.Submit(request);
  const std::vector<Left> left = LeftNow(before, job);
  const auto snapshot = c.world.engine.Snapshot();
  c.world.Decide();
  RC_ASSERT(c.world.engine.Verify() == "");
  if (c.world.Holds(job)) {
    RC_ASSERT(CheckPlacement(before, request, *c.world.Job(job).placement, left,
                             request.topology.required, c.fabric) == "");
    return;
  }
  RC_ASSERT(c.world.engine.Snapshot() == snapshot);  // the trials left nothing behind
  const int fabric = c.fabric.empty() ? before.level_count() - 1 : LevelNamed(before, c.fabric);
  const int required = std::min(LevelNamed(before, request.topology.required), fabric);
  const engine::Explanation why = c.world.Why(job);
  if (why.outcome == Outcome::kNotNow) RC_ASSERT(!PairFits(before, request, left, required));
  if (why.outcome == Outcome::kNever) {
    RC_ASSERT(!PairFits(before, request, LeftWhenEmpty(before), required));
  }
}

RC_GTEST_PROP(PlacementProperty, TwoGroupsKeepEveryRuleAndNoProofIsFalse, ()) {
  RandomCase c = DrawCase();
  for (int jobs = 0; jobs < kJobsEach; ++jobs) CheckPair(c);
}

}  // namespace
}  // namespace muster::test
