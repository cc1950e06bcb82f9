// SPDX-License-Identifier: Apache-2.0
#include "test/api/api_site.h"

#include <algorithm>
#include <optional>

#include "api/openapi.h"
#include "api/openapi_schemas.h"
#include "base/strings.h"
#include "format/json.h"

namespace muster::api {
namespace {

using base::Format;
using format::Value;

bool IsNumber(const Value& value) {
  return value.kind == Value::Kind::kScalar && !value.quoted && value.text != "true" &&
         value.text != "false";
}

bool IsOfType(const Value& value, std::string_view type) {
  const bool scalar = value.kind == Value::Kind::kScalar;
  if (type == "object") return value.kind == Value::Kind::kMap;
  if (type == "array") return value.kind == Value::Kind::kList;
  if (type == "string") return scalar && value.quoted;
  if (type == "boolean") return scalar && !value.quoted && !IsNumber(value);
  if (type == "integer")
    return IsNumber(value) && value.text.find_first_of(".eE") == std::string::npos;
  return type == "number" && IsNumber(value);
}

class Checker {
 public:
  std::vector<std::string> faults;

  void Check(const Value& value, const Value& schema, const std::string& path) {
    if (const Value* ref = schema.Find("$ref"); ref != nullptr) return CheckRef(value, *ref, path);
    if (const Value* any = schema.Find("anyOf"); any != nullptr) CheckAny(value, *any, path);
    if (schema.Find("not") != nullptr) return Add(path, "must not be there");
    if (const Value* names = schema.Find("enum"); names != nullptr) {
      if (std::ranges::find(names->items, value.text, &Value::text) == names->items.end())
        Add(path, Format("{} is none of the names", format::Describe(value)));
    }
    if (const Value* type = schema.Find("type"); type != nullptr) CheckType(value, *type, path);
    if (const Value* form = schema.Find("format"); form != nullptr && form->text == "date-time") {
      const bool sound = value.text.size() == 24 && value.text[10] == 'T' && value.text[23] == 'Z';
      if (!sound) Add(path, value.text + " is no time");
    }
    if (value.kind == Value::Kind::kMap) CheckKeys(value, schema, path);
    if (const Value* items = schema.Find("items"); items != nullptr) {
      for (std::size_t i = 0; i < value.items.size(); ++i)
        Check(value.items[i], *items, Format("{}.{}", path, i));
    }
  }

 private:
  void Add(const std::string& path, const std::string& fault) {
    faults.push_back(path + ": " + fault);
  }
  void CheckRef(const Value& value, const Value& ref, const std::string& path) {
    const std::string name = ref.text.substr(ref.text.rfind('/') + 1);
    const Value* const schema = Find(OpenApi(), "components.schemas." + name);
    if (schema == nullptr) return Add(path, "no schema " + name);
    Check(value, *schema, path);
  }
  void CheckAny(const Value& value, const Value& any, const std::string& path) {
    for (const Value& choice : any.items) {
      Checker checker;
      checker.Check(value, choice, path);
      if (checker.faults.empty()) return;
    }
    Add(path, "fits none of the choices");
  }
  void CheckType(const Value& value, const Value& type, const std::string& path) {
    std::vector<std::string> names;
    if (type.kind == Value::Kind::kScalar) names.push_back(type.text);
    for (const Value& item : type.items) names.push_back(item.text);
    const auto fits = [&value](const std::string& name) { return IsOfType(value, name); };
    if (std::ranges::none_of(names, fits))
      Add(path, Format("{} is no {}", format::Describe(value), base::Join(names, " or ")));
  }
  void CheckKeys(const Value& value, const Value& schema, const std::string& path) {
    const Value* const properties = schema.Find("properties");
    const Value* const others = schema.Find("additionalProperties");
    for (const format::Entry& entry : value.entries) {
      const std::string at = path + "." + entry.key;
      const Value* const known = properties == nullptr ? nullptr : properties->Find(entry.key);
      if (known != nullptr) {
        Check(entry.value, *known, at);
      } else if (others != nullptr && others->text == "false") {
        Add(at, "is no key of the schema");
      } else if (others != nullptr && others->kind == Value::Kind::kMap) {
        Check(entry.value, *others, at);
      }
    }
    if (const Value* required = schema.Find("required"); required != nullptr) {
      for (const Value& key : required->items) {
        if (value.Find(key.text) == nullptr) Add(path, key.text + " is missing");
      }
    }
  }
};

Value Parse(const std::string& text) {
  const auto parsed = format::ParseJson(text, "answer");
  EXPECT_TRUE(parsed) << parsed.error().ToString() << "\n" << text;
  return parsed ? parsed->documents.front() : Value{};
}

void CheckAgainst(const Value& value, const Content& content, const std::string& what) {
  for (const std::string& fault : SchemaFaults(value, content.schema))
    ADD_FAILURE() << what << ": " << fault;
}

void CheckResponse(const Route& route, const HttpResponse& response) {
  const std::string what = Format("{} {}", route.id, response.status);
  if (response.status >= 400) {
    EXPECT_EQ(response.content_type, "application/problem+json") << what;
    return CheckAgainst(Parse(response.body), ContentOf("Problem"), what);
  }
  for (const GoodAnswer& answer : AnswersOf(route)) {
    if (answer.status != response.status) continue;
    const Content content = ContentOf(answer.content);
    EXPECT_TRUE(response.content_type.starts_with(content.types.front())) << what;
    if (response.content_type == "application/json")
      CheckAgainst(Parse(response.body), content, what);
    return;
  }
  ADD_FAILURE() << what << " is not in the document";
}

/// The schema that an event of a stream has.
std::string_view SchemaOfEvent(const Route& route, std::string_view kind) {
  if (kind == "gap") return "EventGap";
  if (kind == "end") return "LogEnd";
  return route.response;
}

std::vector<SentEvent> ParseEvents(const Route& route, std::string_view text) {
  std::vector<SentEvent> events;
  while (!text.empty()) {
    const std::size_t end = text.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << "half an event: " << text;
    if (end == std::string_view::npos) break;
    SentEvent event;
    for (const std::string_view line : base::Split(text.substr(0, end), '\n')) {
      const std::string_view rest = line.substr(std::min(line.size(), line.find(": ") + 2));
      if (line.starts_with("id: ")) event.id = rest;
      if (line.starts_with("event: ")) event.kind = rest;
      if (line.starts_with("data: ")) event.data = Parse(std::string(rest));
    }
    if (event.kind != "problem")
      CheckAgainst(event.data, ContentOf(SchemaOfEvent(route, event.kind)), event.kind);
    events.push_back(std::move(event));
    text.remove_prefix(end + 2);
  }
  return events;
}

}  // namespace

std::vector<std::string> SchemaFaults(const Value& value, const Value& schema) {
  Checker checker;
  checker.Check(value, schema, "");
  return checker.faults;
}

const Value& OpenApi() {
  static const Value document = Parse(OpenApiDocument("1.2.3"));
  return document;
}

const Value* Find(const Value& value, std::string_view path) {
  const Value* at = &value;
  for (const std::string_view part : base::Split(path, '.')) {
    if (at->kind == Value::Kind::kList) {
      const auto index = static_cast<std::size_t>(std::stoul(std::string(part)));
      at = index < at->items.size() ? &at->items[index] : nullptr;
    } else {
      at = at->Find(part);
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string Get(const Value& value, std::string_view path) {
  const Value* const at = Find(value, path);
  if (at == nullptr) return "(none)";
  if (at->kind == Value::Kind::kScalar) return at->text;
  return format::WriteJson(*at, format::JsonStyle::kCompact);
}

server::Caller Admin() { return server::User("root", server::Role::kAdmin); }

ApiSite::ApiSite(const std::function<void(server::Site&)>& change) {
  site.driver.nodes.clear();
  for (int i = 0; i < 4; ++i) {
    site.driver.nodes.push_back(server::Node(Format("gpu-{}", i + 1), 8));
    site.driver.nodes.back().labels = {{"leaf", Format("leaf-{}", i / 2 + 1)}};
  }
  site.options.rules.is_root = true;
  site.options.build = "test";
  site.options.initial.policy = model::WithDefaults({});
  site.options.initial.policy.topology.levels = {{.name = "leaf", .label = "leaf"}};
  if (change) change(site);
  auto opened = server::Server::Open({site.journal, site.driver, site.clock}, site.options);
  EXPECT_TRUE(opened) << opened.error().ToString();
  site.server = std::move(*opened);
  site.Run();
}

HttpRequest ApiSite::ToRequest(const Ask& ask, const Route*& route) const {
  HttpRequest request{.method = ask.method,
                      .body = ask.body,
                      .content_type = ask.body.empty() ? "" : "application/json",
                      .idempotency_key = ask.key,
                      .last_event_id = ask.last_id,
                      .caller = ask.caller};
  const std::size_t mark = std::min(ask.target.size(), ask.target.find('?'));
  request.path = ask.target.substr(0, mark);
  if (mark < ask.target.size()) {
    for (const std::string_view part :
         base::Split(std::string_view(ask.target).substr(mark + 1), '&')) {
      const std::size_t equals = part.find('=');
      request.query.emplace(part.substr(0, equals), part.substr(equals + 1));
    }
  }
  Match match = FindRoute(ask.method, request.path);
  route = match.route;
  EXPECT_NE(route, nullptr) << ask.method << " " << ask.target << ": no such route";
  request.parameters = std::move(match.parameters);
  return request;
}

HttpResponse ApiSite::Call(const Ask& ask) {
  const Route* route = nullptr;
  const HttpRequest request = ToRequest(ask, route);
  if (route == nullptr) return {.status = 404};
  std::optional<HttpResponse> out;
  int answers = 0;
  Dispatch(*route, *this, request, [&](HttpResponse response) {
    out = std::move(response);
    ++answers;
  });
  if (!out) site.Run();
  EXPECT_EQ(answers, 1) << ask.method << " " << ask.target;
  if (!out) return {.status = 500};
  CheckResponse(*route, *out);
  return *std::move(out);
}

Value ApiSite::Json(const Ask& ask, int status) {
  const HttpResponse response = Call(ask);
  EXPECT_EQ(response.status, status) << ask.method << " " << ask.target << "\n" << response.body;
  return Parse(response.body);
}

std::string ApiSite::Refusal(const Ask& ask, int status) {
  return api::Get(Json(ask, status), "detail");
}

ApiSite::Streamed ApiSite::Stream(const Ask& ask, const std::string& cursor) {
  const Route* route = nullptr;
  const HttpRequest request = ToRequest(ask, route);
  Streamed out{.part = route->stream(*this, request, cursor)};
  out.events = ParseEvents(*route, out.part.text);
  return out;
}

void ApiSite::Post(server::Request request, server::Answer answer) {
  site.server->Post(std::move(request), std::move(answer));
}

server::PicturePtr ApiSite::Look() const {
  return picture != nullptr ? picture : site.server->Look();
}

base::Result<driver::LogChunk> ApiSite::ReadLog(const driver::LogRequest& request) const {
  const auto at = logs.find({{request.job, request.attempt}, request.rank});
  if (at == logs.end())
    return base::Error{base::ErrorCode::kNotFound, Format("no log of rank {}", request.rank), ""};
  const Log& log = at->second;
  const std::uint64_t end = log.from + log.bytes.size();
  const std::uint64_t offset = std::clamp(request.offset, log.from, end);
  return driver::LogChunk{.offset = offset,
                          .bytes = log.bytes.substr(offset - log.from, request.max_bytes),
                          .end = end};
}

}  // namespace muster::api
