// SPDX-License-Identifier: Apache-2.0
// What readers see: the state after a durable batch. Immutable, cheap to copy, safe from any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cow_table.h"
#include "base/time.h"
#include "engine/engine.h"
#include "server/records.h"

namespace muster::server {

/// One start of a job.
struct AttemptRecord {
  model::Attempt number;
  base::Instant placed;   ///< when it was decided
  base::Instant running;  ///< when its first rank ran; 0: not yet, or never
  base::Instant ended;    ///< 0: not yet
  model::ReasonCode why = model::ReasonCode::kPlaced;  ///< why it ended
  model::GangPlacementPtr placement;
  /// The first rank that did not end well; rank -1: none.
  std::int32_t bad_rank = -1;
  driver::RankExit bad_exit;
};

/// The last checkpoint that counts.
struct CheckpointRecord {
  std::int64_t step = 0;
  std::string path;
  base::Instant at;
  model::Attempt attempt;
};

/// Most attempts of one job that are remembered.
inline constexpr std::size_t kKeptAttempts = 16;

struct JobRecord {
  std::shared_ptr<const JobText> text;  ///< null: no such job, or forgotten
  model::GangRequestPtr request;
  driver::Identity owner;
  std::string queue;
  base::Instant submitted;
  base::Duration start_after;
  std::shared_ptr<const std::vector<AttemptRecord>> attempts;  ///< null: none yet; oldest first
  std::shared_ptr<const CheckpointRecord> checkpoint;          ///< null: none
};

enum class EventKind : std::uint8_t {
  kSubmitted,
  kPlaced,
  kRunning,
  kStopping,
  kRequeued,
  kEnded,
  kChanged,     ///< held, released, another class
  kCheckpoint,  ///< accepted
  kNode,        ///< found, or its state was set
  kPause,
  kPolicy,
  kLast = kPolicy,
};
/// "submitted".
std::string_view Name(EventKind kind);

struct Event {
  std::uint64_t id = 0;  ///< rising; the same after a restart
  base::Instant at;
  EventKind kind = EventKind::kSubmitted;
  model::JobId job = model::JobId::None();
  model::Attempt attempt;
  std::string text;  ///< for people: "placed on gpu-3, gpu-4"
};

struct NodeRecord {
  std::string note;          ///< the driver's: how tasks are kept apart
  std::string state_reason;  ///< who set the present state, and why
};

struct AuditRecord {
  base::Instant at;
  Audited act;
};

/// What was used on one day by one user in one queue; µs x devices.
struct UsageKey {
  std::int64_t day = 0;  ///< since the epoch, UTC
  std::string queue;
  std::string user;
  std::string model;  ///< of the devices; "" for CPU-only work
  friend auto operator<=>(const UsageKey&, const UsageKey&) = default;
};
struct UsageRow {
  std::int64_t allocated_us = 0;
  std::int64_t lost_us = 0;  ///< of it: of attempts that ended badly, since their last checkpoint
  std::int64_t cpu_us = 0;   ///< milli-CPU x µs / 1000
};

/// By day, so that a batch copies one day only.
using UsageDay = std::map<UsageKey, UsageRow>;
using UsageDays = std::map<std::int64_t, std::shared_ptr<const UsageDay>>;

struct PauseRecord {
  bool paused = false;
  std::string reason;
  base::Instant since;
};

/// Upper bounds of a histogram's buckets; one more bucket has no bound.
inline constexpr std::array<std::int64_t, 12> kHistogramBoundsMs = {
    1, 10, 100, 1000, 5000, 15'000, 60'000, 300'000, 900'000, 3'600'000, 14'400'000, 86'400'000};
struct Histogram {
  std::array<std::uint64_t, kHistogramBoundsMs.size() + 1> buckets{};
  std::int64_t sum_us = 0;
  std::uint64_t count = 0;
  void Add(base::Duration span);
};

/// Counted since this process began.
struct Counters {
  std::uint64_t batches = 0;
  std::uint64_t facts = 0;
  std::uint64_t decisions = 0;
  std::uint64_t commands = 0;
  std::uint64_t refused = 0;
  std::uint64_t append_failures = 0;
  std::uint64_t rejected_full = 0;
  std::uint64_t restarts = 0;  ///< attempts after a job's first
  std::uint64_t requeues = 0;
  std::array<std::uint64_t, 4> ends{};  ///< by model::JobEnd
  std::uint64_t node_losses = 0;
  std::map<std::string, Histogram, std::less<>> wait;  ///< submit to start, by queue
  Histogram decide;
  Histogram append;
  Histogram loop_lag;
  std::uint64_t backlog = 0;  ///< inputs that waited when the batch was taken
};

using NodeRecords = std::map<std::string, NodeRecord, std::less<>>;

/// The state that is not the engine's. `server/tables.h` says how records change it.
struct Tables {
  base::CowTable<JobRecord> jobs;  ///< by JobId; row 0 is nobody's
  std::shared_ptr<const NodeRecords> nodes;
  std::shared_ptr<const std::vector<TokenCreated>> tokens;
  base::CowTable<AuditRecord> audit;  ///< oldest chunks dropped
  std::shared_ptr<const UsageDays> usage;
  base::CowTable<Event> events;  ///< oldest chunks dropped
  PauseRecord pause;
  std::shared_ptr<const std::string> policy_text;  ///< as it was given; "" = the default
};

struct Picture {
  std::uint64_t sequence = 0;  ///< of the last record
  base::Instant at;            ///< of that record
  engine::View view;
  Tables tables;
  std::shared_ptr<const Counters> counters;
  std::string trouble;  ///< why the server cannot take requests now; empty: it can
};
using PicturePtr = std::shared_ptr<const Picture>;

}  // namespace muster::server
