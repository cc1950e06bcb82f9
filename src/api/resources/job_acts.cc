// SPDX-License-Identifier: Apache-2.0
// What is done to a job: POST /v1/jobs/{id}/cancel and its like, PATCH, reports of checkpoints.
// Whose job it is, the server judges.
#include <string>
#include <utility>

#include "api/resources/answers.h"
#include "api/resources/bodies.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "base/strings.h"

namespace muster::api {
namespace {

using Change = model::JobChanged::Change;

void PostChange(server::Front& front, const HttpRequest& request, Change change, Respond respond) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return respond(Problem(id.error()));
  PostAndAnswer(front, request, server::ChangeJob{.job = *id, .change = change},
                std::move(respond));
}

}  // namespace

void CancelJob(server::Front& front, const HttpRequest& request, Respond respond) {
  PostChange(front, request, Change::kCancel, std::move(respond));
}
void HoldJob(server::Front& front, const HttpRequest& request, Respond respond) {
  PostChange(front, request, Change::kHold, std::move(respond));
}
void ReleaseJob(server::Front& front, const HttpRequest& request, Respond respond) {
  PostChange(front, request, Change::kRelease, std::move(respond));
}
void RequeueJob(server::Front& front, const HttpRequest& request, Respond respond) {
  PostChange(front, request, Change::kRequeue, std::move(respond));
}

void UpdateJob(server::Front& front, const HttpRequest& request, Respond respond) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return respond(Problem(id.error()));
  base::Checked<JobUpdate> update = DecodeBody(request, JobUpdateCodec());
  if (!update) return respond(Problem(update.error()));
  PostAndAnswer(
      front, request,
      server::SetPriorityClass{.job = *id, .priority_class = std::move(update->priority_class)},
      std::move(respond));
}

void CheckpointJob(server::Front& front, const HttpRequest& request, Respond respond) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return respond(Problem(id.error()));
  PostAndAnswer(front, request, server::RequestCheckpoint{.job = *id}, std::move(respond));
}

void ReportCheckpoint(server::Front& front, const HttpRequest& request, Respond respond) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return respond(Problem(id.error()));
  base::Checked<CheckpointReport> report = DecodeBody(request, CheckpointReportCodec());
  if (!report) return respond(Problem(report.error()));
  server::ReportCheckpoint command{
      .job = *id, .step = report->step, .path = std::move(report->path)};
  if (report->attempt) {
    command.attempt.value = static_cast<std::uint32_t>(*report->attempt);
  } else if (request.caller.attempt) {
    command.attempt = request.caller.attempt->attempt;
  } else {
    command.attempt = front.Look()->view.Job(*id).attempt;
  }
  PostAndAnswer(front, request, std::move(command), std::move(respond));
}

}  // namespace muster::api
