// SPDX-License-Identifier: Apache-2.0
// What a user asks for. `GangRequest` is the part that scheduling needs and the only one that the
// engine sees; `JobSpec` is the whole document, with what is to be executed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/cluster.h"

namespace muster::model {

/// A node must have label `key` with one of `values` (`kIn`), with none of them (`kNotIn`), or at
/// all
/// (`kExists`).
struct LabelRequirement {
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kLast = kExists };
  std::string key;
  Operator op = Operator::kIn;
  std::vector<std::string> values;
  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

/// Tolerates taints with `key` and, unless `any_value`, exactly `value`. An empty key tolerates
/// everything.
struct Toleration {
  std::string key;
  bool any_value = true;
  std::string value;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// What one replica needs, all on one node.
struct ReplicaShape {
  base::MilliGpu gpu;                 ///< >= 1000: whole devices, a multiple of 1000
  std::optional<base::MilliCpu> cpu;  ///< absent: the share of the node's that goes with its GPUs
  std::optional<base::Bytes> memory;  ///< absent: likewise
  std::int32_t nics = 0;
  std::vector<NamedAmount> extended;  ///< sorted by name
  std::vector<std::string> models;    ///< any of these; empty = any
  base::Bytes device_memory;          ///< least memory of a device
  bool mixed_models = false;          ///< replicas of the group may differ in model
  std::vector<LabelRequirement> selector;
  std::vector<Toleration> tolerations;
  friend bool operator==(const ReplicaShape&, const ReplicaShape&) = default;
};

struct TaskGroup {
  std::string name;
  std::int32_t replicas = 1;
  std::int32_t min_replicas = 1;  ///< = replicas for a rigid gang
  std::int32_t step = 1;          ///< sizes are min_replicas + k x step, and replicas
  ReplicaShape shape;
  friend bool operator==(const TaskGroup&, const TaskGroup&) = default;
};

/// Each run of `size` consecutive ranks of a group inside one domain of `level`.
struct Segment {
  std::int32_t size = 1;
  std::string level;
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Replica counts of the domains of `level` that could host the group differ by at most `max_skew`.
struct Spread {
  std::string level;
  std::int32_t max_skew = 1;
  friend bool operator==(const Spread&, const Spread&) = default;
};

/// Level names are the cluster's, plus "node", and "any" for the whole cluster.
struct TopologyRequest {
  std::string required;           ///< all replicas of all groups in one domain of it; empty = any
  std::string preferred;          ///< as low as possible; what is above is a relaxed placement
  std::vector<Segment> segments;  ///< inner (smaller) first, each size a multiple of the one before
  std::optional<Spread> spread;
  std::string anti_affinity;  ///< at most one replica of a group in each domain of it; empty = none
  /// Share of an iteration spent in exposed communication under the best placement.
  base::Permille comm_fraction;
  friend bool operator==(const TopologyRequest&, const TopologyRequest&) = default;
};

/// From `after` in the queue, `required` is this level instead.
struct RelaxStep {
  base::Duration after;
  std::string topology;
  friend bool operator==(const RelaxStep&, const RelaxStep&) = default;
};

enum class JobType : std::uint8_t { kTraining, kService, kInteractive, kLast = kInteractive };

/// When a job is complete: every task ended well, or the named group has, or the first rank of the
/// first group.
struct Completion {
  enum class Kind : std::uint8_t { kAll, kGroup, kRank0, kLast = kRank0 };
  Kind kind = Kind::kAll;
  std::string group;
  friend bool operator==(const Completion&, const Completion&) = default;
};

struct CheckpointSpec {
  base::Duration every;   ///< 0 = the job does not checkpoint by itself
  std::string on_signal;  ///< "SIGUSR1": checkpoints when told so
  base::Duration grace;
  base::Duration restart;  ///< time from start to the first new step
  std::string dir;
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;
};

struct RestartSpec {
  std::int32_t limit = 0;  ///< most restarts for the job's own failures
  bool on_node_loss = true;
  friend bool operator==(const RestartSpec&, const RestartSpec&) = default;
};

/// The scheduling fields of a job. Shared between jobs that ask for the same.
struct GangRequest {
  JobType type = JobType::kTraining;
  std::vector<TaskGroup> groups;
  TopologyRequest topology;
  std::vector<RelaxStep> relax;  ///< by rising `after`
  Completion completion;
  std::optional<CheckpointSpec> checkpoint;
  RestartSpec restart;
  base::Duration estimate;    ///< 0 = unknown
  base::Duration time_limit;  ///< enforced; 0 = none
  friend bool operator==(const GangRequest&, const GangRequest&) = default;
};
using GangRequestPtr = std::shared_ptr<const GangRequest>;

/// How a group's command is started.
enum class Launch : std::uint8_t { kPerReplica, kPerGpu, kLast = kPerGpu };

/// What runs in a group's tasks; the engine never sees it. One per task group, same order.
struct TaskCommand {
  Launch launch = Launch::kPerReplica;
  std::vector<std::string> command;
  Labels env;
  Labels secret_env;  ///< variable -> file to read it from
  std::string workdir;
  friend bool operator==(const TaskCommand&, const TaskCommand&) = default;
};

/// A job document.
struct JobSpec {
  std::string name;
  std::string queue;           ///< empty = the policy's default
  std::string priority_class;  ///< empty = the policy's default
  Labels labels;
  base::Duration start_after;  ///< wait at least this long after submission
  GangRequest request;
  std::vector<TaskCommand> commands;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

template <class A>
void Archive(A& a, LabelRequirement& v) {
  a(v.key, v.op, v.values);
}
template <class A>
void Archive(A& a, Toleration& v) {
  a(v.key, v.any_value, v.value);
}
template <class A>
void Archive(A& a, ReplicaShape& v) {
  a(v.gpu, v.cpu, v.memory, v.nics, v.extended, v.models, v.device_memory, v.mixed_models,
    v.selector, v.tolerations);
}
template <class A>
void Archive(A& a, TaskGroup& v) {
  a(v.name, v.replicas, v.min_replicas, v.step, v.shape);
}
template <class A>
void Archive(A& a, Segment& v) {
  a(v.size, v.level);
}
template <class A>
void Archive(A& a, Spread& v) {
  a(v.level, v.max_skew);
}
template <class A>
void Archive(A& a, TopologyRequest& v) {
  a(v.required, v.preferred, v.segments, v.spread, v.anti_affinity, v.comm_fraction);
}
template <class A>
void Archive(A& a, RelaxStep& v) {
  a(v.after, v.topology);
}
template <class A>
void Archive(A& a, Completion& v) {
  a(v.kind, v.group);
}
template <class A>
void Archive(A& a, CheckpointSpec& v) {
  a(v.every, v.on_signal, v.grace, v.restart, v.dir);
}
template <class A>
void Archive(A& a, RestartSpec& v) {
  a(v.limit, v.on_node_loss);
}
template <class A>
void Archive(A& a, TaskCommand& v) {
  a(v.launch, v.command, v.env, v.secret_env, v.workdir);
}
template <class A>
void Archive(A& a, GangRequest& v) {
  a(v.type, v.groups, v.topology, v.relax, v.completion, v.checkpoint, v.restart, v.estimate,
    v.time_limit);
}

}  // namespace muster::model
