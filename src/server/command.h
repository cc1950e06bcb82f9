// SPDX-License-Identifier: Apache-2.0
// What callers ask of the server, and what it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/decision.h"
#include "model/input.h"
#include "model/job.h"
#include "model/policy.h"
#include "server/caller.h"

namespace muster::server {

/// Most jobs in one request.
inline constexpr std::size_t kMaxJobsPerSubmit = 1000;

/// All of the jobs are accepted, or none is.
struct SubmitJobs {
  std::vector<model::JobSpec> jobs;
  /// The same key again from the same user within a day gives the same answer and no new jobs; with
  /// other jobs it is refused. Empty: none.
  std::string idempotency_key;
};

/// Hold, release, cancel, requeue (`model::JobChanged::Change`).
struct ChangeJob {
  model::JobId job;
  model::JobChanged::Change change = model::JobChanged::Change::kHold;
};

/// `muster update`: another priority class.
struct SetPriorityClass {
  model::JobId job;
  std::string priority_class;
};

/// Cordon, uncordon, drain, maintenance.
struct SetNodeState {
  std::string node;
  model::NodeState state = model::NodeState::kReady;
  std::string reason;
};

struct PauseStarts {
  bool paused = true;
  std::string reason;
};

/// A checkpoint request to every rank of a running job.
struct RequestCheckpoint {
  model::JobId job;
};

/// The training loop of an attempt says that a checkpoint is durable.
struct ReportCheckpoint {
  model::JobId job;
  model::Attempt attempt;
  std::int64_t step = 0;
  std::string path;  ///< empty: the attempt's checkpoint directory
};

/// Health facts of a site's own agents: bit i = device i is faulty.
struct ReportHealth {
  std::string node;
  model::DeviceMask faulty = 0;
  std::string text;
};

/// Makes a token known. The secret was made by the API, which keeps nothing of it but the hash.
struct CreateToken {
  std::string name;  ///< unique among the live ones
  std::string hash;  ///< SHA-256 of the secret, in hexadecimal
  Role role = Role::kViewer;
  driver::Identity account;
  base::Duration lifetime;  ///< 0: for ever
};

struct RevokeToken {
  std::string name;
};

/// The whole policy becomes another one.
struct ActivatePolicy {
  model::Policy policy;  ///< has passed `engine::CheckPolicy`
  std::string text;      ///< the document, byte for byte
};

using Command = std::variant<SubmitJobs, ChangeJob, SetPriorityClass, SetNodeState, PauseStarts,
                             RequestCheckpoint, ReportCheckpoint, ReportHealth, CreateToken,
                             RevokeToken, ActivatePolicy>;

struct Request {
  Caller caller;
  Command command;
};

struct Reply {
  std::vector<model::JobId> jobs;  ///< made or changed
  bool repeated = false;           ///< an earlier request with this key made them
  std::vector<std::string> notes;  ///< for people: a default that was filled in
};

/// Called exactly once, from any thread, when the outcome is durable.
using Answer = std::function<void(base::Result<Reply>)>;

}  // namespace muster::server
