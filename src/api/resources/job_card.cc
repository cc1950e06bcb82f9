// SPDX-License-Identifier: Apache-2.0
#include "api/resources/job_card.h"

#include <algorithm>
#include <map>

#include "api/resources/shapes.h"

namespace muster::api {
namespace {

using engine::JobPhase;
using model::JobEnd;
using model::Reason;
using model::ReasonCode;

constexpr std::array<std::string_view, kJobStates> kNames = {"held",    "waiting",   "starting",
                                                             "running", "stopping",  "completed",
                                                             "failed",  "cancelled", "timed-out"};

JobState StateOf(JobEnd end) {
  switch (end) {
    case JobEnd::kCompleted:
      return JobState::kCompleted;
    case JobEnd::kFailed:
      return JobState::kFailed;
    case JobEnd::kCancelled:
      return JobState::kCancelled;
    case JobEnd::kTimedOut:
      break;
  }
  return JobState::kTimedOut;
}

/// Of a job that the engine has forgotten: it has ended, and its last attempt tells how.
JobState StateOf(const server::AttemptRecord* last) {
  if (last == nullptr) return JobState::kCancelled;
  switch (last->why) {
    case ReasonCode::kCompleted:
      return JobState::kCompleted;
    case ReasonCode::kTimeLimit:
      return JobState::kTimedOut;
    case ReasonCode::kTaskFailed:
    case ReasonCode::kRestartLimit:
    case ReasonCode::kNodeLost:
      return JobState::kFailed;
    default:
      return JobState::kCancelled;
  }
}

JobState StateOf(const JobCard& card) {
  switch (card.view.phase) {
    case JobPhase::kHeld:
      return JobState::kHeld;
    case JobPhase::kWaiting:
      return JobState::kWaiting;
    case JobPhase::kStarting:
      return JobState::kStarting;
    case JobPhase::kRunning:
      return JobState::kRunning;
    case JobPhase::kStopping:
      return JobState::kStopping;
    case JobPhase::kEnded:
      return StateOf(card.view.end);
    case JobPhase::kUnknown:
      break;
  }
  return StateOf(card.last());
}

}  // namespace

std::string_view Name(JobState state) { return kNames[static_cast<std::size_t>(state)]; }
std::span<const std::string_view> JobStateNames() { return kNames; }

const server::AttemptRecord* JobCard::last() const {
  if (record->attempts == nullptr || record->attempts->empty()) return nullptr;
  return &record->attempts->back();
}

std::optional<JobCard> FindJob(const server::Picture& picture, model::JobId job) {
  const auto& jobs = picture.tables.jobs;
  if (job.value >= jobs.size()) return std::nullopt;
  JobCard card{.id = job, .record = &jobs[job.value]};
  if (card.record->text == nullptr || card.record->request == nullptr) return std::nullopt;
  card.view = picture.view.Job(job);
  card.state = StateOf(card);
  return card;
}

std::optional<Reason> CheapReason(const server::Picture& picture, const JobCard& card) {
  const server::AttemptRecord* const last = card.last();
  switch (card.state) {
    case JobState::kHeld:
      return Reason{ReasonCode::kHeldByUser, 0};
    case JobState::kWaiting:
      if (picture.view.starts_paused()) return Reason{ReasonCode::kStartsPaused, 0};
      if (card.record->submitted + card.record->start_after > picture.at)
        return Reason{ReasonCode::kStartAfter, 0};
      if (last != nullptr) return Reason{last->why, 0};
      return std::nullopt;
    case JobState::kCompleted:
      return Reason{ReasonCode::kCompleted, 0};
    case JobState::kCancelled:
      return Reason{ReasonCode::kCancelled, 0};
    case JobState::kTimedOut:
      return Reason{ReasonCode::kTimeLimit, 0};
    case JobState::kFailed:
      return Reason{last == nullptr ? ReasonCode::kTaskFailed : last->why, 0};
    case JobState::kStarting:
    case JobState::kRunning:
    case JobState::kStopping:
      break;
  }
  return std::nullopt;
}

JobCounts CountJobs(const server::Picture& picture) {
  JobCounts counts;
  std::map<std::string_view, std::size_t> queues;
  counts.by_queue.resize(picture.view.queue_count());
  for (std::uint32_t q = 0; q < picture.view.queue_count(); ++q)
    queues.emplace(picture.view.Queue(model::QueueId{q}).name, q);
  VisitJobs(picture, 1, true, INT64_MAX, [&](const JobCard& card) {
    if (card.ended()) return true;
    ++counts.all[static_cast<std::size_t>(card.state)];
    const auto queue = queues.find(card.view.queue);
    if (queue != queues.end())
      ++counts.by_queue[queue->second][static_cast<std::size_t>(card.state)];
    return true;
  });
  return counts;
}

format::Value PhaseCountsValue(const PhaseCounts& counts) {
  format::Value value = format::Map();
  for (std::size_t i = 0; i < counts.size(); ++i)
    value.Add(std::string(kNames[i]), Number(counts[i]));
  return value;
}

NodeNames NodesOf(const engine::View& view, const model::GangPlacement& placement,
                  std::size_t limit) {
  std::vector<model::NodeId> nodes;
  for (const model::ReplicaPlacement& rank : placement.ranks) {
    // Ranks are numbered in topology order: a node comes again only in another task group.
    if (nodes.empty() || nodes.back() != rank.node) nodes.push_back(rank.node);
  }
  if (placement.group_sizes.size() > 1) {
    std::vector<bool> seen(view.node_count());
    std::erase_if(nodes, [&seen](model::NodeId node) {
      const bool again = node.value < seen.size() && seen[node.value];
      if (node.value < seen.size()) seen[node.value] = true;
      return again;
    });
  }
  NodeNames out{.count = nodes.size()};
  out.names.reserve(std::min(limit, nodes.size()));
  for (std::size_t i = 0; i < nodes.size() && i < limit; ++i) {
    const auto spec = view.Node(nodes[i]).spec;
    out.names.push_back(spec == nullptr ? "?" : spec->name);
  }
  return out;
}

bool ActsAsOwner(const server::Caller& caller, const JobCard& card) {
  return server::SeesAllOf(caller, card.record->owner);
}

}  // namespace muster::api
