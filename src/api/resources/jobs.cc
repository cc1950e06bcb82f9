// SPDX-License-Identifier: Apache-2.0
// GET /v1/jobs, /v1/jobs/{id}, /v1/jobs/{id}/attempts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/job_json.h"
#include "api/resources/shapes.h"
#include "base/strings.h"
#include "model/labels.h"

namespace muster::api {
namespace {

using format::Value;

/// Most rows that one request looks at, whether they match or not: a page may be short, and says
/// where to go on.
constexpr std::int64_t kMostLookedAt = 100'000;

struct Filter {
  std::array<bool, kJobStates> states{};
  std::string_view queue;
  std::string_view user;
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> labels;

  bool Accepts(const JobCard& card) const {
    const server::JobText& text = *card.record->text;
    const auto has_label = [&text](const auto& wanted) {
      const std::string* const value = model::FindLabel(text.labels, wanted.first);
      return value != nullptr && *value == wanted.second;
    };
    return states[static_cast<std::size_t>(card.state)] &&
           (queue.empty() || queue == card.record->queue) &&
           (user.empty() || user == card.record->owner.user) && AcceptsName(text.name) &&
           std::ranges::all_of(labels, has_label);
  }

 private:
  bool AcceptsName(std::string_view text) const {
    if (name.ends_with('*')) return text.starts_with(name.substr(0, name.size() - 1));
    return name.empty() || name == text;
  }
};

/// `active` stands for all states that are not ends; no names for all states.
base::Result<std::array<bool, kJobStates>> ReadStates(const HttpRequest& request) {
  std::vector<std::string_view> names(JobStateNames().begin(), JobStateNames().end());
  names.emplace_back("active");
  const auto wanted = QueryNames(request, "state", names);
  if (!wanted) return wanted.error();
  std::array<bool, kJobStates> states{};
  if (wanted->empty()) states.fill(true);
  for (const std::size_t name : *wanted) {
    if (name < kJobStates) {
      states[name] = true;
    } else {
      std::fill_n(states.begin(), static_cast<std::size_t>(kFirstEnd), true);
    }
  }
  return states;
}

base::Result<Filter> ReadFilter(const HttpRequest& request) {
  const auto states = ReadStates(request);
  if (!states) return states.error();
  Filter filter{.states = *states,
                .queue = QueryText(request, "queue"),
                .user = QueryText(request, "user"),
                .name = QueryText(request, "name")};
  for (const std::string_view part : QueryParts(request, "label")) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Invalid(
          base::Format("query parameter label: {} has no `=`; write key=value", base::Quote(part)));
    }
    filter.labels.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return filter;
}

struct Paging {
  std::int64_t limit = 0;
  std::int64_t first = 0;
  bool upwards = false;
};

base::Result<Paging> ReadPaging(const HttpRequest& request) {
  constexpr std::array<std::string_view, 2> kOrders = {"newest", "oldest"};
  const auto order = QueryNames(request, "order", kOrders);
  if (!order) return order.error();
  const auto limit = QueryCount(request, "limit", {.fallback = 100, .min = 1, .max = 1000});
  if (!limit) return limit.error();
  const bool upwards = !order->empty() && order->back() == 1;
  const auto cursor = QueryCount(request, "cursor",
                                 {.fallback = upwards ? 1 : INT64_MAX, .min = 0, .max = INT64_MAX});
  if (!cursor) return cursor.error();
  return Paging{.limit = *limit, .first = *cursor, .upwards = upwards};
}

}  // namespace

HttpResponse ListJobs(server::Front& front, const HttpRequest& request) {
  const base::Result<Filter> filter = ReadFilter(request);
  if (!filter) return Problem(filter.error());
  const base::Result<Paging> paging = ReadPaging(request);
  if (!paging) return Problem(paging.error());
  const server::PicturePtr picture = front.Look();
  Value rows = format::List();
  // A page ends before the job that it has no room for: that is where the next one begins, whatever
  // was submitted since.
  const auto next =
      VisitJobs(*picture, paging->first, paging->upwards, kMostLookedAt, [&](const JobCard& card) {
        if (!filter->Accepts(card)) return true;
        if (std::ssize(rows.items) == paging->limit) return false;
        rows.items.push_back(JobRowValue(*picture, card));
        return true;
      });
  Value list = format::Map();
  list.Add("jobs", std::move(rows));
  if (next) list.Add("next", format::Text(std::to_string(*next)));
  return Json(list);
}

HttpResponse GetJob(server::Front& front, const HttpRequest& request) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return Problem(id.error());
  const server::PicturePtr picture = front.Look();
  const auto card = FindJob(*picture, *id);
  if (!card) return Problem(NotFound(base::Format("job {}", id->value)));
  return Json(JobValue(*picture, *card, request.caller));
}

HttpResponse ListAttempts(server::Front& front, const HttpRequest& request) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return Problem(id.error());
  const auto only = QueryCount(request, "attempt", {.fallback = 0});
  const auto first = QueryCount(request, "first", {.fallback = 0});
  const auto limit = QueryCount(request, "limit", {.fallback = 1000, .min = 1, .max = 1000});
  for (const auto* count : {&only, &first, &limit}) {
    if (!*count) return Problem(count->error());
  }
  const server::PicturePtr picture = front.Look();
  const auto card = FindJob(*picture, *id);
  if (!card) return Problem(NotFound(base::Format("job {}", id->value)));
  const RankWindow window{.first = static_cast<std::size_t>(*first),
                          .limit = static_cast<std::size_t>(*limit)};
  Value attempts = format::List();
  if (card->record->attempts != nullptr) {
    for (const server::AttemptRecord& attempt : *card->record->attempts) {
      if (*only == 0 || attempt.number.value == *only)
        attempts.items.push_back(AttemptValue(*picture, *card, attempt, window));
    }
  }
  Value list = format::Map();
  list.Add("attempts", std::move(attempts));
  return Json(list);
}

}  // namespace muster::api
