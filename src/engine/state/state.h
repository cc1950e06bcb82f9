// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/state/tables.h"

namespace muster::engine {

/// So many of the latest jobs stay known after their end; what is older is history, which others
/// keep.
inline constexpr std::uint32_t kKeptJobs = 16'384;

/// A node may have more or less room. What a trial does, and undoes again, is marked: it is no
/// news.
struct NodeChange {
  Position position = 0;
  bool trial = false;
};

/// What one replica takes of a node besides what its placement names.
struct Charge {
  const model::ReplicaPlacement& placement;
  const model::ReplicaShape& shape;
};

/// The tables with the operations that keep them consistent: names to ids, nodes, the ledger of who
/// holds what, a log of changed nodes for the capacity index, and trials that can be undone.
/// Single-threaded.
class State {
 public:
  State() = default;
  /// Takes over tables (a snapshot's or a view's, with their topology) and rebuilds the look-ups.
  explicit State(Tables tables);
  /// For trying things on a view's tables: O(1), and knows no names.
  static State Scratch(const Tables& tables);

  const Tables& tables() const { return tables_; }
  const NodeRow& node(model::NodeId id) const { return tables_.nodes[id.value]; }
  const JobRow& job(model::JobId id) const { return tables_.jobs[id.value]; }
  bool HasJob(model::JobId id) const {
    return id.value < tables_.jobs.size() && job(id).phase != JobPhase::kUnknown;
  }

  /// Has the job been here and been forgotten?
  bool IsForgotten(model::JobId id) const {
    return id.value < tables_.jobs.size() && tables_.jobs.IsDropped(id.value);
  }

  JobRow& MutableJob(model::JobId id);  ///< grows the table up to `id`
  /// Forgets jobs that ended long ago: all but the `kKeptJobs` latest, 256 at a time. Call when
  /// `id` has just ended.
  void ForgetAround(model::JobId id);
  void SetPolicy(std::shared_ptr<const model::Policy> policy);
  void SetSeed(std::uint64_t seed) { tables_.seed = seed; }
  void SetStartsPaused(bool paused) { tables_.starts_paused = paused; }
  void Advance(base::Instant now);  ///< time never goes back

  model::QueueId InternQueue(std::string_view name);
  model::UserId InternUser(std::string_view name);
  std::optional<model::NodeId> FindNode(std::string_view name) const;

  /// Adds the node or replaces its specification; what runs there keeps running.
  model::NodeId PutNode(const model::NodeSpec& spec);
  void SetNodeGone(model::NodeId id);
  void SetNodeState(model::NodeId id, model::NodeState state);
  void SetFaulty(model::NodeId id, model::DeviceMask devices);
  void SetForeign(model::NodeId id, model::DeviceMask devices);

  /// Rebuilds the domain tree where nodes or levels changed. Call before anything that looks at
  /// topology.
  void RefreshTopology();

  /// Enters what a replica takes. Taking a device twice is a bug and ends the program.
  void Claim(const Charge& charge);
  void Release(const Charge& charge);
  /// Adds to a queue's account, or takes from it what is negative.
  void ChargeQueue(model::QueueId queue, const QueueUse& use);

  // --- the change log: which nodes may have more or less room since when
  std::uint64_t change_end() const { return change_base_ + changes_.size(); }
  /// Positions changed since `from`, or nothing if the log does not reach back so far.
  std::optional<std::span<const NodeChange>> ChangesSince(std::uint64_t from) const;
  /// Counts rebuilds of the tree; an index made for another version is worthless.
  std::uint64_t topology_version() const { return topology_version_; }
  /// Counts changes to what nodes could hold when empty: adds, removals, specifications, policies.
  std::uint64_t hardware_version() const { return hardware_version_; }

  // --- trials
  /// From here on, claims can be undone. Trials do not nest. Profiles that are to be used inside
  /// must be up to date before, or they could not tell news from trial.
  void BeginTrial();
  /// Puts every node back as it was at `BeginTrial`.
  void UndoTrial();

  /// Recomputes who holds what from the jobs and compares. Empty, or the first difference.
  std::string VerifyLedger() const;

 private:
  void ForgetChunkIfEnded(std::size_t chunk);
  NodeRow& TouchNode(model::NodeId id);
  NodeUse& TouchUse(model::NodeId id);
  std::uint32_t InternHardware(const model::NodeSpec& spec);
  std::size_t InternExtended(const std::string& name);
  void AddExtended(NodeUse& use, const std::vector<model::NamedAmount>& amounts, int sign);

  Tables tables_;
  // Look-ups only, never iterated.
  std::unordered_map<std::string, model::NodeId> node_ids_;
  std::unordered_map<std::string, model::QueueId> queue_ids_;
  std::unordered_map<std::string, model::UserId> user_ids_;
  std::unordered_map<std::string, std::uint32_t> hardware_ids_;  // look-ups only, never iterated

  std::size_t next_to_age_ =
      0;  ///< the first chunk of jobs that has not become old enough to be forgotten

  std::vector<NodeChange> changes_;
  std::uint64_t change_base_ = 0;
  std::uint64_t topology_version_ = 1;  // from 1: 0 is older than anything
  std::uint64_t hardware_version_ = 1;
  bool topology_stale_ = true;

  bool in_trial_ = false;
  std::vector<std::pair<model::NodeId, NodeUse>> undo_;
};

/// The task group that a rank of a placement belongs to.
std::size_t GroupOfRank(const model::GangPlacement& placement, std::size_t rank);

/// Index of `name` in the extended resources known to the state, or nothing.
std::optional<std::size_t> FindExtended(const Tables& tables, std::string_view name);

}  // namespace muster::engine
