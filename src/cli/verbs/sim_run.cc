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

/// Indices of the jobs of these names.
base::Checked<std::vector<std::size_t>> FindJobs(const model::Workload& workload,
                                                 const std::vector<std::string>& names) {
  std::vector<std::size_t> out;
  for (const std::string& name : names) {
    const auto job = std::ranges::find(workload.jobs, name, &model::TraceJob::name);
    if (job == workload.jobs.end()) {
      return base::Error{base::ErrorCode::kNotFound,
                         base::Format("the trace has no job {}", base::Quote(name)), ""};
    }
    out.push_back(static_cast<std::size_t>(job - workload.jobs.begin()));
  }
  return out;
}

std::string Render(const Options& options, const model::Workload& workload,
                   const sim::SimulationResult& result, const RunLabels& labels, bool colour) {
  if (options.format == "csv") return JobsCsv(workload, result);
  const sim::Report report = sim::Summarize(workload, result);
  if (options.format == "json") return format::WriteJson(ReportDocument(report, labels));
  if (options.format == "yaml") return format::WriteYaml(ReportDocument(report, labels));
  std::string out = ReportText(report, labels, colour);
  for (const sim::Explained& each : result.explained) {
    out += '\n' + ExplanationText(workload.jobs[each.job].name, each.explanation);
  }
  return out;
}

ExitCode Run(const Options& options, Streams& streams) {
  auto simulation = LoadRunOptions(options.run);
  if (!simulation) return Fail(simulation.error(), streams);
  const auto cluster = LoadCluster(options.cluster);
  if (!cluster) return Fail(cluster.error(), streams);
  const auto policy = LoadPolicy(options.policy, options.settings);
  if (!policy) return Fail(policy.error(), streams);
  const auto workload = LoadTrace(options.trace, LargestNode(*cluster));
  if (!workload) return Fail(workload.error(), streams);
  const auto explain = FindJobs(*workload, options.explain);
  if (!explain) return Fail(explain.error(), streams);
  simulation->explain = *explain;

  base::Checked<sim::SimulationResult> result;
  {
    ProgressLine progress(streams, options.run.progress);
    progress.SetTitle("sim run");
    simulation->progress = progress.Callback();
    result = sim::Simulate(*cluster, *workload, *policy, *simulation);
  }
  if (!result) return Fail(result.error(), streams);
  const RunLabels labels{.cluster = ClusterLabel(*cluster),
                         .policy = PolicyLabel(options.policy, options.settings),
                         .seed = options.run.seed};
  const bool colour = streams.out_is_terminal && options.output.empty();
  return WriteOutput(options.output, Render(options, *workload, *result, labels, colour), streams);
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
