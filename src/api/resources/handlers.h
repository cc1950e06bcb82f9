// SPDX-License-Identifier: Apache-2.0
// What the rows of routes.cc call. One file a resource.
#pragma once

#include <string>

#include "api/route.h"
#include "server/front.h"

namespace muster::api {

using Handler = void(server::Front& front, const HttpRequest& request, Respond respond);
using Streamer = StreamPart(server::Front& front, const HttpRequest& request,
                            const std::string& cursor);

// jobs.cc
Handler ListJobs, GetJob, ListAttempts;
// job_submit.cc
Handler SubmitJobs;
// job_acts.cc
Handler CancelJob, HoldJob, ReleaseJob, RequeueJob, UpdateJob, CheckpointJob, ReportCheckpoint;
// job_why.cc
Handler ExplainJob;
// logs.cc
Handler ReadLog;
Streamer StreamLog;
// events.cc
Handler ListJobEvents;
Streamer StreamEvents;
// nodes.cc
Handler ListNodes, GetNode, SetNodeState, ReportHealth;
// topology.cc
Handler GetTopology, GetInventory;
// queues.cc
Handler ListQueues, GetPolicy, PutPolicy;
// usage.cc
Handler GetUsage, ListAudit;
// tokens.cc
Handler ListTokens, CreateToken, RevokeToken;
// health.cc
Handler GetOpenApi, GetHealth, GetReadiness, GetStatus, PauseStarts, GetMetrics;

}  // namespace muster::api
