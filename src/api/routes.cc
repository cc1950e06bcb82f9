// SPDX-License-Identifier: Apache-2.0
// The table of routes: one row each. What may be asked, by whom, and what comes back.
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "api/resources/handlers.h"
#include "api/route.h"

namespace muster::api {
namespace {

using server::Role;

const QueryParameter kLimit = {"limit", "integer", "most rows in the answer"};
const QueryParameter kCursor = {"cursor", "string", "where to go on: `next` of the page before"};
const QueryParameter kRank = {"rank", "integer", "number of the replica; default 0"};
const QueryParameter kAttempt = {"attempt", "integer", "number of the start; default: the latest"};
const QueryParameter kOffset = {"offset", "integer", "first byte; default 0"};
const QueryParameter kTail = {"tail", "integer", "so many bytes at the end, instead of `offset`"};

std::vector<Route> JobRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/jobs",
       .id = "listJobs",
       .summary = "Jobs, newest first",
       .query = {{"state", "string", "states with commas between; `active`: all not ended"},
                 {"queue", "string", "of this queue only"},
                 {"user", "string", "of this user only"},
                 {"name", "string", "of this name; `llama*`: names that begin so"},
                 {"label", "string", "with these labels: `team=nlp`, several with commas between"},
                 {"order", "string", "newest (default) or oldest first"},
                 kLimit,
                 kCursor},
       .response = "JobList",
       .handle = Now<ListJobs>},
      {.method = "POST",
       .pattern = "/v1/jobs",
       .id = "submitJobs",
       .summary = "Submit jobs: all of them are accepted, or none is",
       .role = Role::kUser,
       .query = {{"dryRun", "boolean", "only say what would become of them"}},
       .request = "JobDocuments",
       .response = "Submitted",
       .handle = SubmitJobs},
      {.method = "GET",
       .pattern = "/v1/jobs/{id}",
       .id = "getJob",
       .summary = "A job with its document and attempts",
       .response = "Job",
       .handle = Now<GetJob>},
      {.method = "PATCH",
       .pattern = "/v1/jobs/{id}",
       .id = "updateJob",
       .summary = "Give a job another priority class",
       .role = Role::kUser,
       .request = "JobUpdate",
       .response = "Done",
       .handle = UpdateJob},
      {.method = "GET",
       .pattern = "/v1/jobs/{id}/why",
       .id = "explainJob",
       .summary = "Why a job waits, where it runs, how it ended",
       .response = "JobWhy",
       .handle = Now<ExplainJob>},
      {.method = "GET",
       .pattern = "/v1/jobs/{id}/attempts",
       .id = "listAttempts",
       .summary = "The starts of a job, with the place of each rank",
       .query = {{"attempt", "integer", "only this one"},
                 {"first", "integer", "first rank to list; default 0"},
                 {"limit", "integer", "most ranks to list of each; default 1000"}},
       .response = "AttemptList",
       .handle = Now<ListAttempts>},
  };
}

std::vector<Route> JobHistoryRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/jobs/{id}/events",
       .id = "listJobEvents",
       .summary = "What happened to a job, oldest first",
       .query = {{"after", "integer", "only events with a higher id"}, kLimit},
       .response = "EventList",
       .handle = Now<ListJobEvents>},
      {.method = "GET",
       .pattern = "/v1/jobs/{id}/logs",
       .id = "readLog",
       .summary = "Output of a rank as bytes; headers X-Log-Attempt, X-Log-Offset, X-Log-End",
       .query =
           {kRank, kAttempt, kOffset, kTail, {"limit", "integer", "most bytes; default 64 KiB"}},
       .response = "LogBytes",
       .handle = Now<ReadLog>},
      {.method = "GET",
       .pattern = "/v1/jobs/{id}/logs/stream",
       .id = "streamLog",
       .summary = "Output of a rank as it comes; ends with the attempt",
       .query = {kRank, kAttempt, kOffset, kTail},
       .response = "LogPiece",
       .stream = StreamLog},
  };
}

std::vector<Route> JobActRoutes() {
  const auto act = [](std::string_view pattern, std::string_view id, std::string_view summary,
                      Handler* handle) {
    return Route{.method = "POST",
                 .pattern = pattern,
                 .id = id,
                 .summary = summary,
                 .role = Role::kUser,
                 .response = "Done",
                 .handle = handle};
  };
  return {
      act("/v1/jobs/{id}/cancel", "cancelJob", "End a job, whether it waits or runs", CancelJob),
      act("/v1/jobs/{id}/hold", "holdJob", "Keep a job from being started", HoldJob),
      act("/v1/jobs/{id}/release", "releaseJob", "Undo a hold", ReleaseJob),
      act("/v1/jobs/{id}/requeue", "requeueJob",
          "Stop a job and let it wait again at its old place", RequeueJob),
      act("/v1/jobs/{id}/checkpoint", "checkpointJob", "Ask a running job to checkpoint now",
          CheckpointJob),
      {.method = "POST",
       .pattern = "/v1/jobs/{id}/checkpoints",
       .id = "reportCheckpoint",
       .summary = "Say that a checkpoint is durable; by the attempt's token, the owner or an admin",
       .request = "CheckpointReport",
       .response = "Done",
       .handle = ReportCheckpoint},
  };
}

std::vector<Route> SiteRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/nodes",
       .id = "listNodes",
       .summary = "Nodes",
       .query = {{"state", "string", "states with commas between"}, kLimit, kCursor},
       .response = "NodeList",
       .handle = Now<ListNodes>},
      {.method = "GET",
       .pattern = "/v1/nodes/{name}",
       .id = "getNode",
       .summary = "A node with its devices and what runs on it",
       .response = "NodeDetail",
       .handle = Now<GetNode>},
      {.method = "POST",
       .pattern = "/v1/nodes/{name}/state",
       .id = "setNodeState",
       .summary = "Cordon, drain, bring back",
       .role = Role::kOperator,
       .request = "NodeStateWish",
       .response = "Done",
       .handle = SetNodeState},
      {.method = "POST",
       .pattern = "/v1/health-facts",
       .id = "reportHealth",
       .summary = "Which devices of a node are faulty",
       .role = Role::kReporter,
       .request = "HealthFact",
       .response = "Done",
       .handle = ReportHealth},
      {.method = "GET",
       .pattern = "/v1/topology",
       .id = "getTopology",
       .summary = "The tree of the network with the devices in each part",
       .response = "Topology",
       .handle = Now<GetTopology>},
      {.method = "GET",
       .pattern = "/v1/inventory",
       .id = "getInventory",
       .summary = "Devices and nodes by state",
       .query = {{"level", "string", "also for each domain of this topology level"}},
       .response = "Inventory",
       .handle = Now<GetInventory>},
  };
}

std::vector<Route> PolicyRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/queues",
       .id = "listQueues",
       .summary = "Queues, what waits in them and what their jobs hold",
       .response = "QueueList",
       .handle = Now<ListQueues>},
      {.method = "GET",
       .pattern = "/v1/policy",
       .id = "getPolicy",
       .summary = "The policy that is active",
       .response = "Policy",
       .handle = Now<GetPolicy>},
      {.method = "PUT",
       .pattern = "/v1/policy",
       .id = "putPolicy",
       .summary = "Make another policy the active one",
       .role = Role::kAdmin,
       .request = "PolicyDocument",
       .response = "Done",
       .handle = PutPolicy},
      {.method = "POST",
       .pattern = "/v1/pause",
       .id = "pauseStarts",
       .summary = "Start nothing that waits, or go on",
       .role = Role::kOperator,
       .request = "PauseWish",
       .response = "Done",
       .handle = PauseStarts},
  };
}

std::vector<Route> RecordRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/events",
       .id = "streamEvents",
       .summary = "What happens, as it happens",
       .query = {{"after", "integer", "only events with a higher id; 0: all that are kept"},
                 {"job", "integer", "of this job only"},
                 {"kind", "string", "kinds with commas between"},
                 {"follow", "boolean", "false: end after what there is already"}},
       .response = "Event",
       .stream = StreamEvents},
      {.method = "GET",
       .pattern = "/v1/usage",
       .id = "getUsage",
       .summary = "What ended attempts used",
       .query = {{"from", "string", "first day, like 2026-01-31"},
                 {"to", "string", "last day"},
                 {"by", "string",
                  "of day, queue, user, model, with commas; default the last three"}},
       .response = "Usage",
       .handle = Now<GetUsage>},
      {.method = "GET",
       .pattern = "/v1/audit",
       .id = "listAudit",
       .summary = "Who did what, newest first",
       .role = Role::kOperator,
       .query = {kLimit, kCursor},
       .response = "AuditList",
       .handle = Now<ListAudit>},
      {.method = "GET",
       .pattern = "/v1/tokens",
       .id = "listTokens",
       .summary = "Tokens, without their secrets",
       .role = Role::kAdmin,
       .response = "TokenList",
       .handle = Now<ListTokens>},
      {.method = "POST",
       .pattern = "/v1/tokens",
       .id = "createToken",
       .summary = "Make a token; its secret is shown this once",
       .role = Role::kAdmin,
       .request = "TokenWish",
       .response = "NewToken",
       .handle = CreateToken},
      {.method = "DELETE",
       .pattern = "/v1/tokens/{name}",
       .id = "revokeToken",
       .summary = "Make a token worthless",
       .role = Role::kAdmin,
       .response = "Done",
       .handle = RevokeToken},
  };
}

std::vector<Route> ServerRoutes() {
  return {
      {.method = "GET",
       .pattern = "/v1/status",
       .id = "getStatus",
       .summary = "The server at a glance",
       .response = "Status",
       .handle = Now<GetStatus>},
      {.method = "GET",
       .pattern = "/v1/openapi.json",
       .id = "getOpenApi",
       .summary = "This document",
       .open = true,
       .response = "OpenApi",
       .handle = Now<GetOpenApi>},
      {.method = "GET",
       .pattern = "/healthz",
       .id = "getHealth",
       .summary = "The process answers",
       .open = true,
       .response = "Health",
       .handle = Now<GetHealth>},
      {.method = "GET",
       .pattern = "/readyz",
       .id = "getReadiness",
       .summary = "The server can take requests; 503 and why if not",
       .open = true,
       .response = "Health",
       .handle = Now<GetReadiness>},
      {.method = "GET",
       .pattern = "/metrics",
       .id = "getMetrics",
       .summary = "Metrics for Prometheus",
       .response = "MetricsText",
       .handle = Now<GetMetrics>},
  };
}

}  // namespace

std::span<const Route> Routes() {
  static const std::vector<Route> kRoutes = [] {
    std::vector<Route> all;
    for (std::vector<Route>& part :
         std::array{JobRoutes(), JobHistoryRoutes(), JobActRoutes(), SiteRoutes(), PolicyRoutes(),
                    RecordRoutes(), ServerRoutes()}) {
      all.insert(all.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
    }
    return all;
  }();
  return kRoutes;
}

}  // namespace muster::api
