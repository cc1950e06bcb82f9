// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/cluster.h"
#include "model/decision.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/policy.h"

namespace muster::engine {

struct Tables;

enum class JobPhase : std::uint8_t {
  kUnknown,  ///< no such job
  kHeld,
  kWaiting,
  kStarting,  ///< has its place, no task has reported yet
  kRunning,
  kStopping,  ///< told to stop, not all tasks are gone
  kEnded,
  kLast = kEnded,
};

/// A job as readers see it.
struct JobView {
  JobPhase phase = JobPhase::kUnknown;
  model::Attempt attempt;  ///< 0 before the first start
  base::Instant submitted;
  base::Instant started;  ///< of the latest attempt
  base::Instant ended;    ///< if kEnded
  model::JobEnd end = model::JobEnd::kCompleted;
  model::GangRequestPtr request;      ///< null once ended
  model::GangPlacementPtr placement;  ///< null unless it holds a place
  std::int32_t priority = 0;
  std::string_view queue;  ///< valid while the view lives
  std::string_view user;
};

/// What jobs of a queue hold.
struct QueueView {
  std::string_view name;  ///< valid while the view lives
  std::int64_t devices = 0;
  base::MilliCpu cpu;
  base::Bytes memory;
};

struct NodeView {
  std::shared_ptr<const model::NodeSpec> spec;
  model::NodeState state = model::NodeState::kDown;
  bool gone = false;
  model::DeviceMask allocated = 0;
  model::DeviceMask faulty = 0;
  model::DeviceMask foreign = 0;
  base::MilliCpu cpu_used;
  base::Bytes memory_used;
};

/// How many devices are in each state; indexed by `model::DeviceState`.
using Inventory = std::array<std::int64_t, model::kDeviceStates>;

/// Which devices to count; by default all.
struct InventoryFilter {
  int level = -1;  ///< only those inside `domain` of this level; -1: everywhere
  std::uint32_t domain = 0;
  std::string_view model;  ///< only those of this model; "": any
};

/// An immutable picture of the state. Cheap to copy; safe to read from any thread.
class View {
 public:
  View() = default;
  explicit View(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}

  std::uint32_t job_count() const;  ///< ids below this may exist
  JobView Job(model::JobId job) const;
  std::uint32_t node_count() const;
  NodeView Node(model::NodeId node) const;
  std::optional<model::NodeId> FindNode(std::string_view name) const;

  /// Queues that a job has ever named, whether the policy has them or not.
  std::uint32_t queue_count() const;
  QueueView Queue(model::QueueId queue) const;

  bool starts_paused() const;
  const model::Policy& policy() const;  ///< lives as long as the view

  /// Levels from the inside out: 0 = node, 1 = innermost network level, ..., `level_count() - 1` =
  /// any.
  int level_count() const;
  std::string_view LevelName(int level) const;
  /// Number of the domain of `level` that the node is in; domains of a level are numbered in
  /// topology order.
  std::uint32_t DomainOf(model::NodeId node, int level) const;
  std::uint32_t DomainCount(int level) const;
  std::string DomainName(int level, std::uint32_t domain) const;

  Inventory Devices(const InventoryFilter& filter = {}) const;

  const Tables& tables() const { return *tables_; }

 private:
  std::shared_ptr<const Tables> tables_;
};

}  // namespace muster::engine
