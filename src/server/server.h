// SPDX-License-Identifier: Apache-2.0
// The event loop: engine + journal + driver. One batch: what waits is taken in at one moment, the
// engine decides, inputs and decisions are made durable in one record; only then are callers
// answered, readers shown the new picture and the driver told.
//
// `Step` does one batch and never waits, so that a test can drive the whole server by hand, with no
// thread and no real time; `Loop` drives it in production.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "journal/journal.h"
#include "server/clock.h"
#include "server/front.h"
#include "server/gate.h"
#include "server/mailbox.h"
#include "server/state.h"

namespace muster::server {

struct ServerOptions {
  /// For a journal that is empty; else the journal's policy goes on, unless `policy_text` is not
  /// empty and differs from it: then this one is activated.
  StateOptions initial;
  Rules rules;
  std::string build;  ///< version of this program
  std::string api;    ///< where tasks reach the server
  /// The token of an attempt; absent: tasks get none.
  std::function<std::string(driver::GangId)> attempt_token;
  /// A snapshot is written when the records since the last one are larger than this and larger than
  /// that snapshot.
  std::size_t snapshot_after_bytes = std::size_t{16} << 20;
  /// Segments that are kept for audit and what-if.
  std::size_t kept_segments = 16;
};

/// The outside, all injected; must outlive the server.
struct Outside {
  journal::Journal& journal;
  driver::Driver& driver;
  Clock& clock;
};

class Server : public Front {
 public:
  /// Restores the state from the journal, opens the driver, and reconciles: what still runs is
  /// adopted, what is gone becomes a fact of the next batch.
  static base::Result<std::unique_ptr<Server>> Open(Outside outside, ServerOptions options);
  ~Server() override;

  struct StepResult {
    bool more = false;   ///< call again at once
    bool doubt = false;  ///< observations are not taken before `wake`: do not wait for them
    /// When time alone makes the next step useful; none: only input does.
    std::optional<base::Instant> wake;
  };
  /// One batch. Only one thread may call it.
  StepResult Step();
  /// Ends cleanly: waiting requests are answered `kUnavailable`, a snapshot makes the next start
  /// quick, the driver is closed. What runs goes on. Called by the thread that steps, once.
  base::Status Close();

  Mailbox& mailbox() { return mailbox_; }

  // Front
  void Post(Request request, Answer answer) override;
  PicturePtr Look() const override;
  void OnPublish(std::function<void()> wake) override;
  /// Asks the driver, which any thread may.
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest& request) const override;

 private:
  struct Pending;
  Server(Outside outside, ServerOptions options, State state);

  void Reconcile();
  void TakeOutMissingNodes(const engine::View& view);
  driver::Launch MakeLaunch(const Picture& picture, model::JobId job) const;
  bool ResolveDoubt();
  void EnterDoubt(const base::Error& error, const Batch& undone);
  bool Commit(Pending& pending);
  void GiveOrders(const Batch& batch, const std::vector<driver::Order>& orders);
  void Count(const Batch& batch);
  void Publish();
  void RejectWaiting();
  void MaybeSnapshot(std::size_t record_bytes);
  base::Status PutSnapshot();
  StepResult Rest() const;

  Outside outside_;
  ServerOptions options_;
  State state_;
  Mailbox mailbox_;
  Counters counters_;
  bool decide_more_ = false;
  std::string trouble_;  ///< not empty: the last append failed and its outcome is not known yet
  base::Instant retry_at_;
  std::size_t bytes_since_snapshot_ = 0;
  std::size_t snapshot_bytes_ = 0;

  mutable std::mutex mutex_;  ///< guards the two below; held for a copy only
  PicturePtr picture_;
  std::function<void()> wake_;
};

/// The newest snapshot and the records after it; none if the journal is empty.
base::Result<std::optional<State>> RestoreState(journal::Journal& journal);

}  // namespace muster::server
