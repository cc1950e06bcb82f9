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
#include "format/policy_document.h"
#include "format/trace/trace.h"

namespace muster::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string schema;
  std::string reference;
  std::string format;
};

/// The faults of a file, whatever kind of document it says it is.
base::Errors Faults(const std::string& file) {
  const auto text = format::ReadFile(file);
  if (!text) return {text.error()};
  for (const format::TraceFormat& trace : format::TraceFormats()) {
    if (!trace.looks_like(*text)) continue;
    return {{base::ErrorCode::kInvalid,
             base::Format("this looks like a trace ({}), not a document; `muster sim run --trace` "
                          "reads and checks it",
                          trace.name),
             file}};
  }
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
  const auto policy = LoadPolicy(file, {}, nullptr);
  return policy ? base::Errors{} : policy.error();
}

format::Value Judgement(const std::string& file, const base::Errors& errors) {
  format::Value out = format::Map();
  out.Add("file", format::Text(file));
  out.Add("valid", format::Plain(errors.empty() ? "true" : "false"));
  format::Value faults = format::List();
  for (const base::Error& error : errors) {
    format::Value fault = format::Map();
    fault.Add("where", format::Text(error.where));
    fault.Add("message", format::Text(error.message));
    faults.items.push_back(std::move(fault));
  }
  out.Add("faults", std::move(faults));
  return out;
}

ExitCode Run(const Options& options, Streams& streams) {
  if (!options.schema.empty()) {
    streams.out << format::WriteJson(options.schema == "job"       ? format::JobSchema()
                                     : options.schema == "cluster" ? format::ClusterSchema()
                                                                   : format::PolicySchema());
    return ExitCode::kDone;
  }
  if (!options.reference.empty()) {
    streams.out << (options.reference == "job"       ? format::JobReference()
                    : options.reference == "cluster" ? format::ClusterReference()
                                                     : format::PolicyReference());
    return ExitCode::kDone;
  }
  if (options.files.empty()) {
    streams.err << "muster: give one or more files\nSee: muster validate --help\n";
    return ExitCode::kUsage;
  }
  ExitCode code = ExitCode::kDone;
  format::Value list = format::List();
  for (const std::string& file : options.files) {
    const base::Errors errors = Faults(file);
    if (options.format == "json") {
      list.items.push_back(Judgement(file, errors));
      if (code == ExitCode::kDone && !errors.empty()) code = ExitCodeFor(errors.front().code);
      continue;
    }
    if (errors.empty()) {
      streams.out << file << ": valid\n";
      continue;
    }
    const ExitCode failed = Fail(errors, streams);
    if (code == ExitCode::kDone) code = failed;
  }
  if (options.format == "json") streams.out << format::WriteJson(list);
  return code;
}

}  // namespace

void AddValidate(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  app.add_option("files", options->files, "job, cluster and policy files (YAML or JSON)")
      ->type_name("FILE");
  auto* schema = app.add_option("--schema", options->schema,
                                "print the JSON Schema of job, cluster or policy files instead")
                     ->check(Quietly(CLI::IsMember({"job", "cluster", "policy"})))
                     ->type_name("KIND");
  app.add_option("--reference", options->reference,
                 "print every key of job, cluster or policy files, as Markdown, instead")
      ->check(Quietly(CLI::IsMember({"job", "cluster", "policy"})))
      ->type_name("KIND")
      ->excludes(schema);
  AddFormatOption(app, options->format, {"text", "json"});
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
