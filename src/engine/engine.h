// SPDX-License-Identifier: Apache-2.0
// The scheduling engine: its one face. Pure and deterministic: no clock, file, thread, log,
// randomness of its own or floating point. The same inputs and decisions in the same order give the
// same state, on every compiler. One thread writes; a `View` may be read by any thread while the
// engine goes on.
//
//   Engine engine(policy, seed);
//   engine.Apply({now, model::NodeSeen{spec}});
//   engine.Apply({now, model::JobSubmitted{...}});
//   Pass pass = engine.Decide(now, WorkBudget{});   // decisions, already committed
//
// Replay is `Apply` and `Commit` in recorded order, never `Decide`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/explain/explanation.h"
#include "engine/state/view.h"
#include "model/decision.h"
#include "model/input.h"
#include "model/policy.h"

namespace muster::engine {

/// How much one pass may do, in work units (about one looked-at domain or node each). Never time: a
/// replay must stop where the live run stopped.
struct WorkBudget {
  std::int64_t units = std::int64_t{1} << 40;
};

struct Pass {
  std::vector<model::Decision> decisions;
  bool more = false;      ///< the budget ended first; call `Decide` again
  std::int64_t work = 0;  ///< units used
};

/// How often the ledger is recomputed from scratch and compared.
enum class CheckLevel : std::uint8_t {
  kTouched,  ///< rows touched in each pass; everything every 1,024 passes
  kFull,     ///< everything, every pass: tests
};

class Engine {
 public:
  /// `seed` feeds the strategies that draw lots. The policy must have passed `CheckPolicy`.
  explicit Engine(const model::Policy& policy, std::uint64_t seed,
                  CheckLevel check = CheckLevel::kTouched);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// The whole state as bytes, and back. A restored engine decides as the original would.
  std::vector<std::uint8_t> Snapshot() const;
  static base::Result<Engine> Restore(std::span<const std::uint8_t> snapshot,
                                      CheckLevel check = CheckLevel::kTouched);

  /// An engine that goes on from a view, as one restored from a snapshot of that moment would: for
  /// going back, and for trying things out.
  static Engine FromView(const View& view, CheckLevel check = CheckLevel::kTouched);

  /// Takes in a fact. Facts about unknown jobs or nodes, or of older attempts, change nothing.
  void Apply(const model::Input& input);
  /// Takes every decision that is due at `now`, until the budget ends; each is committed. `now` is
  /// the time of the latest input; where only time has passed, apply a `Tick` first.
  Pass Decide(base::Instant now, WorkBudget budget);
  /// Enters a recorded decision. `now` is the time of the pass that took it.
  void Commit(const model::Decision& decision, base::Instant now);

  /// When time alone may change a decision next (relax steps, start times, time limits); none: only
  /// inputs can.
  std::optional<base::Instant> NextDeadline() const;

  /// The present state; O(1), and unchanged by what comes later.
  View view() const;
  /// Why a job is where it is, from a view alone; may run on another thread.
  static Explanation Explain(const View& view, model::JobId job, WorkBudget budget);

  /// Recomputes the whole ledger and the capacity index and compares. Empty, or the first
  /// difference.
  std::string Verify() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Rules between the keys of a policy, and names that must be rows of the engine's tables (queue
/// orders, placement strategies). `where` is the path of the key in the policy document.
base::Errors CheckPolicy(const model::Policy& policy);

}  // namespace muster::engine
