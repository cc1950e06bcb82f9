// SPDX-License-Identifier: Apache-2.0
#include "engine/state/view.h"

#include <algorithm>
#include <bit>

#include "engine/state/tables.h"

namespace muster::engine {
namespace {

/// Adds a node's devices to the inventory. A device counts once, by the first of: unknown, faulty,
/// foreign, draining or allocated, idle.
void Count(const NodeRow& row, Inventory& counts) {
  const auto add = [&counts](model::DeviceState state, int devices) {
    counts[static_cast<std::size_t>(state)] += devices;
  };
  const model::DeviceMask all = AllDevices(*row.spec);
  if (row.state == model::NodeState::kDown) {
    return add(model::DeviceState::kUnknown, std::popcount(all));
  }
  const model::DeviceMask free = FreeDevices(row);
  const int faulty = std::popcount(row.faulty);
  int foreign = std::popcount(row.foreign & ~row.faulty);
  int allocated = std::popcount(row.use.devices & all & ~row.faulty & ~row.foreign);
  if (row.spec->anonymous_devices) {  // the bits say how many, not which
    foreign = std::min(std::popcount(row.foreign), std::popcount(all) - faulty);
    allocated = std::min(std::popcount(row.use.devices), std::popcount(all) - faulty - foreign);
  }
  const bool draining = row.state == model::NodeState::kDraining;
  add(model::DeviceState::kFaulty, faulty);
  add(model::DeviceState::kForeign, foreign);
  add(draining ? model::DeviceState::kDraining : model::DeviceState::kAllocated, allocated);
  add(draining ? model::DeviceState::kDraining : model::DeviceState::kIdle, std::popcount(free));
}

}  // namespace

std::uint32_t View::job_count() const { return static_cast<std::uint32_t>(tables_->jobs.size()); }

JobView View::Job(model::JobId job) const {
  if (job.value >= tables_->jobs.size()) return {};
  const JobRow& row = tables_->jobs[job.value];
  if (row.phase == JobPhase::kUnknown) return {};
  return {.phase = row.phase,
          .attempt = row.attempt,
          .submitted = row.submitted,
          .started = row.started,
          .ended = row.ended,
          .end = row.end,
          .request = row.request,
          .placement = row.placement,
          .priority = row.priority,
          .queue = tables_->queues[row.queue.value].name,
          .user = tables_->users[row.user.value].name};
}

std::uint32_t View::node_count() const { return static_cast<std::uint32_t>(tables_->nodes.size()); }

NodeView View::Node(model::NodeId node) const {
  if (node.value >= tables_->nodes.size()) return {};
  const NodeRow& row = tables_->nodes[node.value];
  return {.spec = row.spec,
          .state = row.state,
          .gone = row.gone,
          .allocated = row.use.devices,
          .faulty = row.faulty,
          .foreign = row.foreign,
          .cpu_used = row.use.cpu,
          .memory_used = row.use.memory};
}

std::optional<model::NodeId> View::FindNode(std::string_view name) const {
  for (std::uint32_t i = 0; i < tables_->nodes.size(); ++i) {
    if (tables_->nodes[i].spec->name == name) return model::NodeId{i};
  }
  return std::nullopt;
}

int View::level_count() const { return tables_->topology->level_count(); }
std::string_view View::LevelName(int level) const { return tables_->topology->level_name(level); }

std::uint32_t View::DomainOf(model::NodeId node, int level) const {
  const Position position = tables_->topology->position_of(node);
  return position == kNoPosition ? UINT32_MAX : tables_->topology->DomainAt(level, position);
}

std::uint32_t View::DomainCount(int level) const {
  return static_cast<std::uint32_t>(tables_->topology->domains(level).size());
}

std::string View::DomainName(int level, std::uint32_t domain) const {
  return tables_->topology->DomainName(level, domain);
}

Inventory View::Devices() const {
  Inventory counts{};
  for (std::uint32_t i = 0; i < tables_->nodes.size(); ++i) {
    if (!tables_->nodes[i].gone) Count(tables_->nodes[i], counts);
  }
  return counts;
}

}  // namespace muster::engine
