// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/units.h"
#include "cli/validators.h"
#include "engine/engine.h"
#include "format/file.h"
#include "format/parse.h"
#include "format/policy_document.h"
#include "format/trace/trace.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;
using format::Value;

/// Most of the faults of one file that are printed.
constexpr std::size_t kMostShown = 20;
/// Longest time that is taken, so that sums of many fit.
constexpr base::Duration kLongest = base::Hours(24 * 365 * 100);

base::Result<base::Duration> ParseTime(std::string_view text) {
  auto parsed = base::ParseDuration(text);
  if (parsed && *parsed > kLongest) {
    return Error{ErrorCode::kInvalid, Format("{} is longer than 100 years", Quote(text)), ""};
  }
  return parsed;
}

/// The item of a list whose `name` this is.
Value* FindNamed(Value& list, std::string_view name) {
  for (Value& item : list.items) {
    const Value* own = item.Find("name");
    if (own != nullptr && own->text == name) return &item;
  }
  return nullptr;
}

Value* FindKey(Value& map, std::string_view key) {
  const auto entry = std::ranges::find(map.entries, key, &format::Entry::key);
  return entry == map.entries.end() ? nullptr : &entry->value;
}

/// Where a path leads in a policy document, made on the way: a name picks the list item of that
/// name.
Value& Descend(Value& at, std::string_view key, bool into_list) {
  if (into_list) {
    if (at.kind != Value::Kind::kList) at = format::List();
    if (Value* item = FindNamed(at, key)) return *item;
    at.items.push_back(format::Map({{"name", format::Text(std::string(key)), {}}}));
    return at.items.back();
  }
  if (at.kind != Value::Kind::kMap) at = format::Map();
  if (Value* value = FindKey(at, key)) return *value;
  at.Add(std::string(key), Value{});
  return at.entries.back().value;
}

/// Sets "queues.NAME.blocking=strict" in the tree of a document.
base::Status Set(const std::string& setting, Value& document) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error{ErrorCode::kInvalid,
                 Format("{} is not KEY=VALUE, such as placement.strategy=random", Quote(setting)),
                 "--set"};
  }
  const auto value =
      format::ParseYaml(std::string_view(setting).substr(equals + 1), "--set " + setting);
  if (!value) return value.error();
  Value* at = &document;
  std::string_view parent;
  for (const std::string_view key : base::Split(std::string_view(setting).substr(0, equals), '.')) {
    at = &Descend(*at, key, parent == "queues" || at->kind == Value::Kind::kList);
    parent = key;
  }
  *at = value->documents.empty() ? Value{} : value->documents.front();
  return {};
}

base::Checked<model::Policy> ParseWithSettings(const std::string& file, const std::string& text,
                                               const std::vector<std::string>& settings) {
  if (settings.empty()) return format::ParsePolicy(text, file);
  auto parsed =
      format::ParseOneDocument(text, file.empty() ? "policy" : file, format::DocumentKind::kPolicy);
  if (!parsed) return parsed.error();
  if (!parsed->faults.empty()) return format::ToErrors(file, parsed->faults);
  Value document = parsed->documents.front();
  for (const std::string& setting : settings) {
    if (const auto status = Set(setting, document); !status) return status.error();
  }
  return format::ParsePolicy(format::WriteYaml(document), "policy with --set");
}

}  // namespace

void AddSettingOption(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option(
         "--set", settings,
         "set a key of the policy: placement.strategy=random, queues.default.blocking=strict")
      ->type_name("KEY=VALUE");
}

std::string PolicyLabel(const std::string& file, const std::vector<std::string>& settings) {
  const std::string name = file.empty() ? "default" : file;
  return settings.empty() ? name : name + " with " + base::Join(settings, ", ");
}

base::Checked<model::Policy> LoadPolicy(const std::string& file,
                                        const std::vector<std::string>& settings) {
  std::string text = "apiVersion: muster/v1\nkind: Policy\n";
  if (!file.empty()) {
    auto read = format::ReadFile(file);
    if (!read) return read.error();
    text = std::move(*read);
  }
  auto policy = ParseWithSettings(file, text, settings);
  if (!policy) return policy;
  *policy = model::WithDefaults(std::move(*policy));
  base::Errors errors = engine::CheckPolicy(*policy);
  if (errors.empty()) return policy;
  const std::string source = file.empty() ? "policy" : file;
  for (Error& error : errors)
    error.where = error.where.empty() ? source : source + ": " + error.where;
  return errors;
}

void AddTraceOptions(CLI::App& app, TraceInput& input) {
  constexpr const char* kGroup = "Trace";
  std::vector<std::string> names;
  for (const format::TraceFormat& each : format::TraceFormats()) names.emplace_back(each.name);
  app.add_option("--trace", input.file, "jobs with their times; may be gzipped")
      ->required()
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--trace-format", input.format, base::Join(names, ", ") + "; default: recognised")
      ->type_name("FORMAT")
      ->group(kGroup);
  app.add_option("--queue", input.queues, "only jobs of this queue or virtual cluster")
      ->type_name("NAME")
      ->group(kGroup);
  app.add_flag("--one-queue", input.one_queue, "put all jobs into the default queue")
      ->group(kGroup);
  app.add_option("--from", input.from,
                 "only jobs submitted this long after the start of the trace, or later")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--before", input.until, "only jobs submitted before this")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--first", input.limit, "only the first N jobs")
      ->type_name("N")
      ->check(Quietly(CLI::NonNegativeNumber))
      ->group(kGroup);
  app.add_flag("--time-limits", input.time_limits, "swf: the time asked for is enforced")
      ->group(kGroup);
  app.add_flag("--copied-estimates", input.copied_estimates,
               "helios: take the time limits, which are copies of the run times, as estimates")
      ->group(kGroup);
}

base::Checked<model::Workload> LoadTrace(const TraceInput& input, std::int32_t gpus_per_node) {
  format::TraceOptions options{.format = input.format,
                               .gpus_per_node = std::max(1, gpus_per_node),
                               .queues = input.queues,
                               .one_queue = input.one_queue,
                               .limit = input.limit,
                               .requested_time_limits = input.time_limits,
                               .copied_estimates = input.copied_estimates};
  const auto from = ParseDurationOption(input.from, "--from");
  if (!from) return from.error();
  options.from = *from;
  if (!input.until.empty()) {
    const auto until = ParseDurationOption(input.until, "--before");
    if (!until) return until.error();
    options.until = *until;
  }
  const auto text = format::ReadFile(input.file);
  if (!text) return text.error();
  return format::ReadTrace(*text, input.file, options);
}

base::Checked<sim::ClusterEvents> LoadEvents(const std::string& file) {
  sim::ClusterEvents events;
  if (file.empty()) return events;
  const auto text = format::ReadFile(file);
  if (!text) return text.error();
  base::Errors errors;
  int line = 0;
  for (const std::string_view raw : base::Split(*text, '\n')) {
    ++line;
    const std::string_view row = base::Trim(raw);
    if (row.empty() || row.starts_with('#') || (line == 1 && row == "at,node,event")) continue;
    const auto cells = base::Split(row, ',');
    const std::string where = Format("{}:{}", file, line);
    if (cells.size() != 3) {
      errors.push_back(
          {ErrorCode::kInvalid, "a row is at,node,event, such as 2h,node-00017,down", where});
      continue;
    }
    const auto at = ParseTime(base::Trim(cells[0]));
    const auto kind = sim::ParseClusterEventKind(base::Trim(cells[2]));
    if (!at) errors.push_back({ErrorCode::kInvalid, at.error().message, where + ": at"});
    if (!kind) {
      errors.push_back({ErrorCode::kInvalid,
                        Format("{} is not down, up, cordon, drain, remove or add", Quote(cells[2])),
                        where + ": event"});
    }
    if (at && kind)
      events.push_back({base::Instant{} + *at, std::string(base::Trim(cells[1])), *kind});
  }
  if (!errors.empty()) return errors;
  return events;
}

ExitCode Fail(const base::Errors& errors, Streams& streams) {
  for (std::size_t i = 0; i < std::min(errors.size(), kMostShown); ++i) {
    streams.err << "muster: " << errors[i].ToString() << '\n';
  }
  if (errors.size() > kMostShown) {
    streams.err << Format("muster: and {} more\n", errors.size() - kMostShown);
  }
  if (errors.empty()) return ExitCode::kFailed;
  // A fault that an option names is one of the command line.
  if (errors.front().where.starts_with("--")) return ExitCode::kUsage;
  return ExitCodeFor(errors.front().code);
}

ExitCode Fail(const base::Error& error, Streams& streams) {
  return Fail(base::Errors{error}, streams);
}

base::Result<base::Duration> ParseDurationOption(const std::string& text, std::string_view option) {
  if (text.empty()) return base::Duration{};
  auto parsed = ParseTime(text);
  if (!parsed) return Error{ErrorCode::kInvalid, parsed.error().message, std::string(option)};
  return parsed;
}

}  // namespace muster::cli
