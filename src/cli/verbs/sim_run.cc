// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/sim_report.h"
#include "cli/verbs/all.h"
#include "format/json.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

struct Options {
  ClusterOptions cluster;
  TraceInput trace;
  RunOptions run;
  std::string policy;
  std::vector<std::string> settings;
  std::vector<std::string> explain;
  std::string format;
  std::string output;
};

/// Indices of the jobs of these names, and the names that no job has.
struct FoundJobs {
  std::vector<std::size_t> jobs;
  base::Errors unknown;
};
FoundJobs FindJobs(const model::Workload& workload, const std::vector<std::string>& names) {
  FoundJobs out;
  for (const std::string& name : names) {
    const auto job = std::ranges::find(workload.jobs, name, &model::TraceJob::name);
    if (job == workload.jobs.end()) {
      out.unknown.push_back({base::ErrorCode::kNotFound,
                             base::Format("the trace has no job {}", base::Quote(name)), ""});
    } else {
      out.jobs.push_back(static_cast<std::size_t>(job - workload.jobs.begin()));
    }
  }
  return out;
}

std::string Render(const Options& options, const model::Workload& workload,
                   const sim::SimulationResult& result, const RunLabels& labels, bool colour) {
  if (options.format == "csv") return JobsCsv(workload, result);
  const sim::Report report = sim::Summarize(workload, result);
  if (options.format != "text") {
    format::Value document = ReportDocument(report, labels);
    if (!result.explained.empty()) document.Add("explained", ExplainedValue(workload, result));
    return options.format == "json" ? format::WriteJson(document) : format::WriteYaml(document);
  }
  std::string out = ReportText(report, labels, colour);
  for (const sim::Explained& each : result.explained) {
    out += '\n' + ExplanationText(workload.jobs[each.job].name, each.explanation);
  }
  return out;
}

ExitCode Run(const Options& options, Streams& streams) {
  if (!options.explain.empty() && options.format == "csv") {
    return Fail(
        {base::ErrorCode::kInvalid,
         "a CSV of the jobs has no place for explanations; take text, json or yaml", "--explain"},
        streams);
  }
  auto simulation = LoadRunOptions(options.run);
  if (!simulation) return Fail(simulation.error(), streams);
  const auto cluster = LoadCluster(options.cluster);
  if (!cluster) return Fail(cluster.error(), streams);
  const auto policy = LoadPolicy(options.policy, options.settings, &*cluster);
  if (!policy) return Fail(policy.error(), streams);
  const auto workload = LoadTrace(options.trace, LargestNode(*cluster));
  if (!workload) return Fail(workload.error(), streams);
  const FoundJobs explain = FindJobs(*workload, options.explain);
  simulation->explain = explain.jobs;

  base::Checked<sim::SimulationResult> result;
  {
    ProgressLine progress(streams, options.run.progress);
    progress.SetTitle("sim run");
    simulation->progress = progress.Callback();
    result = sim::Simulate(*cluster, *workload, *policy, *simulation);
  }
  if (!result) return Fail(result.error(), streams);
  result->notes.insert(result->notes.begin(), cluster->notes.begin(), cluster->notes.end());
  const RunLabels labels{.cluster = ClusterLabel(*cluster),
                         .policy = PolicyLabel(options.policy, options.settings),
                         .seed = options.run.seed};
  const bool colour = streams.out_is_terminal && options.output.empty();
  const ExitCode written =
      WriteOutput(options.output, Render(options, *workload, *result, labels, colour), streams);
  if (explain.unknown.empty()) return written;
  const ExitCode unknown = Fail(explain.unknown, streams);
  return written == ExitCode::kDone ? unknown : written;
}

}  // namespace

void AddSimRun(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  AddTraceOptions(app, options->trace);
  AddClusterOptions(app, options->cluster);
  app.add_option("--policy", options->policy, "policy file; default: the built-in policy")
      ->type_name("FILE");
  AddSettingOption(app, options->settings);
  AddRunOptions(app, options->run);
  app.add_option("--explain", options->explain, "tell why this job did not start when it arrived")
      ->type_name("JOB");
  AddFormatOption(app, options->format, {"text", "json", "yaml", "csv"});
  AddOutputOption(app, options->output);
  app.footer("The least to type:  muster sim run --trace jobs.swf --cluster site.yaml");
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
