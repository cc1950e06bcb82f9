// SPDX-License-Identifier: Apache-2.0
#include "engine/capacity/profile.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace muster::engine {
namespace {

constexpr std::int32_t kHighestBit = 63;

std::uint64_t RoomBit(std::int32_t room) { return std::uint64_t{1} << std::min(room, kHighestBit); }

/// Domain `a` of `level` has less room around it than `b`, looking outwards level by level.
bool IsTighter(const Profile& profile, const Topology& topology, LevelIndex level, DomainIndex a,
               DomainIndex b) {
  for (; level < topology.top() && a != b; ++level) {
    const auto capacity = profile.capacity(level);
    if (capacity[a] != capacity[b]) return capacity[a] < capacity[b];
    a = topology.domain(level, a).parent;
    b = topology.domain(level, b).parent;
  }
  return false;
}

}  // namespace

std::int32_t Profile::SlotsAt(const State& state, Position position) const {
  if (shape_->HasSelector() && !eligible_[position]) return 0;
  const NodeRow& row = state.node(state.tables().topology->node_at(position));
  return mode_ == Mode::kNow ? Slots(*shape_, state.tables(), row)
                             : SlotsWhenEmpty(*shape_, state.tables(), row);
}

std::int64_t Profile::CatchUp(const State& state) {
  const Topology& topology = *state.tables().topology;
  const auto changes = state.ChangesSince(log_position_);
  const bool behind = !changes || changes->size() > topology.node_count();
  const bool stale = levels_.empty() || topology_version_ != state.topology_version() ||
                     (behind && mode_ == Mode::kNow);
  if (stale) {
    Rebuild(state);
    topology_version_ = state.topology_version();
    log_position_ = state.change_end();
    return topology.node_count();
  }
  if (mode_ == Mode::kWhenEmpty) return 0;  // what runs, and in which state, makes no difference
  // News first, so that it counts even where a trial touched the same node.
  for (const bool trial : {false, true}) {
    for (const NodeChange& change : *changes) {
      if (change.trial == trial) Update(topology, change, SlotsAt(state, change.position));
    }
  }
  log_position_ = state.change_end();
  return static_cast<std::int64_t>(changes->size());
}

void Profile::Rebuild(const State& state) {
  const Topology& topology = *state.tables().topology;
  ++growth_;
  if (shape_->HasSelector()) {
    eligible_.resize(topology.node_count());
    for (Position p = 0; p < topology.node_count(); ++p) {
      eligible_[p] = LabelsMatch(shape_->request(), *state.node(topology.node_at(p)).spec);
    }
  }
  levels_.assign(static_cast<std::size_t>(topology.level_count()), {});
  for (LevelIndex level = 0; level < topology.level_count(); ++level) {
    LevelRoom& room = levels_[static_cast<std::size_t>(level)];
    const auto& domains = topology.domains(level);
    room.capacity.assign(domains.size(), 0);
    for (DomainIndex d = 0; d < domains.size(); ++d) {
      if (level == 0) {
        room.capacity[d] = SlotsAt(state, d);
        continue;
      }
      const auto& below = levels_[static_cast<std::size_t>(level - 1)].capacity;
      for (DomainIndex c = domains[d].first_child; c < domains[d].child_end; ++c) {
        room.capacity[d] += below[c];
      }
    }
    if (!HasRule(level)) continue;
    room.raw = room.capacity;
    for (std::int32_t& capacity : room.capacity) capacity = Rule(level).Apply(capacity);
  }
  present_.assign(topology.domains(1).size(), 0);
  for (Position p = 0; p < topology.node_count(); ++p) {
    present_[topology.DomainAt(1, p)] |= RoomBit(levels_.front().capacity[p]);
  }
}

Position Profile::TightestNode(const Topology& topology, LevelIndex level, DomainIndex index,
                               std::int32_t need) const {
  const Topology::Domain& range = topology.domain(level, index);
  if (range.begin == range.end) return kNoPosition;
  const DomainIndex first = topology.DomainAt(1, range.begin);
  const DomainIndex end = topology.DomainAt(1, range.end - 1) + 1;
  const std::uint64_t enough = ~std::uint64_t{0} << std::min(need, kHighestBit);
  std::uint64_t present = 0;
  for (DomainIndex d = first; d < end; ++d) present |= present_[d] & enough;
  if (present == 0) return kNoPosition;

  const auto& room = levels_.front().capacity;
  std::int32_t least = std::countr_zero(present);
  if (least == kHighestBit) {  // the exact amount is not in the bits
    least = std::numeric_limits<std::int32_t>::max();
    for (Position p = range.begin; p < range.end; ++p) {
      if (room[p] >= need) least = std::min(least, room[p]);
    }
    if (least == std::numeric_limits<std::int32_t>::max()) return kNoPosition;
  }
  Position best = kNoPosition;
  DomainIndex best_domain = 0;
  for (DomainIndex d = first; d < end; ++d) {
    if ((present_[d] & RoomBit(least)) == 0) continue;
    if (best != kNoPosition && !IsTighter(*this, topology, 1, d, best_domain)) continue;
    const Topology::Domain& domain = topology.domain(1, d);
    const auto at = std::find(room.begin() + domain.begin, room.begin() + domain.end, least);
    if (at == room.begin() + domain.end) continue;
    best = static_cast<Position>(at - room.begin());
    best_domain = d;
  }
  return best;
}

void Profile::UpdatePresent(const Topology& topology, Position position, std::int32_t before,
                            std::int32_t after) {
  const DomainIndex d = topology.DomainAt(1, position);
  const Topology::Domain& domain = topology.domain(1, d);
  const auto& room = levels_.front().capacity;
  // Usually another node has as much room as this one had, and is found soon.
  const bool still =
      std::any_of(room.begin() + domain.begin, room.begin() + domain.end,
                  [before](std::int32_t r) { return RoomBit(r) == RoomBit(before); });
  if (!still) present_[d] &= ~RoomBit(before);
  present_[d] |= RoomBit(after);
}

void Profile::Update(const Topology& topology, NodeChange change, std::int32_t slots) {
  const Position position = change.position;
  LevelRoom* room = &levels_.front();
  const std::int32_t ruled_before = room->capacity[position];
  const std::int32_t before = room->raw.empty() ? room->capacity[position] : room->raw[position];
  std::int32_t delta = slots - before;
  if (delta == 0) return;
  if (!change.trial && delta > 0) ++growth_;
  for (LevelIndex level = 0; level < topology.level_count() && delta != 0; ++level) {
    room = &levels_[static_cast<std::size_t>(level)];
    const DomainIndex d = topology.DomainAt(level, position);
    if (room->raw.empty()) {
      room->capacity[d] += delta;
      continue;
    }
    room->raw[d] += delta;
    const std::int32_t ruled = Rule(level).Apply(room->raw[d]);
    delta = ruled - room->capacity[d];
    room->capacity[d] = ruled;
  }
  const std::int32_t ruled_after = levels_.front().capacity[position];
  if (ruled_after != ruled_before) UpdatePresent(topology, position, ruled_before, ruled_after);
}

}  // namespace muster::engine
