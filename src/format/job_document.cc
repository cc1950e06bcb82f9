// SPDX-License-Identifier: Apache-2.0
#include "format/job_document.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "format/codec.h"
#include "format/fields.h"
#include "format/parse.h"
#include "format/schema.h"
#include "model/check_request.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;

// The document as it is written; what it means in the model's terms is ToSpec's business.

struct Resources {
  base::MilliGpu gpu;
  std::optional<base::MilliCpu> cpu;
  std::optional<base::Bytes> memory;
  std::int32_t rdma = 0;
  std::vector<model::NamedAmount> extended;
};

struct GpuWish {
  std::vector<std::string> model;
  base::Bytes memory;
  bool mixed = false;
};

struct TolerationRow {
  std::string key;
  std::optional<std::string> value;
};

struct SecretFile {
  std::string file;
};

struct Task {
  std::string name;
  std::int32_t replicas = 1;
  std::optional<std::int32_t> min_replicas;
  std::optional<std::int32_t> step;
  model::Launch launch = model::Launch::kPerReplica;
  Resources resources;
  GpuWish gpu;
  std::vector<model::LabelRequirement> node_selector;
  std::vector<model::Toleration> tolerations;
  std::vector<std::string> command;
  model::Labels env;
  model::Labels secret_env;
  std::string workdir;
};

struct Metadata {
  std::string name;
  std::string queue;
  model::Labels labels;
};

struct Spec {
  model::JobType type = model::JobType::kTraining;
  std::string priority_class;
  std::vector<Task> tasks;
  model::TopologyRequest topology;
  std::optional<model::Spread> spread;
  std::string anti_affinity;
  std::vector<model::RelaxStep> relax;
  std::optional<model::CheckpointSpec> checkpoint;
  model::Completion completion;
  model::RestartSpec restart;
  base::Duration estimate;
  base::Duration time_limit;
  base::Duration start_after;
};

struct Document {
  Metadata metadata;
  Spec spec;
};

constexpr AmountRange<base::Duration> kAnyTime = {.max = kLongest};

/// A duration whose absence is the model's 0, and that cannot be written as 0.
Codec<base::Duration> SomeTime() {
  Codec<base::Duration> codec = DurationOf({.min = base::Microseconds(1), .max = kLongest});
  codec.encode = [encode = codec.encode](const base::Duration& span) {
    return span.IsZero() ? Value{} : encode(span);
  };
  return codec;
}

/// A level's name, or none.
Codec<std::string> LevelName() {
  Codec<std::string> codec = Name();
  codec.shape.type = "level";
  return codec;
}

Codec<Resources> ResourcesCodec() {
  return StructWithExtended<Resources>(
      {
          Key("gpu", &Resources::gpu, GpuOf({.max = base::MilliGpu::Of(1'000'000'000)}),
              "GPUs of each replica, whole ones; parts of a GPU are not supported by this version "
              "yet"),
          Key("cpu", &Resources::cpu, Maybe(CpuOf({.max = kMostCpu})),
              "CPUs of each replica; left out: the share of the node's that goes with its GPUs"),
          Key("memory", &Resources::memory, Maybe(BytesOf({.max = kMostMemory})),
              "memory of each replica; left out: likewise"),
          Key("rdma", &Resources::rdma, Count({.max = kMostNics}), "network cards of each replica"),
      },
      &Resources::extended);
}

/// ">=80Gi" or "80Gi".
Codec<base::Bytes> LeastBytes() {
  Codec<base::Bytes> codec = BytesOf({.max = kMostMemory});
  codec.shape.type = "bytes, like >=80Gi";
  codec.shape.schema = Map({{.key = "type", .value = List({Text("string"), Text("number")})}});
  codec.decode = [decode = codec.decode](const Value& value, Decoder& decoder) {
    Value amount = value;
    if (amount.text.starts_with(">=")) amount.text.erase(0, 2);
    return decode(amount, decoder);
  };
  codec.encode = [](const base::Bytes& bytes) {
    return bytes.IsZero() ? Value{} : Text(">=" + base::FormatBytes(bytes));
  };
  return codec;
}

Codec<GpuWish> GpuWishCodec() {
  return Struct<GpuWish>({
      Key("model", &GpuWish::model, OneOrList(Name()), "any of these models; left out: any at all"),
      Key("memory", &GpuWish::memory, LeastBytes(), "least memory of a GPU"),
      Key("mixed", &GpuWish::mixed, Flag(), "replicas of the group may get different models"),
  });
}

/// `{zone: a}`, or a list of `{key, operator, values}`.
Codec<std::vector<model::LabelRequirement>> SelectorCodec() {
  using Requirement = model::LabelRequirement;
  using Operator = Requirement::Operator;
  const Codec<model::Labels> map = LabelsCodec();
  const Codec<std::vector<Requirement>> list = ListOf(Struct<Requirement>({
      Key("key", &Requirement::key, Name(), "label").Required(),
      Key("operator", &Requirement::op,
          OneOf<Operator>(
              {{"In", Operator::kIn}, {"NotIn", Operator::kNotIn}, {"Exists", Operator::kExists}}),
          "In: the label has one of `values`; NotIn: it has none of them; Exists: the node has the "
          "label"),
      Key("values", &Requirement::values, ListOf(FreeText()), "values for In and NotIn"),
  }));
  Codec<std::vector<Requirement>> codec;
  codec.shape = {
      .form = Shape::Form::kChoice, .type = "map or list", .parts = {map.shape, list.shape}};
  codec.decode = [=](const Value& value, Decoder& decoder) {
    std::vector<Requirement> out;
    if (value.kind == Value::Kind::kMap) {
      for (auto& [key, text] : map.decode(value, decoder))
        out.push_back({key, Operator::kIn, {text}});
      return out;
    }
    out = list.decode(value, decoder);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool exists = out[i].op == Operator::kExists;
      if (exists == out[i].values.empty()) continue;
      const Decoder::Step step = decoder.IntoItem(value, i);
      decoder.Report(value.items[i],
                     exists ? "Exists takes no values" : "In and NotIn need values");
    }
    return out;
  };
  codec.encode = [=](const std::vector<Requirement>& requirements) {
    model::Labels labels;
    for (const Requirement& each : requirements) {
      const bool simple = each.op == Operator::kIn && each.values.size() == 1;
      if (!simple || (!labels.empty() && each.key <= labels.back().first))
        return list.encode(requirements);
      labels.emplace_back(each.key, each.values.front());
    }
    return labels.empty() ? list.encode({}) : map.encode(labels);
  };
  return codec;
}

Codec<model::Toleration> TolerationCodec() {
  return Converted<model::Toleration>(
      Struct<TolerationRow>({
          Key("key", &TolerationRow::key, Name(), "key of the taint; left out: every taint"),
          Key("value", &TolerationRow::value, Maybe(FreeText()), "its value; left out: any"),
      }),
      [](const TolerationRow& row) {
        return model::Toleration{row.key, !row.value.has_value(), row.value.value_or("")};
      },
      [](const model::Toleration& toleration) {
        TolerationRow row{.key = toleration.key};
        if (!toleration.any_value) row.value = toleration.value;
        return row;
      });
}

/// A list of words; a single text is a line for the shell.
Codec<std::vector<std::string>> CommandCodec() {
  const Codec<std::vector<std::string>> words = ListOf(FreeText());
  const Codec<std::string> line = FreeText();
  Codec<std::vector<std::string>> codec = words;
  codec.shape = {.form = Shape::Form::kChoice,
                 .type = "list of text, or text",
                 .parts = {words.shape, line.shape}};
  codec.decode = [=](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kScalar) return words.decode(value, decoder);
    return std::vector<std::string>{"/bin/sh", "-c", line.decode(value, decoder)};
  };
  return codec;
}

/// `{NAME: {file: path}}`.
Codec<model::Labels> SecretEnvCodec() {
  using Secrets = std::vector<std::pair<std::string, SecretFile>>;
  const auto forth = [](const Secrets& secrets) {
    model::Labels labels;
    for (const auto& [name, secret] : secrets) labels.emplace_back(name, secret.file);
    std::ranges::sort(labels);
    return labels;
  };
  const auto back = [](const model::Labels& labels) {
    Secrets secrets;
    for (const auto& [name, file] : labels) secrets.emplace_back(name, SecretFile{file});
    return secrets;
  };
  return Converted<model::Labels>(
      MapOf(Struct<SecretFile>({
          Key("file", &SecretFile::file, FreeText(), "file that holds the value").Required(),
      })),
      forth, back);
}

Codec<Task> TaskCodec() {
  const CountRange replicas = {.min = 1, .max = model::kMaxReplicas};
  return Struct<Task>({
      Key("name", &Task::name, Name(), "name of the group, unique in the job").Required(),
      Key("replicas", &Task::replicas, Count(replicas), "replicas, placed all at once"),
      Key("minReplicas", &Task::min_replicas, Maybe(Count(replicas)),
          "least replicas of an elastic group; left out: `replicas`, a rigid group"),
      Key("step", &Task::step, Maybe(Count(replicas)),
          "sizes of an elastic group are minReplicas + k x step; left out: the largest segment, "
          "else 1"),
      Key("launch", &Task::launch,
          OneOf<model::Launch>(
              {{"perReplica", model::Launch::kPerReplica}, {"perGpu", model::Launch::kPerGpu}}),
          "run the command once a replica, or once a GPU"),
      Key("resources", &Task::resources, ResourcesCodec(),
          "what each replica takes on its node; other names are resources that nodes offer by that "
          "name"),
      Key("gpu", &Task::gpu, GpuWishCodec(), "what GPUs will do"),
      Key("nodeSelector", &Task::node_selector, SelectorCodec(), "labels that a node must have"),
      Key("tolerations", &Task::tolerations, ListOf(TolerationCodec()),
          "taints that do not keep it away"),
      Key("command", &Task::command, CommandCodec(),
          "program and arguments; a single text goes to /bin/sh -c"),
      Key("env", &Task::env, LabelsCodec(), "environment variables"),
      Key("secretEnv", &Task::secret_env, SecretEnvCodec(),
          "environment variables read from files where the task starts; never stored"),
      Key("workdir", &Task::workdir, FreeText(), "working directory"),
  });
}

Codec<model::Spread> SpreadCodec() {
  return Struct<model::Spread>({
      Key("level", &model::Spread::level, LevelName(), "level whose domains share the replicas")
          .Required(),
      Key("maxSkew", &model::Spread::max_skew, Count({.min = 1, .max = model::kMaxReplicas}),
          "most difference between two domains"),
  });
}

Codec<model::TopologyRequest> TopologyCodec() {
  using model::Segment;
  using model::TopologyRequest;
  const Codec<Segment> segment = Struct<Segment>({
      Key("size", &Segment::size, Count({.min = 1, .max = model::kMaxReplicas}),
          "consecutive ranks")
          .Required(),
      Key("level", &Segment::level, LevelName(), "level whose domain holds them").Required(),
  });
  const auto inner_first = [](std::vector<Segment> segments) {
    std::ranges::stable_sort(segments, {}, &Segment::size);
    return segments;
  };
  return Struct<TopologyRequest>({
      Key("required", &TopologyRequest::required, LevelName(),
          "all replicas in one domain of this level, or not at all"),
      Key("preferred", &TopologyRequest::preferred, LevelName(),
          "in one domain of this level if possible"),
      Key("segment", &TopologyRequest::segments,
          Converted<std::vector<Segment>>(OneOrList(segment), inner_first, std::identity{}),
          "each run of so many ranks inside one domain"),
      Key("spread", &TopologyRequest::spread, Maybe(SpreadCodec()),
          "even out the replicas over domains"),
      Key("antiAffinity", &TopologyRequest::anti_affinity, LevelName(),
          "at most one replica of a group in each domain of this level"),
      Key("commFraction", &TopologyRequest::comm_fraction, Fraction(),
          "part of an iteration that waits for communication under the best placement"),
  });
}

Codec<model::CheckpointSpec> CheckpointCodec() {
  using model::CheckpointSpec;
  return Struct<CheckpointSpec>({
      Key("every", &CheckpointSpec::every, SomeTime(), "it checkpoints by itself this often"),
      Key("onSignal", &CheckpointSpec::on_signal, Name(),
          "it checkpoints on this signal, like SIGUSR1"),
      Key("grace", &CheckpointSpec::grace, DurationOf(kAnyTime), "time that a checkpoint takes"),
      Key("restart", &CheckpointSpec::restart, DurationOf(kAnyTime),
          "time from start to the first new step"),
      Key("dir", &CheckpointSpec::dir, FreeText(), "directory of its checkpoints"),
  });
}

Codec<model::Completion> CompletionCodec() {
  using Kind = model::Completion::Kind;
  Codec<std::string> name = Name();
  name.shape.type = "all | rank0 | name of a group";
  return Converted<model::Completion>(
      name,
      [](const std::string& text) {
        if (text == "all" || text.empty()) return model::Completion{};
        if (text == "rank0") return model::Completion{.kind = Kind::kRank0};
        return model::Completion{.kind = Kind::kGroup, .group = text};
      },
      [](const model::Completion& completion) -> std::string {
        if (completion.kind == Kind::kGroup) return completion.group;
        return completion.kind == Kind::kRank0 ? "rank0" : "all";
      });
}

Codec<Spec> SpecCodec() {
  using model::JobType;
  using model::RelaxStep;
  using model::RestartSpec;
  return Struct<Spec>({
      Key("type", &Spec::type,
          OneOf<JobType>({{"training", JobType::kTraining}}, {"service", "interactive"}),
          "what kind of work it is; service and interactive are not supported by this version yet"),
      Key("priorityClass", &Spec::priority_class, Name(),
          "priority class; left out: the policy's default"),
      Key("tasks", &Spec::tasks, ListOf(TaskCodec()),
          "task groups; all start together or none does")
          .Required(),
      Key("topology", &Spec::topology, TopologyCodec(), "where its replicas must or should be"),
      Key("spread", &Spec::spread, Maybe(SpreadCodec()), "the same as topology.spread"),
      Key("antiAffinity", &Spec::anti_affinity, LevelName(), "the same as topology.antiAffinity"),
      Key("relax", &Spec::relax,
          ListOf(Struct<RelaxStep>({
              Key("after", &RelaxStep::after, DurationOf(kAnyTime),
                  "waiting time from which it holds")
                  .Required(),
              Key("topology", &RelaxStep::topology, LevelName(),
                  "level required from then on, or any")
                  .Required(),
          })),
          "weaker constraints rather than more waiting"),
      Key("checkpoint", &Spec::checkpoint, Maybe(CheckpointCodec()),
          "how it saves its work; with this key it can be resumed"),
      Key("completion", &Spec::completion, CompletionCodec(),
          "which tasks must end well for the job to be done"),
      Key("restart", &Spec::restart,
          Struct<RestartSpec>({
              Key("limit", &RestartSpec::limit, Count({.max = 1'000'000}),
                  "most restarts for its own failures"),
              Key("onNodeLoss", &RestartSpec::on_node_loss, Flag(),
                  "start again when a node was lost"),
          }),
          "when it is started again"),
      Key("estimate", &Spec::estimate, SomeTime(),
          "how long it will likely run; left out: unknown"),
      Key("timeLimit", &Spec::time_limit, SomeTime(), "stopped after this time; left out: never"),
      Key("startAfter", &Spec::start_after, DurationOf(kAnyTime),
          "wait at least this long after submission"),
  });
}

const Codec<Document>& DocumentCodec() {
  static const Codec<Document> codec = Struct<Document>(WithHead<Document>(
      DocumentKind::kJob,
      {
          Key("metadata", &Document::metadata,
              Struct<Metadata>({
                  Key("name", &Metadata::name, Name(), "name of the job").Required(),
                  Key("queue", &Metadata::queue, Name(), "queue; left out: the policy's default"),
                  Key("labels", &Metadata::labels, LabelsCodec(), "labels for people and reports"),
              }),
              "what it is called")
              .Required(),
          Key("spec", &Document::spec, SpecCodec(), "what it needs").Required(),
      }));
  return codec;
}

std::int32_t DefaultStep(const model::TopologyRequest& topology) {
  return topology.segments.empty() ? 1 : topology.segments.back().size;
}

model::TaskGroup ToGroup(const Task& task, const model::TopologyRequest& topology) {
  return {.name = task.name,
          .replicas = task.replicas,
          .min_replicas = task.min_replicas.value_or(task.replicas),
          .step = task.step.value_or(DefaultStep(topology)),
          .shape = {.gpu = task.resources.gpu,
                    .cpu = task.resources.cpu,
                    .memory = task.resources.memory,
                    .nics = task.resources.rdma,
                    .extended = task.resources.extended,
                    .models = task.gpu.model,
                    .device_memory = task.gpu.memory,
                    .mixed_models = task.gpu.mixed,
                    .selector = task.node_selector,
                    .tolerations = task.tolerations}};
}

Task ToTask(const model::TaskGroup& group, const model::TaskCommand& command,
            const model::TopologyRequest& topology) {
  const model::ReplicaShape& shape = group.shape;
  Task task{
      .name = group.name,
      .replicas = group.replicas,
      .launch = command.launch,
      .resources = {.gpu = shape.gpu,
                    .cpu = shape.cpu,
                    .memory = shape.memory,
                    .rdma = shape.nics,
                    .extended = shape.extended},
      .gpu = {.model = shape.models, .memory = shape.device_memory, .mixed = shape.mixed_models},
      .node_selector = shape.selector,
      .tolerations = shape.tolerations,
      .command = command.command,
      .env = command.env,
      .secret_env = command.secret_env,
      .workdir = command.workdir};
  if (group.min_replicas != group.replicas) task.min_replicas = group.min_replicas;
  if (group.step != DefaultStep(topology)) task.step = group.step;
  return task;
}

model::JobSpec ToSpec(const Document& document) {
  const Spec& spec = document.spec;
  model::JobSpec job{.name = document.metadata.name,
                     .queue = document.metadata.queue,
                     .priority_class = spec.priority_class,
                     .labels = document.metadata.labels,
                     .start_after = spec.start_after,
                     .request = {.type = spec.type,
                                 .topology = spec.topology,
                                 .relax = spec.relax,
                                 .completion = spec.completion,
                                 .checkpoint = spec.checkpoint,
                                 .restart = spec.restart,
                                 .estimate = spec.estimate,
                                 .time_limit = spec.time_limit}};
  if (spec.spread) job.request.topology.spread = spec.spread;
  if (!spec.anti_affinity.empty()) job.request.topology.anti_affinity = spec.anti_affinity;
  for (const Task& task : spec.tasks) {
    job.request.groups.push_back(ToGroup(task, spec.topology));
    job.commands.push_back({task.launch, task.command, task.env, task.secret_env, task.workdir});
  }
  return job;
}

Document ToDocument(const model::JobSpec& job) {
  const model::GangRequest& request = job.request;
  Document document{.metadata = {.name = job.name, .queue = job.queue, .labels = job.labels},
                    .spec = {.type = request.type,
                             .priority_class = job.priority_class,
                             .topology = request.topology,
                             .relax = request.relax,
                             .checkpoint = request.checkpoint,
                             .completion = request.completion,
                             .restart = request.restart,
                             .estimate = request.estimate,
                             .time_limit = request.time_limit,
                             .start_after = job.start_after}};
  for (std::size_t i = 0; i < request.groups.size(); ++i) {
    const model::TaskCommand command =
        i < job.commands.size() ? job.commands[i] : model::TaskCommand{};
    document.spec.tasks.push_back(ToTask(request.groups[i], command, request.topology));
  }
  return document;
}

/// Rules that exist in the document only.
void CheckDocument(const model::JobSpec& job, Decoder& decoder) {
  const auto report = [&](std::string where, std::string message) {
    decoder.ReportRule({ErrorCode::kInvalid, std::move(message), std::move(where)});
  };
  for (const std::string_view key : {"spread", "antiAffinity"}) {
    if (decoder.Has(Format("spec.{}", key)) && decoder.Has(Format("spec.topology.{}", key))) {
      report(Format("spec.{}", key), "stands under topology as well; keep one of the two");
    }
  }
  __extension__ using Wide = __int128;
  Wide memory = 0;
  for (std::size_t i = 0; i < job.request.groups.size(); ++i) {
    const model::TaskGroup& group = job.request.groups[i];
    if (group.name == "all" || group.name == "rank0") {
      report(Format("spec.tasks[{}].name", i),
             Format("{} has a meaning in completion; take another name", Quote(group.name)));
    }
    memory += Wide{group.replicas} * group.shape.memory.value_or(base::Bytes{}).value();
    if (memory > kMostMemoryInAll.value()) {
      report(Format("spec.tasks[{}].resources.memory", i),
             Format("more than {} over all replicas", base::FormatBytes(kMostMemoryInAll)));
      return;
    }
  }
}

base::Checked<std::vector<model::JobSpec>> DecodeJobs(Parsed parsed, std::string_view file) {
  std::vector<model::JobSpec> jobs;
  for (const Value& tree : parsed.documents) {
    Decoder decoder(PlannedJobKeys());
    jobs.push_back(ToSpec(DocumentCodec().decode(tree, decoder)));
    CheckDocument(jobs.back(), decoder);
    for (const Error& rule : model::CheckRequest(jobs.back().request)) decoder.ReportRule(rule);
    std::ranges::move(decoder.faults(), std::back_inserter(parsed.faults));
  }
  if (!parsed.faults.empty()) return ToErrors(file, std::move(parsed.faults));
  return jobs;
}

}  // namespace

base::Checked<std::vector<model::JobSpec>> ParseJobs(std::string_view text, std::string_view file) {
  base::Result<Parsed> parsed = ParseDocuments(text, file, DocumentKind::kJob);
  if (!parsed) return parsed.error();
  return DecodeJobs(*std::move(parsed), file);
}

base::Checked<model::JobSpec> ParseJob(std::string_view text, std::string_view file) {
  base::Result<Parsed> parsed = ParseOneDocument(text, file, DocumentKind::kJob);
  if (!parsed) return parsed.error();
  base::Checked<std::vector<model::JobSpec>> jobs = DecodeJobs(*std::move(parsed), file);
  if (!jobs) return jobs.error();
  return std::move(jobs->front());
}

Value EncodeJob(const model::JobSpec& job) { return DocumentCodec().encode(ToDocument(job)); }

Value JobSchema() { return JsonSchema("Muster job", DocumentCodec().shape, PlannedJobKeys()); }

std::string JobReference() {
  return Reference("Job document", DocumentCodec().shape, PlannedJobKeys());
}

}  // namespace muster::format
