// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "cli/validators.h"
#include "cli/verbs/all.h"
#include "format/trace/trace.h"
#include "model/cluster.h"

namespace muster::cli {
namespace {

struct Options {
  TraceInput trace;
  std::int32_t gpus_per_node = 8;
  std::string output;
};

ExitCode Run(const Options& options, Streams& streams) {
  const auto workload = LoadTrace(options.trace, options.gpus_per_node);
  if (!workload) return Fail(workload.error(), streams);
  const ExitCode code = WriteOutput(options.output, format::WriteTrace(*workload), streams);
  if (code != ExitCode::kDone || options.output.empty()) return code;
  streams.out << base::Format("{}: {} jobs\n", options.output,
                              WithCommas(static_cast<std::int64_t>(workload->jobs.size())));
  for (const std::string& note : workload->notes) streams.out << "note: " << note << '\n';
  return code;
}

}  // namespace

void AddSimImport(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  AddTraceOptions(app, options->trace);
  app.add_option("--gpus-per-node", options->gpus_per_node,
                 "a larger job becomes whole nodes of that many GPUs")
      ->check(Quietly(CLI::Range(1, model::kMaxDevicesPerNode)))
      ->capture_default_str()
      ->type_name("N");
  AddOutputOption(app, options->output);
  OnRun(app, context, [options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
