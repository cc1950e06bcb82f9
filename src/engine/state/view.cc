// SPDX-License-Identifier: Apache-2.0
#include "engine/state/view.h"

#include <algorithm>
#include <bit>

#include "engine/state/tables.h"

namespace muster::engine {
namespace {

/// The node's devices of a model; all for "".
model::DeviceMask DevicesOf(const model::NodeSpec& spec, std::string_view model) {
  if (model.empty()) return AllDevices(spec);
  model::DeviceMask mask = 0;
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    if (spec.devices[i].model == model) mask |= model::DeviceMask{1} << i;
  }
  return mask;
}

/// How many of a node's devices are in each state. A device counts once, by the first of: unknown,
/// faulty, foreign, allocated, idle; on a node that takes nothing new, what would be idle (and,
/// where it is being drained, what is allocated) is draining.
Inventory Count(const NodeRow& row, std::string_view model) {
  Inventory counts{};
  const auto add = [&counts](model::DeviceState state, int devices) {
    counts[static_cast<std::size_t>(state)] += devices;
  };
  const model::DeviceMask all = DevicesOf(*row.spec, model);
  const int total = std::popcount(all);
  if (row.state == model::NodeState::kDown) {
    add(model::DeviceState::kUnknown, total);
    return counts;
  }
  const int faulty = std::popcount(row.faulty & all);
  int foreign = std::popcount(row.foreign & ~row.faulty & all);
  int allocated = std::popcount(row.use.devices & all & ~row.faulty & ~row.foreign);
  if (row.spec->anonymous_devices) {  // the bits say how many, not which
    foreign = std::min(std::popcount(row.foreign), total - faulty);
    allocated = std::min(std::popcount(row.use.devices), total - faulty - foreign);
  }
  const bool leaving = row.state == model::NodeState::kDraining;
  add(model::DeviceState::kFaulty, faulty);
  add(model::DeviceState::kForeign, foreign);
  add(leaving ? model::DeviceState::kDraining : model::DeviceState::kAllocated, allocated);
  add(IsSchedulable(row) ? model::DeviceState::kIdle : model::DeviceState::kDraining,
      total - faulty - foreign - allocated);
  return counts;
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

std::uint32_t View::queue_count() const {
  return static_cast<std::uint32_t>(tables_->queues.size());
}

QueueView View::Queue(model::QueueId queue) const {
  if (queue.value >= tables_->queues.size()) return {};
  const QueueRow& row = tables_->queues[queue.value];
  return {
      .name = row.name, .devices = row.use.devices, .cpu = row.use.cpu, .memory = row.use.memory};
}

const model::Policy& View::policy() const { return *tables_->policy; }

bool View::starts_paused() const { return tables_->starts_paused; }

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

Inventory View::Devices(const InventoryFilter& filter) const {
  const Topology& topology = *tables_->topology;
  const LevelIndex level = filter.level < 0 ? topology.top() : filter.level;
  const Topology::Domain& domain = topology.domain(level, filter.domain);
  Inventory sum{};
  for (Position p = domain.begin; p < domain.end; ++p) {
    const Inventory counts = Count(tables_->nodes[topology.node_at(p).value], filter.model);
    for (std::size_t state = 0; state < sum.size(); ++state) sum[state] += counts[state];
  }
  return sum;
}

}  // namespace muster::engine
