// SPDX-License-Identifier: Apache-2.0
#include "api/resources/job_json.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/resources/shapes.h"
#include "base/strings.h"
#include "base/units.h"
#include "format/job_document.h"
#include "server/tables.h"

namespace muster::api {
namespace {

using format::Map;
using format::Text;
using format::Value;

/// Nodes that a row names; the rest is a count.
constexpr std::size_t kNodesInRow = 4;

struct Size {
  std::int64_t replicas = 0;
  base::MilliGpu gpus;
};

/// Of the place, or what was asked for.
Size SizeOf(const JobCard& card) {
  Size size;
  const auto& groups = card.record->request->groups;
  const model::GangPlacement* const place = card.place();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t replicas = place != nullptr && g < place->group_sizes.size()
                                      ? place->group_sizes[g]
                                      : groups[g].replicas;
    size.replicas += replicas;
    size.gpus += groups[g].shape.gpu * replicas;
  }
  return size;
}

Value OwnerValue(const driver::Identity& owner) {
  Value value = Map();
  value.Add("user", Text(owner.user));
  value.Add("uid", Number(owner.uid));
  value.Add("gid", Number(owner.gid));
  return value;
}

Value CheckpointValue(const server::CheckpointRecord& checkpoint) {
  Value value = Map();
  value.Add("step", Number(checkpoint.step));
  value.Add("path", Text(checkpoint.path));
  value.Add("at", TimeValue(checkpoint.at));
  value.Add("attempt", Number(checkpoint.attempt.value));
  return value;
}

/// The job document; without the environment unless it may be seen.
Value DocumentValue(const JobCard& card, bool with_environment) {
  const server::JobRecord& record = *card.record;
  model::JobSpec spec{.name = record.text->name,
                      .queue = record.queue,
                      .priority_class = record.text->priority_class,
                      .labels = record.text->labels,
                      .start_after = record.start_after,
                      .request = *record.request,
                      .commands = record.text->commands};
  if (!with_environment) {
    for (model::TaskCommand& command : spec.commands) {
      command.env.clear();
      command.secret_env.clear();
    }
  }
  return format::EncodeJob(spec);
}

std::string LevelName(const server::Picture& picture, const model::GangPlacement& placement) {
  // The levels may be others since the place was taken.
  if (placement.level >= picture.view.level_count()) return "any";
  return std::string(picture.view.LevelName(placement.level));
}

Value DeviceList(model::DeviceMask mask) {
  Value list = format::List();
  for (int i = 0; i < model::kMaxDevicesPerNode; ++i) {
    if ((mask >> i & 1) != 0) list.items.push_back(Number(i));
  }
  return list;
}

Value RanksValue(const server::Picture& picture, const JobCard& card,
                 const model::GangPlacement& placement, RankWindow window) {
  Value list = format::List();
  const auto& groups = card.record->request->groups;
  std::size_t group = 0;
  std::size_t group_end =
      placement.group_sizes.empty() ? 0 : static_cast<std::size_t>(placement.group_sizes[0]);
  const std::size_t end =
      window.first + std::min(window.limit, placement.ranks.size() -
                                                std::min(window.first, placement.ranks.size()));
  for (std::size_t rank = window.first; rank < end; ++rank) {
    while (rank >= group_end && group + 1 < placement.group_sizes.size())
      group_end += static_cast<std::size_t>(placement.group_sizes[++group]);
    const model::ReplicaPlacement& replica = placement.ranks[rank];
    const auto spec = picture.view.Node(replica.node).spec;
    Value value = Map();
    value.entries.reserve(6);
    value.Add("rank", Number(rank));
    value.Add("group", Text(group < groups.size() ? groups[group].name : ""));
    value.Add("node", Text(spec == nullptr ? "?" : spec->name));
    value.Add("devices", DeviceList(replica.devices));
    value.Add("cpu", Text(base::FormatCpu(replica.cpu)));
    value.Add("memory", Text(base::FormatBytes(replica.memory)));
    list.items.push_back(std::move(value));
  }
  return list;
}

}  // namespace

Value JobRowValue(const server::Picture& picture, const JobCard& card) {
  const server::JobRecord& record = *card.record;
  const server::AttemptRecord* const last = card.last();
  const Size size = SizeOf(card);
  Value row = Map();
  row.entries.reserve(16);
  row.Add("id", Number(card.id.value));
  row.Add("name", Text(record.text->name));
  row.Add("user", Text(record.owner.user));
  row.Add("queue", Text(record.queue));
  row.Add("priorityClass", Text(record.text->priority_class));
  row.Add("state", Text(std::string(Name(card.state))));
  row.Add("gpus", Text(base::FormatGpu(size.gpus)));
  row.Add("replicas", Number(size.replicas));
  row.Add("submitted", TimeValue(record.submitted));
  if (last != nullptr) row.Add("started", TimeValue(last->placed));
  if (card.ended() && card.view.phase == engine::JobPhase::kEnded) {
    row.Add("ended", TimeValue(card.view.ended));
  } else if (card.ended() && last != nullptr) {
    row.Add("ended", TimeValue(last->ended));
  }
  row.Add("attempt", Number(last == nullptr ? 0 : last->number.value));
  if (const auto reason = CheapReason(picture, card)) row.Add("reason", ReasonValue(*reason));
  if (card.place() != nullptr) {
    NodeNames nodes = NodesOf(picture.view, *card.place(), kNodesInRow);
    Value value = Map();
    value.Add("count", Number(nodes.count));
    value.Add("first", TextList(std::move(nodes.names)));
    row.Add("nodes", std::move(value));
  }
  return row;
}

Value JobValue(const server::Picture& picture, const JobCard& card, const server::Caller& caller) {
  const server::JobRecord& record = *card.record;
  Value job = JobRowValue(picture, card);
  job.Add("owner", OwnerValue(record.owner));
  if (!record.start_after.IsZero())
    job.Add("notBefore", TimeValue(record.submitted + record.start_after));
  if (card.place() != nullptr) job.Add("level", Text(LevelName(picture, *card.place())));
  const bool sees_all = server::SeesAllOf(caller, record.owner);
  job.Add("document", DocumentValue(card, sees_all));
  if (!sees_all) job.Add("envHidden", Flag(true));
  Value attempts = format::List();
  if (record.attempts != nullptr) {
    for (const server::AttemptRecord& attempt : *record.attempts)
      attempts.items.push_back(AttemptValue(picture, card, attempt));
  }
  job.Add("attempts", std::move(attempts));
  if (record.checkpoint != nullptr) job.Add("checkpoint", CheckpointValue(*record.checkpoint));
  return job;
}

std::optional<Value> FailureValue(const server::AttemptRecord& attempt) {
  if (attempt.bad_rank < 0) return std::nullopt;
  Value value = Map();
  value.Add("rank", Number(attempt.bad_rank));
  value.Add("kind", Text(std::string(Name(attempt.bad_exit.kind))));
  value.Add("code", Number(attempt.bad_exit.code));
  value.Add("text",
            Text(base::Format("rank {} {}", attempt.bad_rank, server::Describe(attempt.bad_exit))));
  return value;
}

Value AttemptValue(const server::Picture& picture, const JobCard& card,
                   const server::AttemptRecord& attempt, std::optional<RankWindow> window) {
  const model::GangPlacement& placement = *attempt.placement;
  Value value = Map();
  value.Add("number", Number(attempt.number.value));
  value.Add("placed", TimeValue(attempt.placed));
  if (attempt.running.us != 0) value.Add("running", TimeValue(attempt.running));
  if (attempt.ended.us != 0) {
    value.Add("ended", TimeValue(attempt.ended));
    value.Add("reason", ReasonValue({attempt.why, 0}));
  }
  value.Add("level", Text(LevelName(picture, placement)));
  value.Add("replicas", Number(placement.ranks.size()));
  value.Add("nodes", TextList(NodesOf(picture.view, placement).names));
  if (auto failure = FailureValue(attempt)) value.Add("failure", *std::move(failure));
  if (window) value.Add("ranks", RanksValue(picture, card, placement, *window));
  return value;
}

}  // namespace muster::api
