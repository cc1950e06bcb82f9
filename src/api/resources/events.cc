// SPDX-License-Identifier: Apache-2.0
// What happened: of one job (GET /v1/jobs/{id}/events), and as it comes (GET /v1/events).
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "api/resources/shapes.h"
#include "api/resources/sse.h"
#include "base/strings.h"
#include "base/units.h"

namespace muster::api {
namespace {

using base::Format;
using format::Value;
using Events = base::CowTable<server::Event>;

/// Most events that one call for a stream sends; the transport asks on where it got some. Looking
/// is cheap: it may pass all that are kept.
constexpr std::size_t kMostPerCall = 1000;
constexpr std::size_t kKinds = static_cast<std::size_t>(server::EventKind::kLast) + 1;

Value EventValue(const server::Event& event) {
  Value value = format::Map();
  value.entries.reserve(6);
  value.Add("id", Number(event.id));
  value.Add("at", TimeValue(event.at));
  value.Add("kind", format::Text(std::string(server::Name(event.kind))));
  if (!event.job.IsNone()) value.Add("job", Number(event.job.value));
  if (event.attempt.value != 0) value.Add("attempt", Number(event.attempt.value));
  value.Add("text", format::Text(event.text));
  return value;
}

/// The first row that is kept.
std::size_t FirstKept(const Events& events) {
  std::size_t row = 0;
  while (row < events.size() && events.IsDropped(row)) row += Events::kRowsPerChunk;
  return std::min(row, events.size());
}

/// The first row whose id is above `after`. Ids rise, and dropped rows have the id 0.
std::size_t FirstAfter(const Events& events, std::uint64_t after) {
  std::size_t low = FirstKept(events);
  std::size_t high = events.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (events[middle].id <= after) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct EventFilter {
  std::optional<model::JobId> job;
  std::array<bool, kKinds> kinds{};

  bool Accepts(const server::Event& event) const {
    return (!job || *job == event.job) && kinds[static_cast<std::size_t>(event.kind)];
  }
};

base::Result<EventFilter> ReadFilter(const HttpRequest& request) {
  EventFilter filter;
  const auto job = QueryCount(request, "job", {.fallback = -1, .max = UINT32_MAX - 1LL});
  if (!job) return job.error();
  if (*job >= 0) filter.job = model::JobId{static_cast<std::uint32_t>(*job)};
  std::array<std::string_view, kKinds> names;
  for (std::size_t i = 0; i < kKinds; ++i)
    names[i] = server::Name(static_cast<server::EventKind>(i));
  const auto kinds = QueryNames(request, "kind", names);
  if (!kinds) return kinds.error();
  filter.kinds.fill(kinds->empty());
  for (const std::size_t kind : *kinds) filter.kinds[kind] = true;
  return filter;
}

/// Tells that events between `after` and the first kept one may be missing.
std::string GapText(std::uint64_t after, const Events& events, std::size_t first) {
  Value gap = format::Map();
  gap.Add("after", Number(after));
  std::string id = "0";
  if (first < events.size()) {
    gap.Add("first", Number(events[first].id));
    id = std::to_string(events[first].id - 1);
  }
  return EventText(id, "gap", gap);
}

std::uint64_t NewestId(const Events& events) {
  return events.size() == 0 ? 0 : events[events.size() - 1].id;
}

}  // namespace

HttpResponse ListJobEvents(server::Front& front, const HttpRequest& request) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return Problem(id.error());
  const auto after = QueryCount(request, "after", {.fallback = 0});
  const auto limit = QueryCount(request, "limit", {.fallback = 100, .min = 1, .max = 1000});
  for (const auto* count : {&after, &limit}) {
    if (!*count) return Problem(count->error());
  }
  const server::PicturePtr picture = front.Look();
  if (!FindJob(*picture, *id)) return Problem(NotFound(Format("job {}", id->value)));
  const Events& events = picture->tables.events;
  Value rows = format::List();
  std::optional<std::uint64_t> next;
  for (std::size_t row = FirstAfter(events, static_cast<std::uint64_t>(*after));
       row < events.size(); ++row) {
    if (events[row].job != *id) continue;
    if (std::ssize(rows.items) == *limit) {
      next = events[row].id - 1;
      break;
    }
    rows.items.push_back(EventValue(events[row]));
  }
  Value list = format::Map();
  list.Add("events", std::move(rows));
  if (next) list.Add("next", format::Text(std::to_string(*next)));
  return Json(list);
}

StreamPart StreamEvents(server::Front& front, const HttpRequest& request,
                        const std::string& cursor) {
  const base::Result<EventFilter> filter = ReadFilter(request);
  if (!filter) return ProblemPart(filter.error(), cursor);
  const auto follow = request.query.find("follow");
  const bool only_past = follow != request.query.end() && follow->second == "false";
  const server::PicturePtr picture = front.Look();
  const Events& events = picture->tables.events;
  const std::string_view from = StartOf(request, cursor);
  if (from.empty()) return {.cursor = std::to_string(NewestId(events)), .end = only_past};
  const base::Result<std::int64_t> parsed = base::ParseCount(from);
  if (!parsed)
    return ProblemPart(Invalid(Format("{} is no id of an event", base::Quote(from))), cursor);
  auto after = static_cast<std::uint64_t>(*parsed);
  StreamPart part;
  const std::size_t first = FirstKept(events);
  // An id from the future is of another journal: what it stood for is not here.
  const bool too_old = first > 0 && first < events.size() && after + 1 < events[first].id;
  if (too_old || after > NewestId(events)) {
    part.text = GapText(after, events, first);
    after = first < events.size() ? events[first].id - 1 : 0;
  }
  std::size_t sent = 0;
  for (std::size_t row = FirstAfter(events, after); row < events.size() && sent < kMostPerCall;
       ++row) {
    const server::Event& event = events[row];
    after = event.id;
    if (!filter->Accepts(event)) continue;
    part.text += EventText(std::to_string(event.id), server::Name(event.kind), EventValue(event));
    ++sent;
  }
  part.cursor = std::to_string(after);
  part.end = only_past && sent < kMostPerCall;
  return part;
}

}  // namespace muster::api
