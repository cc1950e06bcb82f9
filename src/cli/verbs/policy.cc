// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"
#include "format/json.h"
#include "format/policy_document.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

struct ShowOptions {
  bool defaults = false;
  bool schema = false;
  bool reference = false;
  std::string file;
  std::vector<std::string> settings;
  std::string format;
};

ExitCode Show(const ShowOptions& options, Streams& streams) {
  if (options.reference) {
    streams.out << format::PolicyReference();
    return ExitCode::kDone;
  }
  if (options.schema) {
    streams.out << format::WriteJson(format::PolicySchema());
    return ExitCode::kDone;
  }
  const auto policy = LoadPolicy(options.file, options.settings, nullptr);
  if (!policy) return Fail(policy.error(), streams);
  const format::Value document =
      options.defaults ? format::EncodeWholePolicy(*policy) : format::EncodePolicy(*policy);
  if (options.format == "json") {
    streams.out << format::WriteJson(document);
    return ExitCode::kDone;
  }
  streams.out << format::WriteYaml(document);
  if (!options.defaults) return ExitCode::kDone;
  streams.out << "\n# Keys that are not shown above; this version refuses the planned ones:\n";
  for (const std::string& line : format::OtherPolicyKeys(*policy))
    streams.out << "# " << line << '\n';
  return ExitCode::kDone;
}

ExitCode Validate(const std::string& file, Streams& streams) {
  if (const auto policy = LoadPolicy(file, {}, nullptr); !policy)
    return Fail(policy.error(), streams);
  streams.out << file << ": valid\n";
  return ExitCode::kDone;
}

}  // namespace

void AddPolicy(CLI::App& app, Context& context) {
  CLI::App* show = app.add_subcommand("show", "the policy that a file and settings come to");
  const auto options = std::make_shared<ShowOptions>();
  auto* defaults =
      show->add_flag("--defaults", options->defaults,
                     "every key with its default, and, in YAML, the planned keys as comments");
  auto* schema =
      show->add_flag("--schema", options->schema, "the JSON Schema of policy files, for editors");
  auto* reference =
      show->add_flag("--reference", options->reference, "every key of a policy file, as Markdown");
  auto* file = show->add_option("--policy", options->file, "policy file")->type_name("FILE");
  schema->excludes(defaults)->excludes(file)->excludes(reference);
  reference->excludes(defaults)->excludes(file);
  defaults->excludes(file);
  AddSettingOption(*show, options->settings);
  AddFormatOption(*show, options->format, {"yaml", "json"});
  OnRun(*show, context, [options](Streams& streams) { return Show(*options, streams); });

  CLI::App* validate =
      app.add_subcommand("validate", "check a policy file; every fault with line and column");
  const auto path = std::make_shared<std::string>();
  validate->add_option("file", *path, "policy file")->required()->type_name("FILE");
  OnRun(*validate, context, [path](Streams& streams) { return Validate(*path, streams); });
  AddPolicyApply(app, context);
}

}  // namespace muster::cli
