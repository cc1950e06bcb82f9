// SPDX-License-Identifier: Apache-2.0
// POST /v1/jobs, and what would become of the jobs (?dryRun=true).
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/shapes.h"
#include "api/resources/trial.h"
#include "api/resources/why_text.h"
#include "base/strings.h"
#include "format/job_document.h"

namespace muster::api {
namespace {

using base::Format;
using format::Map;
using format::Text;
using format::Value;

/// Most jobs of a dry run: each is a search, on the thread that serves everybody.
constexpr std::size_t kMaxTrials = 32;

Value SubmittedValue(const server::Reply& reply, const std::vector<std::string>& names) {
  Value jobs = format::List();
  for (std::size_t i = 0; i < reply.jobs.size(); ++i) {
    Value job = Map();
    job.Add("id", Number(reply.jobs[i].value));
    job.Add("name", Text(i < names.size() ? names[i] : ""));
    jobs.items.push_back(std::move(job));
  }
  Value out = Map();
  out.Add("jobs", std::move(jobs));
  out.Add("repeated", Flag(reply.repeated));
  out.Add("notes", TextList(reply.notes));
  return out;
}

/// The queue and the class that the jobs name, against the policy.
base::Errors CheckNames(const std::vector<model::JobSpec>& jobs, const model::Policy& policy) {
  base::Errors faults;
  const auto check = [&faults](const auto& rows, const std::string& name, const auto& at) {
    if (name.empty() ||
        std::ranges::any_of(rows, [&](const auto& row) { return row.name == name; }))
      return;
    std::vector<std::string_view> names;
    for (const auto& row : rows) names.push_back(row.name);
    faults.push_back({base::ErrorCode::kInvalid, format::NoSuchName(name, names), at});
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string where = jobs.size() == 1 ? "" : Format("job {}: ", i + 1);
    check(policy.queues, jobs[i].queue, where + "metadata.queue");
    check(policy.priority_classes, jobs[i].priority_class, where + "spec.priorityClass");
  }
  return faults;
}

Value TrialValue(const server::Picture& picture, const model::JobSpec& spec,
                 engine::Explanation why) {
  const std::string& queue = spec.queue.empty() ? picture.view.policy().defaults.queue : spec.queue;
  Story story{.request = &spec.request,
              .why = std::move(why),
              .now = picture.at,
              .submitted = picture.at,
              .queue = queue};
  for (int level = 0; level < picture.view.level_count(); ++level)
    story.levels.emplace_back(picture.view.LevelName(level));
  story.pause = picture.tables.pause;
  WhyText text = TellWhy(story);
  if (story.why.binding.code == model::ReasonCode::kPlaced)
    text.summary = "There is room for it: it would be started at once.";
  if (!spec.start_after.IsZero() && story.why.outcome != model::Outcome::kNever) {
    text.details.push_back(
        Format("It would wait at least {} first.", base::FormatDuration(spec.start_after)));
  }
  Value out = Map();
  out.Add("name", Text(spec.name));
  out.Add("outcome", Text(std::string(model::Name(story.why.outcome))));
  out.Add("summary", Text(std::move(text.summary)));
  out.Add("details", TextList(std::move(text.details)));
  return out;
}

HttpResponse DryRun(const server::Picture& picture, const std::vector<model::JobSpec>& jobs,
                    const std::string& user) {
  if (jobs.size() > kMaxTrials)
    return Problem(Invalid(Format("{} jobs in a dry run; at most {}", jobs.size(), kMaxTrials)));
  const base::Errors faults = CheckNames(jobs, picture.view.policy());
  if (!faults.empty()) return Problem(faults);
  Trial trial(picture.view, picture.at);
  Value judged = format::List();
  for (const model::JobSpec& job : jobs)
    judged.items.push_back(TrialValue(picture, job, trial.Judge(job, user)));
  Value out = Map();
  out.Add("jobs", std::move(judged));
  out.Add("notes", TextList({"nothing was submitted: this was a dry run"}));
  return Json(out);
}

}  // namespace

void SubmitJobs(server::Front& front, const HttpRequest& request, Respond respond) {
  const base::Result<bool> dry_run = QueryFlag(request, "dryRun");
  if (!dry_run) return respond(Problem(dry_run.error()));
  base::Checked<std::vector<model::JobSpec>> jobs = format::ParseJobs(request.body, "body");
  if (!jobs) return respond(Problem(jobs.error()));
  if (jobs->size() > server::kMaxJobsPerSubmit) {
    return respond(Problem(Invalid(
        Format("{} jobs in one request; at most {}", jobs->size(), server::kMaxJobsPerSubmit))));
  }
  if (*dry_run) return respond(DryRun(*front.Look(), *jobs, request.caller.account.user));
  std::vector<std::string> names;
  names.reserve(jobs->size());
  for (const model::JobSpec& job : *jobs) names.push_back(job.name);
  front.Post(
      {.caller = request.caller,
       .command = server::SubmitJobs{.jobs = *std::move(jobs),
                                     .idempotency_key = request.idempotency_key}},
      [respond = std::move(respond), names = std::move(names)](base::Result<server::Reply> reply) {
        if (!reply) return respond(Problem(reply.error()));
        HttpResponse response = Json(SubmittedValue(*reply, names), 201);
        if (reply->jobs.size() == 1)
          response.headers.emplace_back("Location",
                                        Format("/v1/jobs/{}", reply->jobs.front().value));
        respond(std::move(response));
      });
}

}  // namespace muster::api
