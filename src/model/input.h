// SPDX-License-Identifier: Apache-2.0
// Facts about the world. The engine's state is a function of these, the decisions and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/policy.h"

namespace muster::model {

struct JobSubmitted {
  JobId job;
  std::string queue;
  std::string user;
  std::int32_t priority = 0;   ///< the value of its class
  base::Duration start_after;  ///< from submission
  GangRequestPtr request;      ///< validated by the gate (`CheckRequest`)
};

struct JobChanged {
  enum class Change : std::uint8_t {
    kHold,
    kRelease,
    kCancel,
    kPriority,
    /// The running attempt is to be stopped and the job to wait again at its old place; no restart
    /// is counted. Nothing for a job without a place, nor for an attempt that is being stopped.
    kRequeue,
    kLast = kRequeue,
  };
  JobId job;
  Change change = Change::kHold;
  std::int32_t priority = 0;  ///< for kPriority
};

/// A node exists, or its specification changed. Known by name; a new one starts `ready`.
struct NodeSeen {
  NodeSpec spec;
};

/// A node was taken out for good: what ran there has stopped.
struct NodeGone {
  std::string node;
};

/// The administrator or a health rule set a node's state. `kDown` means what ran there has stopped.
struct NodeStateChanged {
  std::string node;
  NodeState state = NodeState::kReady;
};

/// Health of a node's devices as one set: bit i set = device i is faulty.
struct HealthReported {
  std::string node;
  std::uint64_t faulty = 0;
};

/// Devices in use by someone who is not Muster: bit i = device i. For anonymous devices only the
/// number of bits counts.
struct ForeignUsage {
  std::string node;
  std::uint64_t devices = 0;
};

/// Ranks of one attempt, [first, first + count) in the gang's rank order over all groups.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

struct TaskStarted {
  JobId job;
  Attempt attempt;
  RankRange ranks;
};

struct TaskExited {
  JobId job;
  Attempt attempt;
  RankRange ranks;
  bool failed = false;  ///< any end but a clean one
  /// It vanished with what kept it (its node, its supervisor) and no longer runs: no failure of the
  /// job's own.
  bool lost = false;
};

/// Tasks that were told to stop are gone, and so is what they held.
struct StopConfirmed {
  JobId job;
  Attempt attempt;
  RankRange ranks;
};

/// A durable checkpoint exists as of this moment.
struct CheckpointReported {
  JobId job;
  Attempt attempt;
  std::int64_t step = 0;
};

struct PolicyActivated {
  Policy policy;
};

/// Time has passed and nothing else: a deadline came due. Every pass stands at the time of an
/// input, so that inputs and decisions together replay it.
struct Tick {};

/// From now on no waiting gang is started, or gangs are started again. All else goes on.
struct StartsPaused {
  bool paused = false;
};

/// Recorded by index: what is new comes last.
using Fact = std::variant<JobSubmitted, JobChanged, NodeSeen, NodeGone, NodeStateChanged,
                          HealthReported, ForeignUsage, TaskStarted, TaskExited, StopConfirmed,
                          CheckpointReported, PolicyActivated, Tick, StartsPaused>;

/// A fact and when it was taken in; instants never go back.
struct Input {
  base::Instant at;
  Fact fact;
};

template <class A>
void Archive(A& a, JobSubmitted& v) {
  a(v.job, v.queue, v.user, v.priority, v.start_after, v.request);
}
template <class A>
void Archive(A& a, JobChanged& v) {
  a(v.job, v.change, v.priority);
}
template <class A>
void Archive(A& a, NodeSeen& v) {
  a(v.spec);
}
template <class A>
void Archive(A& a, NodeGone& v) {
  a(v.node);
}
template <class A>
void Archive(A& a, NodeStateChanged& v) {
  a(v.node, v.state);
}
template <class A>
void Archive(A& a, HealthReported& v) {
  a(v.node, v.faulty);
}
template <class A>
void Archive(A& a, ForeignUsage& v) {
  a(v.node, v.devices);
}
template <class A>
void Archive(A& a, RankRange& v) {
  a(v.first, v.count);
}
template <class A>
void Archive(A& a, TaskStarted& v) {
  a(v.job, v.attempt, v.ranks);
}
template <class A>
void Archive(A& a, TaskExited& v) {
  a(v.job, v.attempt, v.ranks, v.failed, v.lost);
}
template <class A>
void Archive(A& a, StopConfirmed& v) {
  a(v.job, v.attempt, v.ranks);
}
template <class A>
void Archive(A& a, CheckpointReported& v) {
  a(v.job, v.attempt, v.step);
}
template <class A>
void Archive(A& a, PolicyActivated& v) {
  a(v.policy);
}
template <class A>
void Archive(A&, Tick&) {}
template <class A>
void Archive(A& a, StartsPaused& v) {
  a(v.paused);
}
template <class A>
void Archive(A& a, Input& v) {
  a(v.at, v.fact);
}

}  // namespace muster::model
