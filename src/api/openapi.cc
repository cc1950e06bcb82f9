// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <algorithm>
#include <utility>

#include "api/openapi_schemas.h"
#include "base/strings.h"
#include "format/json.h"
#include "format/schema.h"

namespace muster::api {
namespace {

using base::Format;
using format::List;
using format::Map;
using format::Plain;
using format::Text;
using format::Value;

/// Where a row alone does not say what comes back.
struct AnswerRow {
  std::string_view id;
  GoodAnswer answer;
};
constexpr AnswerRow kAnswers[] = {
    {"submitJobs", {201, "Submitted"}},
    {"submitJobs", {200, "Trial"}},
    {"createToken", {201, "NewToken"}},
};

/// Events of a stream besides those that `Route::response` tells.
struct StreamRow {
  std::string_view id;
  std::string_view event;
  std::string_view schema;
};
constexpr StreamRow kStreams[] = {
    {"streamEvents", "gap", "EventGap"},
    {"streamLog", "end", "LogEnd"},
};

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Value SchemaOfType(std::string_view type) {
  Value schema = Map();
  schema.Add("type", Text(std::string(type)));
  return schema;
}

struct ParameterText {
  std::string_view in;
  std::string_view name;
  std::string_view type;
  std::string_view doc;
};

Value ParameterValue(const ParameterText& text) {
  Value value = Map();
  value.Add("name", Text(std::string(text.name)));
  value.Add("in", Text(std::string(text.in)));
  if (text.in == "path") value.Add("required", Plain("true"));
  value.Add("description", Text(std::string(text.doc)));
  value.Add("schema", SchemaOfType(text.type));
  return value;
}

std::string_view PathDoc(std::string_view name) {
  return name == "id" ? "number of the job" : "name of the thing";
}

Value ParametersValue(const Route& route) {
  Value list = List();
  for (const std::string_view name : PathParameters(route.pattern)) {
    list.items.push_back(
        ParameterValue({"path", name, name == "id" ? "integer" : "string", PathDoc(name)}));
  }
  for (const QueryParameter& parameter : route.query) {
    list.items.push_back(ParameterValue({"query", parameter.name, parameter.type, parameter.doc}));
  }
  if (route.id == "submitJobs") {
    list.items.push_back(
        ParameterValue({"header", "Idempotency-Key", "string",
                        "the same key again within a day gives the same answer and no new jobs"}));
  }
  if (route.stream != nullptr) {
    list.items.push_back(
        ParameterValue({"header", "Last-Event-ID", "string", "go on after this event"}));
  }
  return list;
}

Value ContentValue(const Content& content) {
  Value value = Map();
  for (const std::string_view type : content.types) {
    Value media = Map();
    media.Add("schema", content.schema);
    value.Add(std::string(type), std::move(media));
  }
  return value;
}

Value ResponseValue(std::string_view description, const Content& content) {
  Value value = Map();
  value.Add("description", Text(std::string(description)));
  value.Add("content", ContentValue(content));
  return value;
}

/// The data of a stream's events: any of their schemas.
Content StreamContent(const Route& route) {
  Value any = List();
  any.items.push_back(ContentOf(route.response).schema);
  for (const StreamRow& row : kStreams) {
    if (row.id == route.id) any.items.push_back(ContentOf(row.schema).schema);
  }
  Value schema = Map();
  schema.Add("description", Text("the data of each event"));
  schema.Add("anyOf", std::move(any));
  return {{"text/event-stream"}, std::move(schema)};
}

Value ResponsesValue(const Route& route) {
  Value value = Map();
  for (const GoodAnswer& answer : AnswersOf(route)) {
    value.Add(std::to_string(answer.status),
              ResponseValue(answer.content, route.stream != nullptr ? StreamContent(route)
                                                                    : ContentOf(answer.content)));
  }
  value.Add("default", ResponseValue("what went wrong", ContentOf("Problem")));
  return value;
}

Value OperationValue(const Route& route) {
  Value value = Map();
  value.Add("operationId", Text(std::string(route.id)));
  value.Add("summary", Text(std::string(route.summary)));
  if (!route.open)
    value.Add("description", Text(Format("Least role: {}.", server::Name(route.role))));
  if (Value parameters = ParametersValue(route); !parameters.items.empty())
    value.Add("parameters", std::move(parameters));
  if (!route.request.empty()) {
    Value body = Map();
    body.Add("required", Plain("true"));
    body.Add("content", ContentValue(ContentOf(route.request)));
    value.Add("requestBody", std::move(body));
  }
  value.Add("responses", ResponsesValue(route));
  if (route.open) value.Add("security", List());
  return value;
}

Value PathsValue() {
  Value paths = Map();
  for (const Route& route : Routes()) {
    const auto at = std::ranges::find(paths.entries, route.pattern, &format::Entry::key);
    if (at != paths.entries.end()) {
      at->value.Add(LowerCase(route.method), OperationValue(route));
      continue;
    }
    Value path = Map();
    path.Add(LowerCase(route.method), OperationValue(route));
    paths.Add(std::string(route.pattern), std::move(path));
  }
  return paths;
}

Value InfoValue(std::string_view version) {
  Value info = Map();
  info.Add("title", Text("Muster"));
  info.Add("version", Text(std::string(version)));
  info.Add("description",
           Text("Jobs for a cluster of GPUs. Bodies may be JSON or YAML; answers are JSON, keys in "
                "camelCase, what does not apply is left out. Times are RFC 3339 in UTC. On the "
                "Unix socket the caller is known by uid; over TCP a token says who it is."));
  Value licence = Map();
  licence.Add("name", Text("Apache-2.0"));
  licence.Add("identifier", Text("Apache-2.0"));
  info.Add("license", std::move(licence));
  return info;
}

Value SecurityValue() {
  Value list = List();
  Value token = Map();
  token.Add("token", List());
  list.items.push_back(std::move(token));
  list.items.push_back(Map());  // the Unix socket
  return list;
}

std::string TypeCell(std::string_view type) {
  std::string_view inner = type;
  const bool list = inner.starts_with('[');
  if (list) inner = inner.substr(1, inner.size() - 2);
  const auto names = SchemaNames();
  const std::string text = std::ranges::find(names, inner) != names.end()
                               ? Format("[{}](#{})", inner, LowerCase(inner))
                               : format::MarkdownCell(inner);
  return list ? "list of " + text : text;
}

/// "[JobRow](#jobrow)", or the media type where there is no table of it.
std::string ContentCell(std::string_view name) {
  if (name.empty()) return "";
  if (name == "JobDocuments") return "[job documents](job.md)";
  if (name == "PolicyDocument") return "[policy document](policy.md)";
  if (name == "LogBytes" || name == "MetricsText" || name == "OpenApi")
    return Format("`{}`", ContentOf(name).types.front());
  return Format("[{}](#{})", name, LowerCase(name));
}

void AddRoute(const Route& route, std::string& out) {
  out += Format(
      "\n### {} {}\n\n{}. {}\n", route.method, route.pattern, route.summary,
      route.open ? "Open to everybody." : Format("Least role: {}.", server::Name(route.role)));
  if (!route.request.empty()) out += Format("\nBody: {}\n", ContentCell(route.request));
  for (const GoodAnswer& answer : AnswersOf(route)) {
    out += Format("\nAnswer{}: {}{}\n", answer.status == 200 ? "" : Format(" {}", answer.status),
                  route.stream != nullptr ? "server-sent events with data " : "",
                  ContentCell(answer.content));
  }
  for (const StreamRow& row : kStreams) {
    if (row.id == route.id) out += Format("\nEvent `{}`: {}\n", row.event, ContentCell(row.schema));
  }
  if (route.query.empty()) return;
  out += "\n| query | type | meaning |\n|---|---|---|\n";
  for (const QueryParameter& parameter : route.query) {
    out += Format("| `{}` | {} | {} |\n", parameter.name, parameter.type,
                  format::MarkdownCell(parameter.doc));
  }
}

/// Keys of a request body, from its JSON Schema.
void AddBody(const format::Entry& schema, std::string& out) {
  out += Format("\n### {}\n\n| key | meaning |\n|---|---|\n", schema.key);
  const Value* const properties = schema.value.Find("properties");
  const Value* const required = schema.value.Find("required");
  for (const format::Entry& property : properties->entries) {
    const bool needed =
        required != nullptr &&
        std::ranges::find(required->items, property.key, &Value::text) != required->items.end();
    const Value* const doc = property.value.Find("description");
    out += Format("| `{}`{} | {} |\n", property.key, needed ? " (required)" : "",
                  doc == nullptr ? "" : format::MarkdownCell(doc->text));
  }
}

}  // namespace

std::vector<GoodAnswer> AnswersOf(const Route& route) {
  std::vector<GoodAnswer> answers;
  for (const AnswerRow& row : kAnswers) {
    if (row.id == route.id) answers.push_back(row.answer);
  }
  if (answers.empty()) answers.push_back({200, route.response});
  return answers;
}

std::vector<std::string_view> PathParameters(std::string_view pattern) {
  std::vector<std::string_view> names;
  for (const std::string_view part : base::Split(pattern, '/')) {
    if (part.starts_with('{')) names.push_back(part.substr(1, part.size() - 2));
  }
  return names;
}

std::string OpenApiDocument(std::string_view version) {
  Value document = Map();
  document.Add("openapi", Text("3.1.0"));
  document.Add("info", InfoValue(version));
  document.Add("security", SecurityValue());
  document.Add("paths", PathsValue());
  Value scheme = SchemaOfType("http");
  scheme.Add("scheme", Text("bearer"));
  scheme.Add("description", Text("a token made by `muster token create`"));
  Value schemes = Map();
  schemes.Add("token", std::move(scheme));
  Value components = Map();
  components.Add("schemas", ComponentSchemas());
  components.Add("securitySchemes", std::move(schemes));
  document.Add("components", std::move(components));
  return format::WriteJson(document);
}

std::string ApiReference() {
  std::string out =
      "# HTTP API\n\nOn the Unix socket of the server, and over HTTP where it listens. Bodies are "
      "JSON or YAML, answers are JSON: keys in camelCase, ids are numbers, times RFC 3339 in UTC "
      "with milliseconds, what does not apply is left out. A page of a list has `next`, the "
      "`cursor` of the page after it; a page without `next` is the last, and one with it may have "
      "fewer rows than asked for. Errors are [problem details](#problem) (RFC 9457). The same as "
      "OpenAPI 3.1: `GET /v1/openapi.json`. Roles, each with the rights of those before it: "
      "viewer, reporter, user, operator, admin.\n\n## Routes\n";
  for (const Route& route : Routes()) AddRoute(route, out);
  out += "\n## Bodies\n";
  const Value schemas = ComponentSchemas();
  const auto names = SchemaNames();
  for (const format::Entry& schema : schemas.entries) {
    const bool answer = std::ranges::find(names, schema.key) != names.end();
    if (!answer && schema.key != "JobDocument" && schema.key != "PolicyDocument")
      AddBody(schema, out);
  }
  out += "\n## Answers\n\nKeys marked with `?` may be missing.\n";
  std::string_view current;
  for (const SchemaRow& row : SchemaRows()) {
    if (row.schema != current)
      out += Format("\n### {}\n\n| key | type | meaning |\n|---|---|---|\n", row.schema);
    current = row.schema;
    if (row.key == "...") {
      out += Format("| ... | | all of [{}](#{}) |\n", row.type, LowerCase(row.type));
    } else {
      out += Format("| `{}` | {} | {} |\n", row.key, TypeCell(row.type),
                    format::MarkdownCell(row.doc));
    }
  }
  return out;
}

}  // namespace muster::api
