// SPDX-License-Identifier: Apache-2.0
#include "api/openapi_schemas.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/resources/bodies.h"
#include "base/check.h"
#include "base/strings.h"
#include "format/job_document.h"
#include "format/policy_document.h"
#include "format/schema.h"

namespace muster::api {
namespace {

using format::List;
using format::Map;
using format::Plain;
using format::Text;
using format::Value;

constexpr std::string_view kJobStates =
    "held|waiting|starting|running|stopping|completed|failed|cancelled|timed-out";
constexpr std::string_view kNodeStates = "ready|cordoned|draining|maintenance|down|probation";
constexpr std::string_view kOutcomes = "placed|not-now|never|search-ended";

// Grouped by schema; a schema's rows stand together.
constexpr SchemaRow kRows[] = {
    {"Problem", "type", "string", "always about:blank"},
    {"Problem", "title", "string", "the status in words"},
    {"Problem", "status", "integer", "the status"},
    {"Problem", "detail", "string", "what was wrong, with which value, and what to do"},
    {"Problem", "errors?", "[ProblemItem]", "all faults, where there are several"},
    {"ProblemItem", "where", "string", "place in the body, or the parameter"},
    {"ProblemItem", "message", "string", "what is wrong there"},

    {"Reason", "code", "string", "a name that does not change, like devices-busy"},
    {"Reason", "text", "string", "the same for people"},
    {"Reason", "count?", "integer", "how often it applied"},
    {"DeviceCounts", "total", "integer", "all"},
    {"DeviceCounts", "idle", "integer", "free for jobs"},
    {"DeviceCounts", "allocated", "integer", "held by jobs"},
    {"DeviceCounts", "reserved", "integer", "kept for a job"},
    {"DeviceCounts", "draining", "integer", "on nodes that take nothing new"},
    {"DeviceCounts", "faulty", "integer", "out of order"},
    {"DeviceCounts", "foreign", "integer", "used by someone who is not Muster"},
    {"DeviceCounts", "unknown", "integer", "on nodes that are silent"},
    {"Done", "jobs", "[integer]", "ids of the jobs that it was about"},
    {"Done", "notes", "[string]", "for people"},

    {"JobRow", "id", "integer", "number of the job"},
    {"JobRow", "name", "string", "as its document says"},
    {"JobRow", "user", "string", "its owner"},
    {"JobRow", "queue", "string", "its queue"},
    {"JobRow", "priorityClass", "string", "its priority class"},
    {"JobRow", "state", kJobStates, "what it does, or how it ended"},
    {"JobRow", "gpus", "string", "GPUs that it holds or wants, in all"},
    {"JobRow", "replicas", "integer", "replicas that it has or wants"},
    {"JobRow", "submitted", "time", "when it was submitted"},
    {"JobRow", "started?", "time", "when it got its place, the last time"},
    {"JobRow", "ended?", "time", "when it ended"},
    {"JobRow", "attempt", "integer", "number of its last start; 0 before the first"},
    {"JobRow", "reason?", "Reason", "why it is in this state, where that is known at no cost"},
    {"JobRow", "nodes?", "NodeSummary", "where it is"},
    {"NodeSummary", "count", "integer", "number of nodes"},
    {"NodeSummary", "first", "[string]", "names of the first of them"},
    {"JobList", "jobs", "[JobRow]", "a page of jobs"},
    {"JobList", "next?", "string", "`cursor` of the next page"},
    {"Job", "...", "JobRow", ""},
    {"Job", "owner", "Owner", "the account that it runs as"},
    {"Job", "notBefore?", "time", "it is not started before"},
    {"Job", "level?", "string", "the topology level whose one domain holds all of it"},
    {"Job", "document", "JobDocument", "the job document, with what defaults filled in"},
    {"Job", "envHidden?", "boolean", "true: the document is shown without the environment"},
    {"Job", "attempts", "[Attempt]", "its last starts, oldest first"},
    {"Job", "checkpoint?", "Checkpoint", "the last one"},
    {"Owner", "user", "string", "name"},
    {"Owner", "uid", "integer", "number of the user"},
    {"Owner", "gid", "integer", "number of the group"},
    {"Checkpoint", "step", "integer", "training step that was saved"},
    {"Checkpoint", "path", "string", "where it is"},
    {"Checkpoint", "at", "time", "when it was reported"},
    {"Checkpoint", "attempt", "integer", "the start that saved it"},
    {"Attempt", "number", "integer", "from 1"},
    {"Attempt", "placed", "time", "when it got its place"},
    {"Attempt", "running?", "time", "when its first rank ran"},
    {"Attempt", "ended?", "time", "when it was over"},
    {"Attempt", "reason?", "Reason", "why it ended"},
    {"Attempt", "level", "string", "the topology level whose one domain held all of it"},
    {"Attempt", "replicas", "integer", "its ranks"},
    {"Attempt", "nodes", "[string]", "in the order of ranks"},
    {"Attempt", "failure?", "Failure", "the first rank that ended badly"},
    {"Attempt", "ranks?", "[Rank]", "where each rank was, in GET .../attempts"},
    {"Failure", "rank", "integer", "number of the rank"},
    {"Failure", "kind", "exited|signalled|out-of-memory|not-started|stopped|lost", "how it ended"},
    {"Failure", "code", "integer", "exit status, or number of the signal"},
    {"Failure", "text", "string", "the same for people"},
    {"Rank", "rank", "integer", "number of the rank"},
    {"Rank", "group", "string", "its task group"},
    {"Rank", "node", "string", "its node"},
    {"Rank", "devices", "[integer]", "indexes of its devices there"},
    {"Rank", "cpu", "string", "CPUs that it has"},
    {"Rank", "memory", "string", "memory that it has"},
    {"AttemptList", "attempts", "[Attempt]", "oldest first"},
    {"Submitted", "jobs", "[SubmittedJob]", "in the order of the request"},
    {"Submitted", "repeated", "boolean", "true: an earlier request with this key made them"},
    {"Submitted", "notes", "[string]", "for people"},
    {"SubmittedJob", "id", "integer", "number of the job"},
    {"SubmittedJob", "name", "string", "as its document says"},
    {"Trial", "jobs", "[TrialJob]", "in the order of the request"},
    {"Trial", "notes", "[string]", "for people"},
    {"TrialJob", "name", "string", "as its document says"},
    {"TrialJob", "outcome", kOutcomes, "placed: there is room now"},
    {"TrialJob", "summary", "string", "the same in a sentence"},
    {"TrialJob", "details", "[string]", "more sentences"},

    {"JobWhy", "id", "integer", "number of the job"},
    {"JobWhy", "state", kJobStates, "what it does, or how it ended"},
    {"JobWhy", "asOf", "time", "the moment that this is true of"},
    {"JobWhy", "summary", "string", "one sentence"},
    {"JobWhy", "details", "[string]", "more sentences, in the order to be read"},
    {"JobWhy", "reason", "Reason", "what keeps it, or why it ended"},
    {"JobWhy", "outcome?", kOutcomes, "what looking for a place gives now"},
    {"JobWhy", "group?", "string", "the task group that is short"},
    {"JobWhy", "level?", "string", "the topology level that it must fit in"},
    {"JobWhy", "bestDomain?", "string", "the domain of that level with most room"},
    {"JobWhy", "wanted?", "integer", "replicas wanted there"},
    {"JobWhy", "have?", "integer", "replicas that fit there"},
    {"JobWhy", "causes?", "[Cause]", "nodes without room for one replica, by cause"},
    {"JobWhy", "position?", "integer", "place in its queue, from 1"},
    {"JobWhy", "ahead?", "integer", "jobs of other queues that are tried before it"},
    {"JobWhy", "nextRelax?", "NextRelax", "when it may be placed more widely"},
    {"JobWhy", "nodes?", "[string]", "where it is"},
    {"JobWhy", "failure?", "Failure", "the first rank that ended badly in the last attempt"},
    {"Cause", "code", "string", "a name that does not change"},
    {"Cause", "text", "string", "the same for people"},
    {"Cause", "nodes", "integer", "number of nodes"},
    {"NextRelax", "at", "time", "from then on"},
    {"NextRelax", "level?", "string", "inside one domain of this level"},

    {"Event", "id", "integer", "rises"},
    {"Event", "at", "time", "when"},
    {"Event", "kind",
     "submitted|placed|running|stopping|requeued|ended|changed|checkpoint|node|pause|policy",
     "what kind of thing happened"},
    {"Event", "job?", "integer", "the job that it is about"},
    {"Event", "attempt?", "integer", "the start that it is about"},
    {"Event", "text", "string", "for people"},
    {"EventList", "events", "[Event]", "oldest first"},
    {"EventList", "next?", "string", "`after` of the next page"},
    {"EventGap", "after", "integer", "the id that was asked for"},
    {"EventGap", "first?", "integer", "the oldest event that is kept"},
    {"LogPiece", "attempt", "integer", "the start that wrote it"},
    {"LogPiece", "offset", "integer", "of the first byte"},
    {"LogPiece", "text?", "string", "the bytes, where they are UTF-8"},
    {"LogPiece", "base64?", "string", "the bytes, where they are not"},
    {"LogEnd", "state", kJobStates, "state of the job"},
    {"LogEnd", "attempt", "integer", "the start that is over"},

    {"Node", "name", "string", "name of the node"},
    {"Node", "state", kNodeStates, "whether it takes jobs"},
    {"Node", "stateReason?", "string", "who set the state, and why"},
    {"Node", "note?", "string", "how tasks are kept apart there"},
    {"Node", "gone?", "boolean", "true: it was taken out for good"},
    {"Node", "models", "[string]", "models of its devices"},
    {"Node", "devices", "DeviceCounts", "its devices by state"},
    {"Node", "cpu", "string", "CPUs"},
    {"Node", "cpuUsed", "string", "of them held by jobs"},
    {"Node", "memory", "string", "memory"},
    {"Node", "memoryUsed", "string", "of it held by jobs"},
    {"Node", "nics", "integer", "network cards"},
    {"Node", "domains", "[DomainName]", "where it hangs in the network, outermost first"},
    {"DomainName", "level", "string", "topology level"},
    {"DomainName", "name", "string", "the domain, like spine-2/leaf-7"},
    {"NodeList", "nodes", "[Node]", "a page of nodes"},
    {"NodeList", "next?", "string", "`cursor` of the next page"},
    {"NodeDetail", "...", "Node", ""},
    {"NodeDetail", "labels", "map", "its labels"},
    {"NodeDetail", "taints", "[Taint]", "what jobs must tolerate"},
    {"NodeDetail", "deviceList", "[Device]", "its devices"},
    {"NodeDetail", "jobs", "[NodeJob]", "what is there"},
    {"Taint", "key", "string", "key"},
    {"Taint", "value", "string", "value"},
    {"Device", "index", "integer", "its number on the node"},
    {"Device", "model", "string", "its model"},
    {"Device", "memory", "string", "its memory; 0: unknown"},
    {"Device", "group", "integer", "devices of one group are close"},
    {"Device", "state?", "idle|allocated|reserved|draining|faulty|foreign|unknown",
     "missing where the node only counts its devices"},
    {"Device", "job?", "integer", "the job that holds it"},
    {"NodeJob", "id", "integer", "number of the job"},
    {"NodeJob", "ranks", "integer", "its ranks on this node"},

    {"Topology", "levels", "[string]", "outermost first"},
    {"Topology", "root", "Domain", "everything"},
    {"Domain", "level", "string", "topology level"},
    {"Domain", "name", "string", "name of the domain"},
    {"Domain", "nodeCount", "integer", "nodes in it"},
    {"Domain", "devices", "DeviceCounts", "devices in it"},
    {"Domain", "children?", "[Domain]", "its domains of the level below"},
    {"Domain", "nodes?", "[string]", "its nodes, at the innermost level"},
    {"Inventory", "at", "time", "the moment that this is true of"},
    {"Inventory", "devices", "DeviceCounts", "all devices"},
    {"Inventory", "models", "[ModelCounts]", "by model"},
    {"Inventory", "nodes", "NodeCounts", "nodes by state"},
    {"Inventory", "domains?", "[DomainCounts]", "by domain of the level asked for"},
    {"ModelCounts", "model", "string", "model of the devices"},
    {"ModelCounts", "devices", "DeviceCounts", "by state"},
    {"DomainCounts", "name", "string", "the domain"},
    {"DomainCounts", "devices", "DeviceCounts", "devices in it"},
    {"DomainCounts", "models", "[ModelCounts]", "by model"},
    {"NodeCounts", "ready", "integer", "take jobs"},
    {"NodeCounts", "cordoned", "integer", "take nothing new"},
    {"NodeCounts", "draining", "integer", "take nothing new, on the way out"},
    {"NodeCounts", "maintenance", "integer", "being worked on"},
    {"NodeCounts", "down", "integer", "silent or off"},
    {"NodeCounts", "probation", "integer", "repaired and watched"},

    {"PhaseCounts", "held", "integer", "jobs kept from starting"},
    {"PhaseCounts", "waiting", "integer", "jobs that wait for a place"},
    {"PhaseCounts", "starting", "integer", "jobs with a place that no task runs in yet"},
    {"PhaseCounts", "running", "integer", "jobs that run"},
    {"PhaseCounts", "stopping", "integer", "jobs that were told to stop"},
    {"Queue", "name", "string", "name of the queue"},
    {"Queue", "order?", "string", "which job goes first"},
    {"Queue", "blocking?", "strict|bypass", "may others pass a job that cannot start"},
    {"Queue", "inPolicy", "boolean", "false: the policy has it no more"},
    {"Queue", "jobs", "PhaseCounts", "its jobs"},
    {"Queue", "gpus", "integer", "GPUs that its jobs hold"},
    {"Queue", "cpu", "string", "CPUs that its jobs hold"},
    {"Queue", "memory", "string", "memory that its jobs hold"},
    {"QueueList", "queues", "[Queue]", "in the order of the policy"},
    {"Policy", "text", "string", "as it was given"},
    {"Policy", "isDefault", "boolean", "true: none was given"},
    {"Policy", "document", "PolicyDocument", "with every default filled in"},
    {"Pause", "paused", "boolean", "true: nothing that waits is started"},
    {"Pause", "reason?", "string", "who, and why"},
    {"Pause", "since?", "time", "since when"},
    {"Status", "version", "string", "of the program"},
    {"Status", "sequence", "integer", "number of the last record"},
    {"Status", "at", "time", "of that record"},
    {"Status", "ready", "boolean", "the server can take requests"},
    {"Status", "trouble?", "string", "why it cannot"},
    {"Status", "jobs", "PhaseCounts", "jobs that have not ended"},
    {"Status", "nodes", "NodeCounts", "nodes by state"},
    {"Status", "devices", "DeviceCounts", "devices by state"},
    {"Status", "pause", "Pause", "are starts paused"},
    {"Health", "status", "ok|ready", "all is well"},

    {"Usage", "from?", "string", "first day"},
    {"Usage", "to?", "string", "last day"},
    {"Usage", "by", "[string]", "what rows are summed by"},
    {"Usage", "rows", "[UsageRow]", "sorted"},
    {"UsageRow", "day?", "string", "day, UTC"},
    {"UsageRow", "queue?", "string", "queue"},
    {"UsageRow", "user?", "string", "user"},
    {"UsageRow", "model?", "string", "model of the GPUs; empty: work without any"},
    {"UsageRow", "allocatedGpuSeconds", "number", "GPU time that was held"},
    {"UsageRow", "lostGpuSeconds", "number",
     "of it lost: since the last checkpoint of what failed"},
    {"UsageRow", "cpuSeconds", "number", "CPU time that was held"},
    {"AuditList", "entries", "[AuditEntry]", "newest first"},
    {"AuditList", "next?", "string", "`cursor` of the next page"},
    {"AuditEntry", "id", "integer", "rises"},
    {"AuditEntry", "at", "time", "when"},
    {"AuditEntry", "user", "string", "who"},
    {"AuditEntry", "from", "string", "from where"},
    {"AuditEntry", "action", "string", "what"},
    {"AuditEntry", "target", "string", "to what"},
    {"AuditEntry", "detail", "string", "what was before, and why"},
    {"AuditEntry", "allowed", "boolean", "false: refused for lack of rights"},
    {"Token", "name", "string", "its name"},
    {"Token", "role", "viewer|reporter|user|operator|admin", "what its bearer may do"},
    {"Token", "user", "string", "the account that it stands for"},
    {"Token", "uid", "integer", "number of the user"},
    {"Token", "gid", "integer", "number of the group"},
    {"Token", "expires?", "time", "until when"},
    {"TokenList", "tokens", "[Token]", "those that are good"},
    {"NewToken", "...", "Token", ""},
    {"NewToken", "secret", "string", "what the bearer shows; keep it, it is not shown again"},
};

Value Ref(std::string_view name) {
  Value value = Map();
  value.Add("$ref", Text("#/components/schemas/" + std::string(name)));
  return value;
}

Value OfType(std::string_view type) {
  Value value = Map();
  value.Add("type", Text(std::string(type)));
  return value;
}

Value TypeValue(std::string_view type) {
  if (type.starts_with('[')) {
    Value value = OfType("array");
    value.Add("items", TypeValue(type.substr(1, type.size() - 2)));
    return value;
  }
  if (type.find('|') != std::string_view::npos) {
    Value value = OfType("string");
    Value names = List();
    for (const std::string_view name : base::Split(type, '|'))
      names.items.push_back(Text(std::string(name)));
    value.Add("enum", std::move(names));
    return value;
  }
  if (type == "time") {
    Value value = OfType("string");
    value.Add("format", Text("date-time"));
    return value;
  }
  if (type == "map") {
    Value value = OfType("object");
    value.Add("additionalProperties", OfType("string"));
    return value;
  }
  constexpr std::array<std::string_view, 5> kBasic = {"integer", "number", "boolean", "string",
                                                      "object"};
  if (std::ranges::find(kBasic, type) != kBasic.end()) return OfType(type);
  return Ref(type);
}

void AddKeys(std::string_view schema, Value& properties, Value& required) {
  for (const SchemaRow& row : kRows) {
    if (row.schema != schema) continue;
    if (row.key == "...") {
      AddKeys(row.type, properties, required);
      continue;
    }
    const bool optional = row.key.ends_with('?');
    const std::string key(row.key.substr(0, row.key.size() - (optional ? 1 : 0)));
    Value property = TypeValue(row.type);
    property.Add("description", Text(std::string(row.doc)));
    properties.Add(key, std::move(property));
    if (!optional) required.items.push_back(Text(key));
  }
}

Value ObjectSchema(std::string_view name) {
  Value properties = Map();
  Value required = List();
  AddKeys(name, properties, required);
  Value schema = OfType("object");
  schema.Add("properties", std::move(properties));
  schema.Add("required", std::move(required));
  schema.Add("additionalProperties", Plain("false"));
  return schema;
}

/// A schema made elsewhere, without what only makes sense at the top of a document of its own.
Value Embedded(Value schema) {
  std::erase_if(schema.entries, [](const format::Entry& entry) { return entry.key == "$schema"; });
  return schema;
}

}  // namespace

std::span<const SchemaRow> SchemaRows() { return kRows; }

std::vector<std::string_view> SchemaNames() {
  std::vector<std::string_view> names;
  for (const SchemaRow& row : kRows) {
    if (names.empty() || names.back() != row.schema) names.push_back(row.schema);
  }
  return names;
}

Content ContentOf(std::string_view name) {
  if (name == "JobDocuments") return {{"application/yaml", "application/json"}, Ref("JobDocument")};
  if (name == "PolicyDocument")
    return {{"application/yaml", "application/json"}, Ref("PolicyDocument")};
  if (name == "LogBytes") {
    Value bytes = OfType("string");
    bytes.Add("format", Text("binary"));
    return {{"application/octet-stream"}, std::move(bytes)};
  }
  if (name == "MetricsText") return {{"text/plain"}, OfType("string")};
  if (name == "OpenApi") return {{"application/json"}, OfType("object")};
  if (name == "Problem") return {{"application/problem+json"}, Ref(name)};
  return {{"application/json"}, Ref(name)};
}

Value ComponentSchemas() {
  Value schemas = Map();
  for (const std::string_view name : SchemaNames())
    schemas.Add(std::string(name), ObjectSchema(name));
  for (const BodyShape& body : BodyShapes()) {
    schemas.Add(std::string(body.name), Embedded(format::JsonSchema(body.name, body.shape, {})));
  }
  schemas.Add("JobDocument", Embedded(format::JobSchema()));
  schemas.Add("PolicyDocument", Embedded(format::PolicySchema()));
  return schemas;
}

}  // namespace muster::api
