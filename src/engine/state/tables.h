// SPDX-License-Identifier: Apache-2.0
// The rows of the engine's state. Everything else the engine keeps (index, queues, deadlines) is
// derived from these and can be rebuilt; only these are in snapshots and views.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cow_table.h"
#include "base/time.h"
#include "engine/state/topology.h"
#include "engine/state/view.h"
#include "model/cluster.h"
#include "model/decision.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/policy.h"

namespace muster::engine {

/// What is taken of a node. The part of a row that placements change, and that a trial puts back.
struct NodeUse {
  model::DeviceMask devices = 0;
  base::MilliCpu cpu;
  base::Bytes memory;
  std::int64_t nics = 0;
  std::vector<std::int64_t>
      extended;  ///< by the order of the tables' `extended_names`; may be shorter
  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

struct NodeRow {
  std::shared_ptr<const model::NodeSpec> spec;
  std::uint32_t hardware = 0;  ///< row of `Tables::hardware`
  model::NodeState state = model::NodeState::kReady;
  bool gone = false;
  model::DeviceMask faulty = 0;
  model::DeviceMask foreign = 0;
  NodeUse use;
};

/// All bits of the devices that the node has.
model::DeviceMask AllDevices(const model::NodeSpec& spec);
/// Devices that a new task may get; of anonymous devices, as many bits as are free.
model::DeviceMask FreeDevices(const NodeRow& row);
/// Takes new tasks.
inline bool IsSchedulable(const NodeRow& row) {
  return row.state == model::NodeState::kReady && !row.gone;
}

/// What nodes of the same make have in common: their devices and who may use them. Makes are few,
/// however much the amounts of CPU and memory differ from node to node.
struct Hardware {
  std::vector<model::Device> devices;
  bool anonymous = false;
  std::vector<model::Taint> taints;
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

struct JobRow {
  model::GangRequestPtr request;  ///< null once ended
  model::GangPlacementPtr placement;
  /// Bit per rank that is gone; null while none or all are.
  std::shared_ptr<const std::vector<std::uint64_t>> ranks_gone;
  base::Instant submitted;
  base::Instant eligible;  ///< not to be started before
  base::Instant started;
  base::Instant ended;
  base::Instant checkpointed;  ///< when the last accepted checkpoint was reported
  std::int64_t checkpoint_step = 0;
  model::QueueId queue;
  model::UserId user;
  model::Attempt attempt;
  std::int32_t priority = 0;
  std::int32_t ranks_left = 0;  ///< ranks that still hold their place
  std::int32_t restarts = 0;    ///< after failures of its own
  JobPhase phase = JobPhase::kUnknown;
  model::JobEnd end = model::JobEnd::kCompleted;
  model::ReasonCode stop_reason =
      model::ReasonCode::kPlaced;  ///< why it is to stop, was told to, or ended
  bool held = false;
  bool cancelled = false;
  bool failed = false;  ///< a task of this attempt ended badly
  bool broken = false;  ///< a node of this attempt was lost
};

/// Does the job hold a place?
inline bool HasPlace(const JobRow& row) { return row.placement != nullptr; }
inline bool IsRankGone(const JobRow& row, std::size_t rank) {
  return row.ranks_gone != nullptr && (((*row.ranks_gone)[rank / 64] >> (rank % 64)) & 1) != 0;
}

/// What jobs of a queue hold.
struct QueueUse {
  std::int64_t devices = 0;
  base::MilliCpu cpu;
  base::Bytes memory;
  friend bool operator==(const QueueUse&, const QueueUse&) = default;

  /// Adds what a replica takes (`sign` 1), or takes it out (-1).
  void Add(const model::ReplicaPlacement& placement, int sign) {
    devices += sign * std::popcount(placement.devices);
    cpu += placement.cpu * sign;
    memory += placement.memory * sign;
  }
};

struct QueueRow {
  std::string name;
  QueueUse use;
};

struct UserRow {
  std::string name;
};

/// The whole state. Copying is O(1) (copy-on-write) and gives a consistent picture.
struct Tables {
  base::CowTable<NodeRow, 64> nodes;
  base::CowTable<JobRow> jobs;
  base::CowTable<QueueRow, 16> queues;
  base::CowTable<UserRow> users;
  std::shared_ptr<const model::Policy> policy = std::make_shared<model::Policy>();
  TopologyPtr topology = std::make_shared<Topology>();
  base::CowTable<Hardware, 16> hardware;
  std::shared_ptr<const std::vector<std::string>> extended_names =
      std::make_shared<std::vector<std::string>>();
  std::uint64_t seed = 0;
  base::Instant latest;        ///< of any input or commit
  bool starts_paused = false;  ///< no waiting gang is started
};

/// The domain tree of the nodes that are not gone, under the policy's levels.
TopologyPtr BuildTopology(const Tables& tables);

}  // namespace muster::engine
