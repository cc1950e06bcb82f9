// SPDX-License-Identifier: Apache-2.0
#include "cli/client/job_draft.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/strings.h"
#include "format/document.h"
#include "format/job_document.h"
#include "format/parse.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;
using format::Value;

/// The map at a key, made where it is not there. What is something else stays: the check of the
/// whole document says so.
Value& MapIn(Value& map, std::string_view key) {
  const auto found = std::ranges::find(map.entries, key, &format::Entry::key);
  if (found != map.entries.end()) return found->value;
  map.Add(std::string(key), format::Map());
  return map.entries.back().value;
}

void Set(Value& map, std::string_view key, Value value) {
  const auto found = std::ranges::find(map.entries, key, &format::Entry::key);
  if (found == map.entries.end()) {
    map.Add(std::string(key), std::move(value));
  } else {
    found->value = std::move(value);
  }
}

void SetText(Value& map, std::string_view key, const std::string& text) {
  if (!text.empty()) Set(map, key, format::Text(text));
}

Error Usage(std::string option, std::string message) {
  return {ErrorCode::kInvalid, std::move(message), std::move(option)};
}

/// What holds for commands and files alike.
base::Status Apply(const JobDraft& draft, Value& document) {
  Value& metadata = MapIn(document, "metadata");
  SetText(metadata, "name", draft.name);
  SetText(metadata, "queue", draft.queue);
  for (const std::string& label : draft.labels) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Usage("--label", Format("{} is not KEY=VALUE", Quote(label)));
    Set(MapIn(metadata, "labels"), label.substr(0, equals), format::Text(label.substr(equals + 1)));
  }
  Value& spec = MapIn(document, "spec");
  SetText(spec, "priorityClass", draft.priority_class);
  SetText(spec, "timeLimit", draft.time_limit);
  return {};
}

base::Status ApplyEnv(const JobDraft& draft, Value& task) {
  for (const std::string& variable : draft.env) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    const char* own = equals == std::string::npos ? std::getenv(name.c_str()) : nullptr;
    if (name.empty() || (equals == std::string::npos && own == nullptr)) {
      return Usage("--env", name.empty() ? Format("{} is not NAME=VALUE", Quote(variable))
                                         : Format("{} is not set here", Quote(name)));
    }
    Set(MapIn(task, "env"), name, format::Text(own != nullptr ? own : variable.substr(equals + 1)));
  }
  return {};
}

/// Where a relative path leads from.
std::string From(const std::string& here, const std::string& path) {
  if (path.empty() || path == ".") return here;
  return path.starts_with('/') ? path : here + "/" + path;
}

/// A name for a job of a command: what is run, as far as a name can say it.
std::string NameOf(const std::vector<std::string>& command) {
  const std::string& program = command.front();
  std::string name = program.substr(program.rfind('/') + 1);
  std::erase_if(name, [](char c) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return !fine && c != '-' && c != '_' && c != '.';
  });
  return name.empty() ? "job" : name;
}

/// The option that a fault of the drafted document comes from.
std::string OptionOf(const std::string& message) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"resources.gpu", "--gpus"},
      {"resources.cpu", "--cpus"},
      {"resources.memory", "--memory"},
      {"replicas", "--replicas"},
      {".env", "--env"},
      {"metadata.name", "--name"},
      {"metadata.queue", "--queue"},
      {"priorityClass", "--class"},
      {"timeLimit", "--time-limit"},
      {"workdir", "--workdir"},
      {"labels", "--label"},
  };
  for (const auto& [path, option] : kOptions) {
    if (message.find(path) != std::string::npos) return std::string(option);
  }
  return "";
}

std::string Write(const std::vector<Value>& documents) {
  std::string text;
  for (const Value& document : documents)
    text += (text.empty() ? "" : "---\n") + format::WriteYaml(document);
  return text;
}

base::Status RefuseOfCommandsAlone(const JobDraft& draft) {
  const std::pair<bool, const char*> given[] = {{!draft.gpus.empty(), "--gpus"},
                                                {!draft.cpus.empty(), "--cpus"},
                                                {!draft.memory.empty(), "--memory"},
                                                {draft.replicas.has_value(), "--replicas"},
                                                {!draft.env.empty(), "--env"}};
  for (const auto& [is_given, option] : given) {
    if (is_given) return Usage(option, "is for a command after --; a file says it itself");
  }
  return {};
}

}  // namespace

base::Checked<std::string> DraftCommand(const JobDraft& draft,
                                        const std::vector<std::string>& command,
                                        const std::string& here) {
  Value document = format::Map();
  document.Add("apiVersion", format::Text(std::string(format::kApiVersion)));
  document.Add("kind", format::Text("Job"));
  SetText(MapIn(document, "metadata"), "name", NameOf(command));
  Value task = format::Map();
  task.Add("name", format::Text("main"));
  if (draft.replicas) task.Add("replicas", format::Plain(Format("{}", *draft.replicas)));
  Value resources = format::Map();
  SetText(resources, "gpu", draft.gpus);
  SetText(resources, "cpu", draft.cpus);
  SetText(resources, "memory", draft.memory);
  // A job must ask for something; who says nothing wants something small.
  if (resources.entries.empty()) resources.Add("cpu", format::Text("1"));
  task.Add("resources", std::move(resources));
  Value words = format::List();
  for (const std::string& word : command) words.items.push_back(format::Text(word));
  task.Add("command", std::move(words));
  if (const auto done = ApplyEnv(draft, task); !done) return done.error();
  task.Add("workdir", format::Text(From(here, draft.workdir)));
  MapIn(document, "spec").Add("tasks", format::List({std::move(task)}));
  if (const auto done = Apply(draft, document); !done) return done.error();
  std::string text = Write({std::move(document)});
  const auto checked = format::ParseJobs(text, "job");
  if (checked) return text;
  base::Errors errors = checked.error();
  // The person wrote options, not the document that they became.
  for (Error& error : errors) error.where = OptionOf(error.message);
  return errors;
}

base::Checked<std::string> DraftFile(const JobDraft& draft, std::string_view text,
                                     const std::string& file, const std::string& here) {
  if (const auto done = RefuseOfCommandsAlone(draft); !done) return done.error();
  if (const auto checked = format::ParseJobs(text, file); !checked) return checked.error();
  auto parsed = format::ParseDocuments(text, file, format::DocumentKind::kJob);
  if (!parsed) return parsed.error();
  for (Value& document : parsed->documents) {
    if (const auto done = Apply(draft, document); !done) return done.error();
    for (Value& task : MapIn(MapIn(document, "spec"), "tasks").items) {
      const Value* const own = task.Find("workdir");
      const std::string& path =
          !draft.workdir.empty() || own == nullptr ? draft.workdir : own->text;
      Set(task, "workdir", format::Text(From(here, path)));
    }
  }
  std::string drafted = Write(parsed->documents);
  if (const auto checked = format::ParseJobs(drafted, file + " with options"); !checked)
    return checked.error();
  return drafted;
}

}  // namespace muster::cli
