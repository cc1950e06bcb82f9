// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/sim_report.h"
#include "cli/validators.h"
#include "cli/verbs/all.h"
#include "format/json.h"
#include "format/yaml.h"
#include "sim/compare.h"

namespace muster::cli {
namespace {

/// Most runs of one comparison, contenders times seeds: results of all runs are kept until the end.
constexpr std::size_t kMostRuns = 64;

struct Options {
  ClusterOptions cluster;
  TraceInput trace;
  RunOptions run;
  std::vector<std::string> policies;
  std::string strategies;
  std::string vary;
  std::vector<std::string> settings;
  std::int64_t seeds = 1;
  std::string format;
  std::string output;
};

struct Plan {
  std::string name;
  model::Policy policy;
};

/// "strict.yaml", with as much of its path as tells it from the others.
std::string ShortName(const std::vector<std::string>& files, const std::string& file) {
  if (file.empty()) return PolicyLabel(file, {});
  for (std::size_t slash = file.rfind('/'); slash != std::string::npos && slash > 0;
       slash = file.rfind('/', slash - 1)) {
    const std::string tail = file.substr(slash);
    const bool unique = std::ranges::none_of(files, [&](const std::string& other) {
      return other != file && ('/' + other).ends_with(tail);
    });
    if (unique) return tail.substr(1);
  }
  return file;
}

/// Every policy file with every value of the key that is varied.
base::Checked<std::vector<Plan>> MakePlans(const Options& options, const model::Cluster& cluster) {
  const std::string vary =
      options.strategies.empty() ? options.vary : "placement.strategy=" + options.strategies;
  std::vector<std::vector<std::string>> variants;
  std::vector<std::string> names;
  const std::size_t equals = vary.find('=');
  if (vary.empty()) {
    variants.push_back(options.settings);
    names.emplace_back();
  } else if (equals == std::string::npos) {
    return base::Error{base::ErrorCode::kInvalid,
                       base::Format("{} is not KEY=VALUE,VALUE", base::Quote(vary)), "--vary"};
  } else {
    for (const std::string_view value :
         base::Split(std::string_view(vary).substr(equals + 1), ',')) {
      variants.push_back(options.settings);
      variants.back().push_back(vary.substr(0, equals + 1) + std::string(value));
      names.emplace_back(value);
    }
  }
  std::vector<std::string> files = options.policies;
  if (files.empty()) files.emplace_back();
  std::vector<Plan> plans;
  for (const std::string& file : files) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      auto policy = LoadPolicy(file, variants[i], &cluster);
      if (!policy) return policy.error();
      const std::string base = files.size() > 1 || names[i].empty() ? ShortName(files, file) : "";
      plans.push_back(
          {base + (base.empty() || names[i].empty() ? "" : " ") + names[i], std::move(*policy)});
    }
  }
  if (plans.size() < 2) {
    return base::Error{base::ErrorCode::kInvalid,
                       "give two policies (--policy A --policy B) or values of one key (--strategy "
                       "topology,random, or --vary KEY=A,B)",
                       "--policy"};
  }
  if (plans.size() * static_cast<std::size_t>(options.seeds) > kMostRuns) {
    return base::Error{base::ErrorCode::kInvalid,
                       base::Format("more than {} runs; that is the limit", kMostRuns), "--seeds"};
  }
  return plans;
}

std::string Render(const Options& options, const sim::Comparison& comparison,
                   const std::string& source, const std::string& cluster, bool colour) {
  if (options.format == "csv") return ComparisonCsv(comparison);
  if (options.format == "text") return ComparisonText(comparison, source, cluster, colour);
  const format::Value document = ComparisonDocument(comparison, source, cluster);
  return options.format == "json" ? format::WriteJson(document) : format::WriteYaml(document);
}

ExitCode Run(const Options& options, Streams& streams) {
  auto simulation = LoadRunOptions(options.run);
  if (!simulation) return Fail(simulation.error(), streams);
  const auto cluster = LoadCluster(options.cluster);
  if (!cluster) return Fail(cluster.error(), streams);
  const auto plans = MakePlans(options, *cluster);
  if (!plans) return Fail(plans.error(), streams);
  const auto workload = LoadTrace(options.trace, LargestNode(*cluster));
  if (!workload) return Fail(workload.error(), streams);

  std::vector<sim::Contender> contenders;
  {
    ProgressLine progress(streams, options.run.progress);
    simulation->progress = progress.Callback();
    for (const Plan& plan : *plans) {
      sim::Contender& contender = contenders.emplace_back(sim::Contender{plan.name, {}});
      for (std::int64_t i = 0; i < options.seeds; ++i) {
        simulation->seed = options.run.seed + static_cast<std::uint64_t>(i);
        progress.SetTitle(base::Format("{}, seed {}", plan.name, simulation->seed));
        auto result = sim::Simulate(*cluster, *workload, plan.policy, *simulation);
        if (!result) return Fail(result.error(), streams);
        contender.runs.push_back(std::move(*result));
      }
    }
  }
  const sim::Comparison comparison = sim::Compare(*workload, contenders, options.run.seed);
  const bool colour = streams.out_is_terminal && options.output.empty();
  const std::string text =
      Render(options, comparison, workload->source, ClusterLabel(*cluster), colour);
  return WriteOutput(options.output, text, streams);
}

}  // namespace

void AddSimCompare(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  AddTraceOptions(app, options->trace);
  AddClusterOptions(app, options->cluster);
  app.add_option("--policy", options->policies, "a policy file; give two or more")
      ->type_name("FILE");
  auto* strategy = app.add_option("--strategy", options->strategies,
                                  "placement strategies, of topology, first-fit, spread and random")
                       ->type_name("A,B");
  app.add_option("--vary", options->vary,
                 "values of one key: queues.default.blocking=strict,bypass")
      ->type_name("KEY=A,B")
      ->excludes(strategy);
  AddSettingOption(app, options->settings);
  app.add_option("--seeds", options->seeds, "run with this many seeds, from --seed on")
      ->check(Quietly(CLI::Range(1, 64)))
      ->capture_default_str()
      ->type_name("N");
  AddRunOptions(app, options->run);
  AddFormatOption(app, options->format, {"text", "json", "yaml", "csv"});
  AddOutputOption(app, options->output);
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
