// SPDX-License-Identifier: Apache-2.0
// GET /v1/jobs/{id}/why.
#include <algorithm>
#include <string>
#include <utility>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/job_json.h"
#include "api/resources/shapes.h"
#include "api/resources/why.h"
#include "base/strings.h"

namespace muster::api {
namespace {

using format::Map;
using format::Text;
using format::Value;

constexpr std::size_t kNamedNodes = 8;

Value CausesValue(const std::vector<model::Reason>& nodes) {
  Value list = format::List();
  for (const model::Reason& cause : nodes) {
    Value value = Map();
    value.Add("code", Text(std::string(model::Name(cause.code))));
    value.Add("text", Text(std::string(model::Text(cause.code))));
    value.Add("nodes", Number(cause.count));
    list.items.push_back(std::move(value));
  }
  return list;
}

Value RelaxValue(const Story& story) {
  const base::Instant at = *story.why.next_relax;
  Value value = Map();
  value.Add("at", TimeValue(at));
  for (const model::RelaxStep& step : story.request->relax) {
    if (story.submitted + step.after != at) continue;
    value.Add("level", Text(step.topology.empty() ? "any" : step.topology));
    break;
  }
  return value;
}

void AddWaiting(const Story& story, Value& out) {
  const engine::Explanation& why = story.why;
  out.Add("outcome", Text(std::string(model::Name(why.outcome))));
  if (why.group >= 0 && static_cast<std::size_t>(why.group) < story.request->groups.size())
    out.Add("group", Text(story.request->groups[static_cast<std::size_t>(why.group)].name));
  if (!why.level.empty()) {
    out.Add("level", Text(why.level));
    if (!why.best_domain.empty()) out.Add("bestDomain", Text(why.best_domain));
    out.Add("wanted", Number(why.wanted));
    out.Add("have", Number(why.have));
  }
  if (!why.nodes.empty()) out.Add("causes", CausesValue(why.nodes));
  if (why.position > 0) {
    out.Add("position", Number(why.position));
    out.Add("ahead", Number(why.ahead));
  }
  if (why.next_relax) out.Add("nextRelax", RelaxValue(story));
}

}  // namespace

Story MakeStory(const server::Picture& picture, const JobCard& card, engine::Explanation why) {
  Story story{.state = card.state,
              .id = card.id,
              .request = card.record->request.get(),
              .why = std::move(why),
              .now = picture.at,
              .submitted = card.record->submitted,
              .not_before = card.record->submitted + card.record->start_after,
              .queue = card.record->queue,
              .pause = picture.tables.pause,
              .last = card.last()};
  for (int level = 0; level < picture.view.level_count(); ++level)
    story.levels.emplace_back(picture.view.LevelName(level));
  if (const model::GangPlacement* place = card.place()) {
    story.nodes = NodesOf(picture.view, *place, kNamedNodes);
    if (place->level < story.levels.size()) story.level = story.levels[place->level];
  }
  if (card.view.phase == engine::JobPhase::kEnded) {
    story.ended = card.view.ended;
  } else if (card.ended() && story.last != nullptr) {
    story.ended = story.last->ended;
  }
  return story;
}

Value WhyValue(const server::Picture& picture, const JobCard& card) {
  engine::Explanation why = engine::Engine::Explain(picture.view, card.id, kExplainBudget);
  if (!why.known) {  // the engine has forgotten a job that ended; the records have not
    why.binding = CheapReason(picture, card).value_or(model::Reason{});
  }
  const Story story = MakeStory(picture, card, std::move(why));
  WhyText text = TellWhy(story);
  Value out = Map();
  out.Add("id", Number(card.id.value));
  out.Add("state", Text(std::string(Name(card.state))));
  out.Add("asOf", TimeValue(picture.at));
  out.Add("summary", Text(std::move(text.summary)));
  out.Add("details", TextList(std::move(text.details)));
  out.Add("reason", ReasonValue(story.why.binding));
  if (story.why.waiting) AddWaiting(story, out);
  if (card.place() != nullptr)
    out.Add("nodes", TextList(NodesOf(picture.view, *card.place()).names));
  if (story.last != nullptr) {
    if (auto failure = FailureValue(*story.last)) out.Add("failure", *std::move(failure));
  }
  return out;
}

HttpResponse ExplainJob(server::Front& front, const HttpRequest& request) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return Problem(id.error());
  const server::PicturePtr picture = front.Look();
  const auto card = FindJob(*picture, *id);
  if (!card) return Problem(NotFound(base::Format("job {}", id->value)));
  return Json(WhyValue(*picture, *card));
}

}  // namespace muster::api
