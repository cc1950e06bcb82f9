// SPDX-License-Identifier: Apache-2.0
// The port to whatever runs the tasks. The server gives orders, at least once each; the driver
// carries them out idempotently, (job, attempt) being the name of a gang, and tells what it sees as
// observations. Orders never wait for their effect.
//
// `Open`, `Adopt`, `Give` and `Close` are called by one thread, `ReadLog` by any. Observations come
// from any thread, also while an order is being given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "model/cluster.h"
#include "model/decision.h"
#include "model/ids.h"
#include "model/input.h"
#include "model/job.h"

namespace muster::driver {

/// The account that a job runs as.
struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// An attempt of a job: the name of a gang.
struct GangId {
  model::JobId job;
  model::Attempt attempt;
  friend auto operator<=>(const GangId&, const GangId&) = default;
};

/// One replica of a gang and what it was given.
struct Replica {
  std::int32_t group = 0;  ///< index into `Launch::groups`
  std::string node;
  model::DeviceMask devices = 0;
  base::MilliCpu cpu;
  base::Bytes memory;
  friend bool operator==(const Replica&, const Replica&) = default;
};

struct Group {
  std::string name;
  model::TaskCommand command;
  friend bool operator==(const Group&, const Group&) = default;
};

/// Starts a whole gang. Known already: nothing happens.
struct Launch {
  GangId gang;
  std::string job_name;
  Identity owner;
  std::vector<Group> groups;
  std::vector<Replica> replicas;    ///< in rank order, group after group
  std::string checkpoint_dir;       ///< of the job; the driver adds the attempt. Empty: none
  std::string checkpoint_signal;    ///< asks the job for a checkpoint: "SIGUSR1". Empty: none
  base::Duration checkpoint_every;  ///< how often it should take one by itself; 0: not said
  std::string resume_from;          ///< the last accepted checkpoint. Empty: none
  std::string api;                  ///< where the server answers
  std::string token;                ///< for this attempt alone
};

/// Every process of the gang is to end: a polite signal, and what is left after `grace` is killed.
/// Again with a shorter grace: the shorter holds.
struct Stop {
  GangId gang;
  base::Duration grace;
};

/// The server has on record that the gang is over: what the driver keeps of it but its logs may go.
struct Forget {
  GangId gang;
};

/// Sends a signal to the main process of each rank (checkpoint now).
struct Signal {
  GangId gang;
  std::string name;  ///< "SIGUSR1"
};

using Order = std::variant<Launch, Stop, Forget, Signal>;

/// What a node is, and a line for people about what holds there ("isolation: advisory (...)").
struct NodeFound {
  model::NodeSpec spec;
  std::string note;
};

/// A node that was found before is not there any more.
struct NodeMissing {
  std::string node;
};

struct RanksStarted {
  GangId gang;
  model::RankRange ranks;
};

/// How a rank ended.
struct RankExit {
  enum class Kind : std::uint8_t {
    kExited,       ///< by itself; `code` is its exit status
    kSignalled,    ///< `code` is the signal
    kOutOfMemory,  ///< killed by the kernel for its memory limit
    kNotStarted,   ///< the command could not be run; `text` says why
    kStopped,      ///< after a `Stop`, whatever its status was
    kLost,         ///< its supervisor or node vanished; it no longer runs
    kLast = kLost,
  };
  Kind kind = Kind::kExited;
  std::int32_t code = 0;
  std::string text;  ///< for people; empty where kind and code say all
  friend bool operator==(const RankExit&, const RankExit&) = default;
};

/// A rank is gone with all its processes. Told again after a restart until forgotten.
struct RankEnded {
  GangId gang;
  std::int32_t rank = 0;
  RankExit exit;
};

/// Health of a node's devices: bit i = device i is faulty.
struct HealthSeen {
  std::string node;
  model::DeviceMask faulty = 0;
  std::string text;
};

/// Devices in use by processes that are not Muster's.
struct ForeignSeen {
  std::string node;
  model::DeviceMask devices = 0;
};

using Observation =
    std::variant<NodeFound, RanksStarted, RankEnded, HealthSeen, ForeignSeen, NodeMissing>;

/// Takes observations; safe from any thread, does not block for long.
using Sink = std::function<void(Observation)>;

/// A gang that the server believes to hold a place.
struct Expected {
  GangId gang;
  bool started = false;  ///< some rank was reported as started
};

struct LogRequest {
  model::JobId job;
  model::Attempt attempt;
  std::int32_t rank = 0;
  std::uint64_t offset = 0;       ///< in bytes since the rank began
  std::size_t max_bytes = 65536;  ///< the answer may have less, also when there is more
};

struct LogChunk {
  std::uint64_t offset = 0;  ///< of the first byte here; > asked where old output was rotated away
  std::string bytes;
  std::uint64_t end = 0;  ///< how much the rank has written in all
};

template <class A>
void Archive(A& a, Identity& v) {
  a(v.uid, v.gid, v.user);
}
template <class A>
void Archive(A& a, GangId& v) {
  a(v.job, v.attempt);
}
template <class A>
void Archive(A& a, RankExit& v) {
  a(v.kind, v.code, v.text);
}

class Driver {
 public:
  virtual ~Driver() = default;

  /// Finds nodes and gangs that still run; reports every node before it returns.
  virtual base::Status Open(Sink sink) = 0;
  /// Called once after `Open`: the driver reports anew what is true of the expected gangs that it
  /// knows (started, ended), takes the rest of those it has as orphans (stops them), and returns
  /// the expected ones that it does not know.
  virtual std::vector<GangId> Adopt(const std::vector<Expected>& expected) = 0;
  /// Takes an order. What goes wrong comes back as observations.
  virtual void Give(const Order& order) = 0;
  /// Output of a rank, standard output and error together. `kNotFound`: no such rank or no log
  /// kept.
  virtual base::Result<LogChunk> ReadLog(const LogRequest& request) const = 0;
  /// Stops observing. What runs goes on.
  virtual void Close() = 0;
};

}  // namespace muster::driver
