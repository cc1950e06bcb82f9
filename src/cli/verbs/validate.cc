// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/validators.h"
#include "cli/verbs/all.h"
#include "format/cluster_document.h"
#include "format/file.h"
#include "format/job_document.h"
#include "format/json.h"
#include "format/parse.h"

namespace muster::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string schema;
};

/// The faults of a file, whatever kind of document it says it is.
base::Errors Faults(const std::string& file) {
  const auto text = format::ReadFile(file);
  if (!text) return {text.error()};
  const auto kind = format::DetectKind(*text, file);
  if (!kind) return {kind.error()};
  switch (*kind) {
    case format::DocumentKind::kJob: {
      const auto jobs = format::ParseJobs(*text, file);
      return jobs ? base::Errors{} : jobs.error();
    }
    case format::DocumentKind::kCluster: {
      const auto cluster = format::ParseCluster(*text, file);
      return cluster ? base::Errors{} : cluster.error();
    }
    case format::DocumentKind::kPolicy:
      break;
  }
  const auto policy = LoadPolicy(file, {});
  return policy ? base::Errors{} : policy.error();
}

ExitCode Run(const Options& options, Streams& streams) {
  if (!options.schema.empty()) {
    const bool job = options.schema == "job";
    streams.out << format::WriteJson(job ? format::JobSchema() : format::ClusterSchema());
    return ExitCode::kDone;
  }
  if (options.files.empty()) {
    return Fail({base::ErrorCode::kInvalid, "give one or more files", "--"}, streams);
  }
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : options.files) {
    const base::Errors errors = Faults(file);
    if (errors.empty()) {
      streams.out << file << ": valid\n";
      continue;
    }
    const ExitCode failed = Fail(errors, streams);
    if (code == ExitCode::kDone) code = failed;
  }
  return code;
}

}  // namespace

void AddValidate(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  app.add_option("files", options->files, "job, cluster and policy files (YAML or JSON)")
      ->type_name("FILE");
  app.add_option("--schema", options->schema,
                 "print the JSON Schema of job or cluster files instead")
      ->check(Quietly(CLI::IsMember({"job", "cluster"})))
      ->type_name("KIND");
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
