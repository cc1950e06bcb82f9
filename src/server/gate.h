// SPDX-License-Identifier: Apache-2.0
// What callers may do, and what the driver's observations mean: requests and observations become
// the notes and facts of one batch. Nothing is changed here.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/state/view.h"
#include "server/command.h"
#include "server/records.h"
#include "server/state.h"

namespace muster::server {

/// What the server was started with.
struct Rules {
  bool is_root = false;     ///< the server may run jobs under other accounts
  std::uint32_t uid = 0;    ///< the server's own
  bool allow_root = false;  ///< jobs may run as uid 0
  std::size_t max_live_jobs = 200'000;
};

/// Puts one batch together.
class Composer {
 public:
  Composer(const State& state, const Rules& rules, base::Instant now);

  /// Checks a request and adds what it brings. The reply is to be given once the batch is durable;
  /// an error at once, or with the batch if a refusal is part of it.
  base::Result<Reply> Admit(const Request& request);
  void Observe(const driver::Observation& observation);
  /// Time has come for something.
  void AddTick() { batch_.facts.emplace_back(model::Tick{}); }

  bool empty() const { return batch_.notes.empty() && batch_.facts.empty(); }
  /// A pass stands at the time of a fact: a batch of notes alone gets a tick.
  Batch TakeBatch() {
    if (batch_.facts.empty()) AddTick();
    return std::move(batch_);
  }
  /// To be given to the driver once the batch is durable, besides what follows from decisions.
  std::vector<driver::Order> TakeOrders() { return std::move(orders_); }

 private:
  base::Result<Reply> On(const Caller& caller, const SubmitJobs& command);
  base::Result<Reply> On(const Caller& caller, const ChangeJob& command);
  base::Result<Reply> On(const Caller& caller, const SetPriorityClass& command);
  base::Result<Reply> On(const Caller& caller, const SetNodeState& command);
  base::Result<Reply> On(const Caller& caller, const PauseStarts& command);
  base::Result<Reply> On(const Caller& caller, const RequestCheckpoint& command);
  base::Result<Reply> On(const Caller& caller, const ReportCheckpoint& command);
  base::Result<Reply> On(const Caller& caller, const ReportHealth& command);
  base::Result<Reply> On(const Caller& caller, const CreateToken& command);
  base::Result<Reply> On(const Caller& caller, const RevokeToken& command);
  base::Result<Reply> On(const Caller& caller, const ActivatePolicy& command);

  void On(const driver::NodeFound& seen);
  void On(const driver::NodeMissing& seen);
  void On(const driver::RanksStarted& seen);
  void On(const driver::RankEnded& seen);
  void On(const driver::HealthSeen& seen);
  void On(const driver::ForeignSeen& seen);

  /// The account's jobs may be run by this server.
  base::Status CheckAccount(const driver::Identity& account) const;
  base::Status CheckRole(const Caller& caller, Role least, std::string_view what);
  /// The job, if it exists, has not ended and the caller may act on it.
  base::Result<const JobRecord*> FindOwn(const Caller& caller, model::JobId job,
                                         std::string_view what);
  base::Status CheckSpec(const model::JobSpec& spec, std::string_view where) const;
  /// The answer to a key that is known, or nothing to say.
  base::Result<std::optional<Reply>> FindKey(const Caller& caller, const std::string& key,
                                             std::uint64_t hash) const;
  model::JobId AddJob(const Caller& caller, const model::JobSpec& spec, JobAccepted note);
  void Audit(const Caller& caller, std::string action, std::string target, std::string detail,
             bool allowed = true);

  const State& state_;
  const Rules& rules_;
  engine::View view_;
  const model::Policy& policy_;  ///< lives in `view_`
  base::Instant now_;
  std::uint32_t next_job_;
  std::size_t new_jobs_ = 0;
  IdempotencyKeys new_keys_;
  Batch batch_;
  std::vector<driver::Order> orders_;
};

/// How long a gang has to stop: what was decided, or what a job gets that declares nothing.
base::Duration StopGrace(base::Duration decided);

}  // namespace muster::server
