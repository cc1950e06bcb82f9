// SPDX-License-Identifier: Apache-2.0
#include "api/dispatch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "api/http_server_target.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "format/json.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;
using Parameters = std::map<std::string, std::string, std::less<>>;

/// The parameters if `path` is of the pattern.
std::optional<Parameters> MatchPattern(std::string_view pattern, std::string_view path) {
  const std::vector<std::string_view> wanted = base::Split(pattern, '/');
  const std::vector<std::string_view> given = base::Split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  Parameters parameters;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string_view part = wanted[i];
    if (given[i] == part) continue;
    const std::optional<std::string> segment = PercentDecode(given[i]);
    if (!segment) return std::nullopt;
    if (part.starts_with('{') && part.ends_with('}')) {
      if (segment->empty()) return std::nullopt;
      parameters.emplace(part.substr(1, part.size() - 2), *segment);
    } else if (*segment != part) {
      return std::nullopt;
    }
  }
  return parameters;
}

/// Of two rows of one path the more literal one counts: "/v1/jobs/mine" before "/v1/jobs/{id}".
bool IsMoreLiteral(const Route& a, const Route& b) {
  return std::ranges::count(a.pattern, '{') < std::ranges::count(b.pattern, '{');
}

HttpResponse MethodProblem(std::string_view method, const std::vector<std::string>& allowed,
                           std::string_view path) {
  const std::string list = base::Join(allowed, ", ");
  HttpResponse problem = Problem(405, StatusTitle(405),
                                 base::Format("{} cannot be asked of {}; what can: {}",
                                              base::Quote(method), base::Quote(path), list));
  problem.headers.emplace_back("Allow", list);
  return problem;
}

bool IsInteger(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool Fits(std::string_view type, std::string_view value) {
  if (type == "integer") return IsInteger(value);
  if (type == "boolean") return value == "true" || value == "false";
  return true;
}

base::Errors QueryFaults(const Route& route, const HttpRequest& request) {
  base::Errors faults;
  std::vector<std::string_view> names;
  for (const QueryParameter& parameter : route.query) names.push_back(parameter.name);
  for (const auto& [name, value] : request.query) {
    // Every stream can be taken up from a cursor, whether its row says so or not.
    if (route.stream != nullptr && name == "after") continue;
    const auto at = std::ranges::find(route.query, name, &QueryParameter::name);
    if (at == route.query.end()) {
      const std::string_view nearest = base::Nearest(name, names);
      const std::string hint = nearest.empty() ? "" : base::Format("; did you mean {}?", nearest);
      faults.push_back({ErrorCode::kInvalid, base::Format("unknown query parameter{}", hint),
                        base::Printable(name)});
    } else if (!Fits(at->type, value)) {
      faults.push_back({ErrorCode::kInvalid,
                        base::Format("{} is no {}", base::Quote(value),
                                     at->type == "boolean" ? "boolean: true or false" : at->type),
                        name});
    }
  }
  return faults;
}

/// "application/yaml" of "Application/YAML; charset=utf-8".
std::string MediaType(std::string_view content_type) {
  std::string type(base::Trim(content_type.substr(0, content_type.find(';'))));
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

bool IsDocument(std::string_view content_type) {
  constexpr std::array<std::string_view, 5> kTypes = {
      "application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"};
  return std::ranges::find(kTypes, MediaType(content_type)) != kTypes.end();
}

std::optional<HttpResponse> CheckCaller(const Route& route, const server::Caller& caller) {
  if (route.open) return std::nullopt;
  // The token of an attempt is readable by everything that runs in it: it may report, which the
  // server judges, but see nothing.
  if (caller.attempt && route.method == "GET") {
    return Problem(Error{ErrorCode::kNotAllowed,
                         "the token of an attempt is for reports about that attempt only"});
  }
  if (caller.role < route.role) {
    return Problem(
        Error{ErrorCode::kNotAllowed,
              base::Format("this needs the role {}; {} has the role {}", server::Name(route.role),
                           caller.account.user.empty() ? "the caller" : caller.account.user,
                           server::Name(caller.role))});
  }
  return std::nullopt;
}

std::optional<HttpResponse> CheckType(const HttpRequest& request) {
  if (IsDocument(request.content_type)) return std::nullopt;
  return Problem(415, StatusTitle(415),
                 base::Format("the body must be JSON or YAML: send `Content-Type: "
                              "application/json` or `application/yaml`, not {}",
                              base::Quote(request.content_type)));
}

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kRefused:
      return 422;
    case ErrorCode::kExhausted:
      return 507;
    case ErrorCode::kIo:
      return 500;
    case ErrorCode::kNotAllowed:
      return 403;
    case ErrorCode::kUnavailable:
      return 503;
  }
  return 500;
}

HttpResponse ProblemOf(int status, std::string_view title, std::string_view detail,
                       const base::Errors& errors) {
  format::Value document = format::Map();
  document.Add("type", format::Text("about:blank"));
  document.Add("title", format::Text(base::ValidUtf8(title)));
  document.Add("status", format::Plain(std::to_string(status)));
  document.Add("detail", format::Text(base::ValidUtf8(detail)));
  if (!errors.empty()) {
    format::Value list = format::List();
    for (const Error& error : errors) {
      format::Value item = format::Map();
      item.Add("where", format::Text(base::ValidUtf8(error.where)));
      item.Add("message", format::Text(base::ValidUtf8(error.message)));
      list.items.push_back(std::move(item));
    }
    document.Add("errors", std::move(list));
  }
  HttpResponse response{.status = status,
                        .content_type = "application/problem+json",
                        .body = format::WriteJson(document)};
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

std::string_view StatusTitle(int status) {
  static constexpr std::pair<int, std::string_view> kTitles[] = {
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  const auto* const at =
      std::ranges::find(kTitles, status, &std::pair<int, std::string_view>::first);
  return at == std::end(kTitles) ? "Status" : at->second;
}

Match FindRouteIn(std::span<const Route> table, std::string_view method, std::string_view path) {
  Match match;
  std::vector<std::string> allowed;
  for (const Route& route : table) {
    std::optional<Parameters> parameters = MatchPattern(route.pattern, path);
    if (!parameters) continue;
    if (std::ranges::find(allowed, route.method) == allowed.end()) {
      allowed.emplace_back(route.method);
      if (route.method == "GET") allowed.emplace_back("HEAD");
    }
    const bool is_asked = route.method == method || (route.method == "GET" && method == "HEAD");
    if (!is_asked || (match.route != nullptr && !IsMoreLiteral(route, *match.route))) continue;
    match.route = &route;
    match.parameters = *std::move(parameters);
  }
  if (match.route != nullptr) return match;
  match.problem =
      allowed.empty()
          ? Problem(404, StatusTitle(404),
                    base::Format("there is nothing at {}; GET /v1/openapi.json lists what there is",
                                 base::Quote(path)))
          : MethodProblem(method, allowed, path);
  return match;
}

Match FindRoute(std::string_view method, std::string_view path) {
  return FindRouteIn(Routes(), method, path);
}

std::optional<HttpResponse> CheckHead(const Route& route, const HttpRequest& request) {
  if (auto problem = CheckCaller(route, request.caller)) return problem;
  const base::Errors faults = QueryFaults(route, request);
  if (!faults.empty()) return Problem(faults);
  // No type at all: whether that matters shows when it is known whether there is a body.
  if (!route.request.empty() && !request.content_type.empty()) return CheckType(request);
  return std::nullopt;
}

void Dispatch(const Route& route, server::Front& front, const HttpRequest& request,
              Respond respond) {
  if (auto problem = CheckHead(route, request)) return respond(*std::move(problem));
  if (!route.request.empty() && base::Trim(request.body).empty()) {
    return respond(Problem(400, StatusTitle(400),
                           base::Format("this needs a body: a {} as JSON or YAML", route.request)));
  }
  if (!route.request.empty()) {
    if (auto problem = CheckType(request)) return respond(*std::move(problem));
  } else if (!request.body.empty()) {
    return respond(Problem(400, StatusTitle(400), "this takes no body"));
  }
  route.handle(front, request, std::move(respond));
}

HttpResponse Problem(int status, std::string_view title, std::string_view detail) {
  return ProblemOf(status, title, detail, {});
}

HttpResponse Problem(const Error& error) {
  const int status = StatusOf(error.code);
  return ProblemOf(status, StatusTitle(status), error.ToString(), {});
}

HttpResponse Problem(const base::Errors& errors) {
  if (errors.empty()) return Problem(500, StatusTitle(500), "an error without a text");
  if (errors.size() == 1) return Problem(errors.front());
  const int status = StatusOf(errors.front().code);
  return ProblemOf(
      status, StatusTitle(status),
      base::Format("{} faults; the first: {}", errors.size(), errors.front().ToString()), errors);
}

}  // namespace muster::api
