// SPDX-License-Identifier: Apache-2.0
// The server itself: /healthz, /readyz, /metrics, /v1/openapi.json, /v1/status, /v1/pause.
#include <string>
#include <utility>

#include "api/metrics.h"
#include "api/resources/answers.h"
#include "api/resources/bodies.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "api/resources/shapes.h"
#include "api/resources/site.h"
#include "api/resources/version.h"

namespace muster::api {
namespace {

using format::Map;
using format::Text;
using format::Value;

HttpResponse StateAnswer(std::string state) {
  Value value = Map();
  value.Add("status", Text(std::move(state)));
  return Json(value);
}

Value PauseValue(const server::Picture& picture) {
  Value value = Map();
  value.Add("paused", Flag(picture.view.starts_paused()));
  if (!picture.view.starts_paused()) return value;
  const server::PauseRecord& pause = picture.tables.pause;
  if (!pause.reason.empty()) value.Add("reason", Text(pause.reason));
  if (pause.since.us != 0) value.Add("since", TimeValue(pause.since));
  return value;
}

}  // namespace

HttpResponse GetOpenApi(server::Front&, const HttpRequest&) {
  return {.body = OpenApiDocument(Version())};
}

HttpResponse GetHealth(server::Front&, const HttpRequest&) { return StateAnswer("ok"); }

HttpResponse GetReadiness(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  if (picture->trouble.empty()) return StateAnswer("ready");
  return Problem(base::Error{base::ErrorCode::kUnavailable, picture->trouble, ""});
}

HttpResponse GetStatus(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  Value value = Map();
  value.Add("version", Text(std::string(Version())));
  value.Add("sequence", Number(picture->sequence));
  value.Add("at", TimeValue(picture->at));
  value.Add("ready", Flag(picture->trouble.empty()));
  if (!picture->trouble.empty()) value.Add("trouble", Text(picture->trouble));
  value.Add("jobs", PhaseCountsValue(CountJobs(*picture).all));
  value.Add("nodes", NodeCountsValue(CountNodes(picture->view)));
  value.Add("devices", DeviceCountsValue(picture->view.Devices()));
  value.Add("pause", PauseValue(*picture));
  return Json(value);
}

void PauseStarts(server::Front& front, const HttpRequest& request, Respond respond) {
  base::Checked<PauseWish> wish = DecodeBody(request, PauseWishCodec());
  if (!wish) return respond(Problem(wish.error()));
  PostAndAnswer(front, request,
                server::PauseStarts{.paused = wish->paused, .reason = std::move(wish->reason)},
                std::move(respond));
}

HttpResponse GetMetrics(server::Front& front, const HttpRequest&) {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = MetricsText(*front.Look(), Version())};
}

}  // namespace muster::api
