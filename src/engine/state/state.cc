// SPDX-License-Identifier: Apache-2.0
#include "engine/state/state.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "base/archive.h"
#include "base/check.h"

namespace muster::engine {
namespace {

Hardware HardwareOf(const model::NodeSpec& spec) {
  return {.devices = spec.devices, .anonymous = spec.anonymous_devices, .taints = spec.taints};
}

std::string KeyOf(const Hardware& hardware) {
  base::Writer writer;
  writer(hardware.devices, hardware.anonymous, hardware.taints);
  return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

/// May a replica take these devices? Of anonymous ones only the number means something.
bool AreFree(const NodeRow& row, model::DeviceMask devices) {
  const model::DeviceMask free = FreeDevices(row);
  if (!row.spec->anonymous_devices) return (devices & ~free) == 0;
  return (devices & row.use.devices) == 0 && std::popcount(devices) <= std::popcount(free);
}

}  // namespace

std::size_t GroupOfRank(const model::GangPlacement& placement, std::size_t rank) {
  std::size_t group = 0;
  for (std::size_t end = 0; group < placement.group_sizes.size(); ++group) {
    end += static_cast<std::size_t>(placement.group_sizes[group]);
    if (rank < end) break;
  }
  return group;
}

std::optional<std::size_t> FindExtended(const Tables& tables, std::string_view name) {
  const auto& names = *tables.extended_names;
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

State::State(Tables tables) : tables_(std::move(tables)), topology_stale_(false) {
  for (std::uint32_t i = 0; i < tables_.nodes.size(); ++i) {
    node_ids_.emplace(tables_.nodes[i].spec->name, model::NodeId{i});
  }
  for (std::uint32_t i = 0; i < tables_.queues.size(); ++i) {
    queue_ids_.emplace(tables_.queues[i].name, model::QueueId{i});
  }
  for (std::uint32_t i = 0; i < tables_.users.size(); ++i) {
    user_ids_.emplace(tables_.users[i].name, model::UserId{i});
  }
  for (std::uint32_t i = 0; i < tables_.hardware.size(); ++i) {
    hardware_ids_.emplace(KeyOf(tables_.hardware[i]), i);
  }
}

State State::Scratch(const Tables& tables) {
  State state;
  state.tables_ = tables;
  state.topology_stale_ = false;
  return state;
}

JobRow& State::MutableJob(model::JobId id) {
  while (tables_.jobs.size() <= id.value) tables_.jobs.PushBack(JobRow{});
  return tables_.jobs.Mutable(id.value);
}

void State::ForgetAround(model::JobId id) {
  // The chunk of this job may be complete now, and the one that has just become old enough may have
  // been for long.
  constexpr std::size_t kRows = decltype(tables_.jobs)::kRowsPerChunk;
  ForgetChunkIfEnded(id.value / kRows);
  for (; (next_to_age_ + 1) * kRows + kKeptJobs <= tables_.jobs.size(); ++next_to_age_) {
    ForgetChunkIfEnded(next_to_age_);
  }
}

void State::ForgetChunkIfEnded(std::size_t chunk) {
  constexpr std::size_t kRows = decltype(tables_.jobs)::kRowsPerChunk;
  if ((chunk + 1) * kRows + kKeptJobs > tables_.jobs.size() ||
      tables_.jobs.IsDropped(chunk * kRows))
    return;
  for (std::size_t i = chunk * kRows; i < (chunk + 1) * kRows; ++i) {
    if (tables_.jobs[i].phase != JobPhase::kEnded) return;
  }
  tables_.jobs.DropChunk(chunk);
}

void State::SetPolicy(std::shared_ptr<const model::Policy> policy) {
  tables_.policy = std::move(policy);
  topology_stale_ = true;
  ++hardware_version_;
}

void State::Advance(base::Instant now) { tables_.latest = std::max(tables_.latest, now); }

model::QueueId State::InternQueue(std::string_view name) {
  const auto [at, fresh] = queue_ids_.try_emplace(
      std::string(name), model::QueueId{static_cast<std::uint32_t>(tables_.queues.size())});
  if (fresh) tables_.queues.PushBack({.name = std::string(name)});
  return at->second;
}

model::UserId State::InternUser(std::string_view name) {
  const auto [at, fresh] = user_ids_.try_emplace(
      std::string(name), model::UserId{static_cast<std::uint32_t>(tables_.users.size())});
  if (fresh) tables_.users.PushBack({.name = std::string(name)});
  return at->second;
}

std::optional<model::NodeId> State::FindNode(std::string_view name) const {
  const auto at = node_ids_.find(std::string(name));
  if (at == node_ids_.end()) return std::nullopt;
  return at->second;
}

std::uint32_t State::InternHardware(const model::NodeSpec& spec) {
  const auto [at, fresh] = hardware_ids_.try_emplace(
      KeyOf(HardwareOf(spec)), static_cast<std::uint32_t>(tables_.hardware.size()));
  if (fresh) tables_.hardware.PushBack(HardwareOf(spec));
  return at->second;
}

std::size_t State::InternExtended(const std::string& name) {
  if (const auto known = FindExtended(tables_, name)) return *known;
  auto grown = std::make_shared<std::vector<std::string>>(*tables_.extended_names);
  grown->push_back(name);
  tables_.extended_names = std::move(grown);
  return tables_.extended_names->size() - 1;
}

model::NodeId State::PutNode(const model::NodeSpec& spec) {
  const auto [at, fresh] = node_ids_.try_emplace(
      spec.name, model::NodeId{static_cast<std::uint32_t>(tables_.nodes.size())});
  const model::NodeId id = at->second;
  if (!fresh && !node(id).gone && *node(id).spec == spec) return id;  // nothing new
  if (fresh) tables_.nodes.PushBack(NodeRow{});
  for (const model::NamedAmount& extra : spec.extended) InternExtended(extra.name);
  const std::uint32_t hardware = InternHardware(spec);
  NodeRow& row = TouchNode(id);
  if (row.gone) {  // what comes back starts anew
    row.state = model::NodeState::kReady;
    row.faulty = 0;
    row.foreign = 0;
  }
  row.gone = false;
  row.hardware = hardware;
  row.spec = std::make_shared<const model::NodeSpec>(spec);
  row.faulty &= AllDevices(spec);  // of devices that are still there
  row.foreign &= AllDevices(spec);
  topology_stale_ = true;
  ++hardware_version_;
  return id;
}

void State::SetNodeGone(model::NodeId id) {
  TouchNode(id).gone = true;
  topology_stale_ = true;
  ++hardware_version_;
}

void State::SetNodeState(model::NodeId id, model::NodeState state) { TouchNode(id).state = state; }

void State::SetFaulty(model::NodeId id, model::DeviceMask devices) {
  NodeRow& row = TouchNode(id);
  row.faulty = devices & AllDevices(*row.spec);
}

void State::SetForeign(model::NodeId id, model::DeviceMask devices) {
  NodeRow& row = TouchNode(id);
  row.foreign = devices & AllDevices(*row.spec);
}

void State::RefreshTopology() {
  if (!topology_stale_) return;
  tables_.topology = BuildTopology(tables_);
  topology_stale_ = false;
  ++topology_version_;
  change_base_ = change_end();
  changes_.clear();
}

NodeRow& State::TouchNode(model::NodeId id) {
  const Position position = tables_.topology->position_of(id);
  if (!topology_stale_ && position != kNoPosition) {
    // A log longer than the cluster is no better than a rebuild, so the older half can go.
    const std::size_t longest = 4 * std::size_t{tables_.topology->node_count()} + 64;
    if (changes_.size() >= longest) {
      const std::size_t dropped = changes_.size() / 2;
      changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(dropped));
      change_base_ += dropped;
    }
    changes_.push_back({position, in_trial_});
  }
  return tables_.nodes.Mutable(id.value);
}

NodeUse& State::TouchUse(model::NodeId id) {
  NodeRow& row = TouchNode(id);
  if (in_trial_) undo_.emplace_back(id, row.use);
  return row.use;
}

std::optional<std::span<const NodeChange>> State::ChangesSince(std::uint64_t from) const {
  if (from < change_base_) return std::nullopt;
  return std::span<const NodeChange>(changes_).subspan(from - change_base_);
}

void State::AddExtended(NodeUse& use, const std::vector<model::NamedAmount>& amounts, int sign) {
  for (const model::NamedAmount& extra : amounts) {
    const std::size_t index = InternExtended(extra.name);
    if (use.extended.size() <= index) use.extended.resize(index + 1);
    use.extended[index] += sign * extra.amount;
    MUSTER_CHECK(use.extended[index] >= 0);
  }
}

void State::Claim(const Charge& charge) {
  const NodeRow& row = node(charge.placement.node);
  MUSTER_CHECK(AreFree(row, charge.placement.devices));
  NodeUse& use = TouchUse(charge.placement.node);
  use.devices |= charge.placement.devices;
  use.cpu += charge.placement.cpu;
  use.memory += charge.placement.memory;
  use.nics += charge.shape.nics;
  // A node that has shrunk may be over-full, but nothing more is taken of what is short.
  const auto within = [](auto taken, auto used, auto total) {
    return taken == decltype(taken){} || used <= total;
  };
  MUSTER_CHECK(within(charge.placement.cpu, use.cpu, row.spec->cpu));
  MUSTER_CHECK(within(charge.placement.memory, use.memory, row.spec->memory));
  MUSTER_CHECK(within(charge.shape.nics, static_cast<std::int32_t>(use.nics), row.spec->nics));
  if (!charge.shape.extended.empty()) AddExtended(use, charge.shape.extended, 1);
}

void State::Release(const Charge& charge) {
  NodeUse& use = TouchUse(charge.placement.node);
  MUSTER_CHECK((use.devices & charge.placement.devices) == charge.placement.devices);
  use.devices &= ~charge.placement.devices;
  use.cpu -= charge.placement.cpu;
  use.memory -= charge.placement.memory;
  use.nics -= charge.shape.nics;
  MUSTER_CHECK(use.cpu >= base::MilliCpu{} && use.memory >= base::Bytes{} && use.nics >= 0);
  if (!charge.shape.extended.empty()) AddExtended(use, charge.shape.extended, -1);
}

void State::ChargeQueue(model::QueueId queue, const QueueUse& use) {
  QueueUse& account = tables_.queues.Mutable(queue.value).use;
  account.devices += use.devices;
  account.cpu += use.cpu;
  account.memory += use.memory;
}

void State::BeginTrial() {
  MUSTER_CHECK(!in_trial_);
  in_trial_ = true;
  undo_.clear();
}

void State::UndoTrial() {
  MUSTER_CHECK(in_trial_);
  // Backwards, so that a node touched twice ends as it first was.
  while (!undo_.empty()) {
    TouchNode(undo_.back().first).use = std::move(undo_.back().second);
    undo_.pop_back();
  }
  in_trial_ = false;
}

}  // namespace muster::engine
