// SPDX-License-Identifier: Apache-2.0
#include "engine/capacity/profile.h"

namespace muster::engine {

std::int32_t Profile::SlotsAt(const State& state, Position position) const {
  if (shape_->HasSelector() && !eligible_[position]) return 0;
  const NodeRow& row = state.node(state.tables().topology->node_at(position));
  return mode_ == Mode::kNow ? Slots(*shape_, state.tables(), row)
                             : SlotsWhenEmpty(*shape_, state.tables(), row);
}

std::int64_t Profile::CatchUp(const State& state) {
  const Topology& topology = *state.tables().topology;
  const auto changes = state.ChangesSince(log_position_);
  const bool stale = levels_.empty() || topology_version_ != state.topology_version() || !changes ||
                     changes->size() > topology.node_count();
  if (stale) {
    Rebuild(state);
    topology_version_ = state.topology_version();
    log_position_ = state.change_end();
    return topology.node_count();
  }
  if (mode_ == Mode::kNow) {
    for (const Position position : *changes) Update(topology, position, SlotsAt(state, position));
  }
  log_position_ = state.change_end();
  return static_cast<std::int64_t>(changes->size());
}

void Profile::Rebuild(const State& state) {
  const Topology& topology = *state.tables().topology;
  ++changes_.growth;
  ++changes_.any;
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
}

void Profile::Update(const Topology& topology, Position position, std::int32_t slots) {
  LevelRoom* room = &levels_.front();
  const std::int32_t before = room->raw.empty() ? room->capacity[position] : room->raw[position];
  std::int32_t delta = slots - before;
  if (delta == 0) return;
  ++changes_.any;
  if (delta > 0) ++changes_.growth;
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
}

}  // namespace muster::engine
