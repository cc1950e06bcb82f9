// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/validators.h"
#include "format/events_csv.h"
#include "format/file.h"
#include "format/parse.h"
#include "format/policy_document.h"
#include "format/trace/trace.h"
#include "format/yaml.h"
#include "sim/site_policy.h"

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

/// What names may be meant by `key` in a list of named items.
Error NoItem(const Value& list, std::string_view key) {
  std::vector<std::string_view> names;
  for (const Value& item : list.items) {
    if (const Value* own = item.Find("name")) names.push_back(own->text);
  }
  const std::string_view near = base::Nearest(key, names);
  std::vector<std::string> all(names.begin(), names.end());
  return {ErrorCode::kInvalid,
          Format("no queue {}; {}", Quote(key),
                 near.empty() ? Format("there are {}", base::Join(all, ", "))
                              : Format("did you mean {}?", Quote(near))),
          "--set"};
}

/// Where a path leads in a policy document, made on the way: a name picks the list item of that
/// name.
base::Result<Value*> Descend(Value& at, std::string_view key, bool into_list) {
  if (into_list) {
    if (at.kind != Value::Kind::kList || at.items.empty())
      at = format::List({format::Map({{"name", format::Text("default"), {}}})});
    if (Value* item = FindNamed(at, key)) return item;
    return NoItem(at, key);
  }
  if (at.kind != Value::Kind::kMap) at = format::Map();
  if (Value* value = FindKey(at, key)) return value;
  at.Add(std::string(key), Value{});
  return &at.entries.back().value;
}

/// Without places: they would be those in another text.
Value Unplaced(Value value) {
  value.at = {};
  for (Value& item : value.items) item = Unplaced(std::move(item));
  for (format::Entry& entry : value.entries) {
    entry.at = {};
    entry.value = Unplaced(std::move(entry.value));
  }
  return value;
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
  const auto keys = base::Split(std::string_view(setting).substr(0, equals), '.');
  if (keys.size() > format::kMaxDepth) {
    return Error{
        ErrorCode::kInvalid,
        Format("{} is {} keys deep; at most {}", Quote(setting), keys.size(), format::kMaxDepth),
        "--set"};
  }
  Value* at = &document;
  std::string_view parent;
  for (const std::string_view key : keys) {
    const auto below = Descend(*at, key, parent == "queues");
    if (!below) return below.error();
    at = *below;
    parent = key;
  }
  *at = value->documents.empty() ? Value{} : Unplaced(value->documents.front());
  return {};
}

base::Checked<model::Policy> ParseWithSettings(const std::string& file, const std::string& text,
                                               const std::vector<std::string>& settings,
                                               const format::PolicyRules& rules) {
  const std::string name = file.empty() ? "policy" : file;
  auto parsed = format::ParseOneDocument(text, name, format::DocumentKind::kPolicy);
  if (!parsed) return parsed.error();
  for (const std::string& setting : settings) {
    if (const auto status = Set(setting, parsed->documents.front()); !status) return status.error();
  }
  return format::DecodePolicy(*std::move(parsed), settings.empty() ? name : name + " with --set",
                              rules);
}

}  // namespace

void AddSettingOption(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option(
         "--set", settings,
         "set a key of the policy: placement.strategy=random, queues.default.blocking=strict")
      ->type_name("KEY=VALUE");
}

std::string PolicyLabel(const std::string& file, const std::vector<std::string>& settings) {
  const std::string name = file.empty() ? "default" : file.substr(file.rfind('/') + 1);
  return base::Printable(settings.empty() ? name : name + " with " + base::Join(settings, ", "));
}

base::Checked<model::Policy> LoadPolicy(const std::string& file,
                                        const std::vector<std::string>& settings,
                                        const model::Cluster* cluster) {
  std::string text = "apiVersion: muster/v1\nkind: Policy\n";
  if (!file.empty()) {
    auto read = format::ReadFile(file);
    if (!read) return read.error();
    text = std::move(*read);
  }
  const auto rules = [cluster](const model::Policy& policy) {
    if (cluster == nullptr) return sim::CheckPolicyAlone(policy);
    auto complete = sim::CompletePolicy(policy, *cluster);
    return complete ? base::Errors{} : std::move(complete.error());
  };
  auto policy = ParseWithSettings(file, text, settings, rules);
  if (!policy) return policy;
  if (cluster != nullptr) return sim::CompletePolicy(*std::move(policy), *cluster);
  return model::WithDefaults(*std::move(policy));
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
      ->check(Quietly(CLI::IsMember(names)))
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
    if (*until <= *from) {
      return Error{ErrorCode::kInvalid,
                   Format("{} is not after --from {}; no job can be submitted in between",
                          Quote(input.until), base::FormatDuration(*from)),
                   "--before"};
    }
  }
  const auto text = format::ReadFile(input.file);
  if (!text) return text.error();
  return format::ReadTrace(*text, input.file, options);
}

base::Checked<model::ClusterEvents> LoadEvents(const std::string& file) {
  if (file.empty()) return model::ClusterEvents{};
  const auto text = format::ReadFile(file);
  if (!text) return text.error();
  return format::ReadEvents(*text, file);
}

ExitCode Fail(const base::Errors& errors, Streams& streams) {
  for (std::size_t i = 0; i < std::min(errors.size(), kMostShown); ++i) {
    streams.err << "muster: " << base::Printable(errors[i].ToString()) << '\n';
  }
  if (errors.size() > kMostShown) {
    streams.err << Format("muster: and {} more\n", errors.size() - kMostShown);
  }
  if (errors.empty()) return ExitCode::kFailed;
  // A fault that an option names is one of the command line; what cannot be found, read or written
  // is a file, even one of such a name.
  if (errors.front().where.starts_with("--") && errors.front().code == ErrorCode::kInvalid)
    return ExitCode::kUsage;
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
