// SPDX-License-Identifier: Apache-2.0
#include "api/resources/answers.h"

#include <algorithm>
#include <utility>

#include "api/resources/shapes.h"
#include "base/units.h"
#include "format/json.h"

namespace muster::api {

using base::Format;
using base::Quote;

HttpResponse Json(const format::Value& value, int status) {
  return {.status = status, .body = format::WriteJson(value, format::JsonStyle::kCompact)};
}

base::Error NotFound(std::string_view what) {
  return {base::ErrorCode::kNotFound, Format("no {}", what), ""};
}

base::Error Invalid(std::string message) {
  return {base::ErrorCode::kInvalid, std::move(message), ""};
}

std::string_view QueryText(const HttpRequest& request, std::string_view name) {
  const auto at = request.query.find(name);
  return at == request.query.end() ? std::string_view{} : std::string_view(at->second);
}

std::vector<std::string_view> QueryParts(const HttpRequest& request, std::string_view name) {
  const std::string_view text = QueryText(request, name);
  if (text.empty()) return {};
  return base::Split(text, ',');
}

base::Result<std::int64_t> QueryCount(const HttpRequest& request, std::string_view name,
                                      CountRange range) {
  const std::string_view text = QueryText(request, name);
  if (text.empty()) return range.fallback;
  const base::Result<std::int64_t> count = base::ParseCount(text);
  if (!count) return Invalid(Format("query parameter {}: {}", name, count.error().message));
  if (*count < range.min || *count > range.max) {
    return Invalid(range.max == INT64_MAX
                       ? Format("query parameter {}: {} is less than {}", name, *count, range.min)
                       : Format("query parameter {}: {} is not between {} and {}", name, *count,
                                range.min, range.max));
  }
  return *count;
}

base::Result<bool> QueryFlag(const HttpRequest& request, std::string_view name) {
  const std::string_view text = QueryText(request, name);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  return Invalid(Format("query parameter {}: expected true or false, found {}", name, Quote(text)));
}

base::Result<std::vector<std::size_t>> QueryNames(const HttpRequest& request,
                                                  std::string_view parameter,
                                                  std::span<const std::string_view> names) {
  std::vector<std::size_t> found;
  for (const std::string_view part : QueryParts(request, parameter)) {
    const auto at = std::ranges::find(names, part);
    if (at == names.end()) {
      return Invalid(Format("query parameter {}: {}", parameter, format::NoSuchName(part, names)));
    }
    found.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  return found;
}

base::Result<model::JobId> PathJob(const HttpRequest& request) {
  const std::string& text = PathText(request, "id");
  const base::Result<std::int64_t> id = base::ParseCount(text);
  if (!id) return Invalid(Format("{} is no number of a job", Quote(text)));
  if (*id >= model::JobId::None().value) return NotFound(Format("job {}", *id));
  return model::JobId{static_cast<std::uint32_t>(*id)};
}

const std::string& PathText(const HttpRequest& request, std::string_view name) {
  static const std::string kNone;
  const auto at = request.parameters.find(name);
  return at == request.parameters.end() ? kNone : at->second;
}

void PostAndAnswer(server::Front& front, const HttpRequest& request, server::Command command,
                   Respond respond) {
  front.Post({.caller = request.caller, .command = std::move(command)},
             [respond = std::move(respond)](base::Result<server::Reply> reply) {
               if (!reply) return respond(Problem(reply.error()));
               format::Value jobs = format::List();
               for (const model::JobId job : reply->jobs) jobs.items.push_back(Number(job.value));
               format::Value done = format::Map();
               done.Add("jobs", std::move(jobs));
               done.Add("notes", TextList(std::move(reply->notes)));
               respond(Json(done));
             });
}

std::string SecondsText(std::int64_t us) {
  constexpr std::int64_t kSecond = 1'000'000;
  std::string text = Format("{}.{:06}", us / kSecond, us % kSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace muster::api
