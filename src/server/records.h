// SPDX-License-Identifier: Apache-2.0
// What the journal's records hold: one batch of the event loop.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "driver/driver.h"
#include "model/decision.h"
#include "model/input.h"
#include "model/job.h"
#include "server/caller.h"

namespace muster::server {

/// What the engine does not need of a job.
struct JobText {
  std::string name;
  std::string priority_class;
  model::Labels labels;
  std::vector<model::TaskCommand> commands;  ///< one per task group
  friend bool operator==(const JobText&, const JobText&) = default;
};

/// Goes with the job's `model::JobSubmitted` in the same batch.
struct JobAccepted {
  model::JobId job;
  JobText text;
  driver::Identity owner;
  std::string idempotency_key;  ///< empty: none
  std::uint64_t request_hash = 0;
  std::uint32_t of =
      1;  ///< number of jobs of the request; this is the first one where a key is set
};

struct RankExitNoted {
  driver::GangId gang;
  std::int32_t rank = 0;
  driver::RankExit exit;
};

/// What the driver says about a node, or who set its state and why. Empty texts change nothing.
struct NodeNoted {
  std::string node;
  std::string note;
  std::string state_reason;
};

struct CheckpointNoted {
  driver::GangId gang;
  std::int64_t step = 0;
  std::string path;
};

struct PauseNoted {
  bool paused = false;
  std::string reason;
};

struct TokenCreated {
  std::string name;
  std::string hash;
  Role role = Role::kViewer;
  driver::Identity account;
  base::Instant expires;  ///< 0: never
};

struct TokenRevoked {
  std::string name;
};

struct PolicyNoted {
  std::string text;
};

/// Goes with a `model::JobChanged` of the priority.
struct ClassNoted {
  model::JobId job;
  std::string priority_class;
};

/// A human act, done or refused for lack of rights.
struct Audited {
  std::string user;
  std::string from;
  std::string action;  ///< "cancel"
  std::string target;  ///< "job 12", "node gpu-3"
  std::string detail;  ///< before and after, a reason
  bool allowed = true;
};

using Note = std::variant<JobAccepted, RankExitNoted, NodeNoted, CheckpointNoted, PauseNoted,
                          TokenCreated, TokenRevoked, PolicyNoted, Audited, ClassNoted>;

/// One batch: notes and facts that were taken in at `at`, then what was decided.
struct Batch {
  base::Instant at;
  std::vector<Note> notes;
  std::vector<model::Fact> facts;
  std::vector<model::Decision> decisions;
};

/// With the format's version first.
std::vector<std::uint8_t> EncodeBatch(const Batch& batch);
base::Result<Batch> DecodeBatch(std::span<const std::uint8_t> bytes);

}  // namespace muster::server
