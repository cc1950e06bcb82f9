// SPDX-License-Identifier: Apache-2.0
// What the rows of routes.cc call. One file a resource.
#pragma once

#include <string>
#include <utility>

#include "api/route.h"
#include "server/front.h"

namespace muster::api {

/// Answers at once.
using Reader = HttpResponse(server::Front& front, const HttpRequest& request);
/// Answers when the server has.
using Handler = void(server::Front& front, const HttpRequest& request, Respond respond);
using Streamer = StreamPart(server::Front& front, const HttpRequest& request,
                            const std::string& cursor);

/// A reader as a row of the table wants it.
template <Reader* kRead>
void Now(server::Front& front, const HttpRequest& request, Respond respond) {
  const Respond answer = std::move(respond);
  answer(kRead(front, request));
}

// jobs.cc
Reader ListJobs, GetJob, ListAttempts;
// job_submit.cc
Handler SubmitJobs;
// job_acts.cc
Handler CancelJob, HoldJob, ReleaseJob, RequeueJob, UpdateJob, CheckpointJob, ReportCheckpoint;
// job_why.cc
Reader ExplainJob;
// logs.cc
Reader ReadLog;
Streamer StreamLog;
// events.cc
Reader ListJobEvents;
Streamer StreamEvents;
// nodes.cc
Reader ListNodes, GetNode;
Handler SetNodeState, ReportHealth;
// topology.cc
Reader GetTopology, GetInventory;
// queues.cc
Reader ListQueues, GetPolicy;
Handler PutPolicy;
// usage.cc
Reader GetUsage, ListAudit;
// tokens.cc
Reader ListTokens;
Handler CreateToken, RevokeToken;
// health.cc
Reader GetOpenApi, GetHealth, GetReadiness, GetStatus, GetMetrics;
Handler PauseStarts;

}  // namespace muster::api
