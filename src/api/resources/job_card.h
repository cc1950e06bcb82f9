// SPDX-License-Identifier: Apache-2.0
// What a picture knows of one job, gathered from the engine's view and the server's tables. Cheap:
// nothing is copied but pointers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "format/document.h"
#include "model/reason.h"
#include "server/caller.h"
#include "server/picture.h"

namespace muster::api {

/// As people filter by: the phase of a job that has not ended, or how it ended.
enum class JobState : std::uint8_t {
  kHeld,
  kWaiting,
  kStarting,
  kRunning,
  kStopping,
  kCompleted,
  kFailed,
  kCancelled,
  kTimedOut,
  kLast = kTimedOut,
};
inline constexpr std::size_t kJobStates = static_cast<std::size_t>(JobState::kLast) + 1;
/// The first of them that is an end.
inline constexpr JobState kFirstEnd = JobState::kCompleted;

/// "timed-out".
std::string_view Name(JobState state);
std::span<const std::string_view> JobStateNames();

/// Good while the picture lives.
struct JobCard {
  model::JobId id;
  const server::JobRecord* record = nullptr;
  engine::JobView view;  ///< phase kUnknown where the engine has forgotten a job that ended
  JobState state = JobState::kWaiting;

  /// The newest attempt that is remembered, or null.
  const server::AttemptRecord* last() const;
  /// Where it is now; null where it has no place.
  const model::GangPlacement* place() const { return view.placement.get(); }
  bool ended() const { return state >= kFirstEnd; }
};

std::optional<JobCard> FindJob(const server::Picture& picture, model::JobId job);

/// Why it is in its state, where that costs nothing to know: no search, no other job is looked at.
std::optional<model::Reason> CheapReason(const server::Picture& picture, const JobCard& card);

/// Calls `visit(JobCard)` for jobs from `first` on, upwards or downwards, until it returns false or
/// `limit` ids were passed; returns the id to go on with, or none where all were visited. Chunks of
/// forgotten jobs cost nothing.
template <class Visit>
std::optional<std::uint32_t> VisitJobs(const server::Picture& picture, std::int64_t first,
                                       bool upwards, std::int64_t limit, Visit visit) {
  const auto& jobs = picture.tables.jobs;
  const auto size = static_cast<std::int64_t>(jobs.size());
  constexpr auto kChunk = static_cast<std::int64_t>(decltype(server::Tables::jobs)::kRowsPerChunk);
  std::int64_t id = upwards ? std::max<std::int64_t>(first, 1) : std::min(first, size - 1);
  std::int64_t passed = 0;
  while (id >= 1 && id < size) {
    if (passed++ == limit) return static_cast<std::uint32_t>(id);
    if (jobs.IsDropped(static_cast<std::size_t>(id))) {
      id = upwards ? (id / kChunk + 1) * kChunk : id / kChunk * kChunk - 1;
      continue;
    }
    const auto card = FindJob(picture, model::JobId{static_cast<std::uint32_t>(id)});
    if (card && !visit(*card)) return static_cast<std::uint32_t>(id);
    id += upwards ? 1 : -1;
  }
  return std::nullopt;
}

/// How many jobs are in each phase that is not an end, by `JobState`.
using PhaseCounts = std::array<std::int64_t, static_cast<std::size_t>(kFirstEnd)>;
struct JobCounts {
  PhaseCounts all{};
  std::vector<PhaseCounts> by_queue;  ///< by QueueId of the view
};
JobCounts CountJobs(const server::Picture& picture);
format::Value PhaseCountsValue(const PhaseCounts& counts);

/// Names of the nodes of a placement, in the order of ranks, each once; at most `limit`.
struct NodeNames {
  std::vector<std::string> names;
  std::size_t count = 0;  ///< of all
};
NodeNames NodesOf(const engine::View& view, const model::GangPlacement& placement,
                  std::size_t limit = SIZE_MAX);

/// May this caller act as the owner: the owner, or an admin.
bool ActsAsOwner(const server::Caller& caller, const JobCard& card);

}  // namespace muster::api
