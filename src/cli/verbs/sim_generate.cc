// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/units.h"
#include "cli/inputs.h"
#include "cli/validators.h"
#include "cli/verbs/all.h"
#include "format/trace/trace.h"
#include "sim/generate.h"

namespace muster::cli {
namespace {

struct Options {
  ClusterOptions cluster;
  std::string profile = "demo";
  std::int64_t jobs = 1000;
  std::uint64_t seed = 1;
  std::string load = "0.9";
  bool estimates = false;
  std::string output;
};

ExitCode Run(const Options& options, Streams& streams) {
  const auto cluster = LoadCluster(options.cluster);
  if (!cluster) return Fail(cluster.error(), streams);
  const auto load = base::ParseDecimal(options.load, 1000);
  if (!load || *load < 1 || *load > 100'000) {
    return Fail({base::ErrorCode::kInvalid,
                 base::Format(
                     "{} is not a load from 0.001 to 100 with at most three digits after the point",
                     base::Quote(options.load)),
                 "--load"},
                streams);
  }
  const std::int64_t gpus = TotalGpus(*cluster);
  if (gpus == 0) {
    return Fail(
        {base::ErrorCode::kInvalid, "the cluster has no GPUs; the profiles are of GPU jobs", ""},
        streams);
  }
  const base::Result<model::Workload> workload =
      sim::TryGenerate(*sim::FindProfile(options.profile), {.jobs = options.jobs,
                                                            .seed = options.seed,
                                                            .cluster_gpus = gpus,
                                                            .gpus_per_node = LargestNode(*cluster),
                                                            .load_permille = *load,
                                                            .estimates = options.estimates});
  if (!workload) return Fail(workload.error(), streams);
  return WriteOutput(options.output, format::WriteTrace(*workload), streams);
}

}  // namespace

void AddSimGenerate(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  std::string help = "one of:";
  for (const sim::Profile& profile : sim::Profiles()) {
    names.emplace_back(profile.name);
    help += base::Format("\n{}: {}", profile.name, profile.summary);
  }
  app.add_option("--profile", options->profile, help)
      ->check(Quietly(CLI::IsMember(names)))
      ->capture_default_str()
      ->type_name("NAME");
  app.add_option("--jobs", options->jobs, "how many")
      ->check(Quietly(CLI::Range(1, 10'000'000)))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--seed", options->seed, "another seed, other jobs of the same kind")
      ->check(SeedNumber())
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--load", options->load,
                 "GPU time asked for over GPU time there, while jobs arrive")
      ->capture_default_str()
      ->type_name("PART");
  app.add_flag("--estimates", options->estimates,
               "users say how long they will run, as wrongly as they do");
  AddClusterOptions(app, options->cluster);
  AddOutputOption(app, options->output);
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
