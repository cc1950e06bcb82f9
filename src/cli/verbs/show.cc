// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/jobs.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

/// A verb that prints one document about one job.
void AddAboutJob(CLI::App& app, Context& context, const char* below, const TextOf& text) {
  struct Options {
    ClientOptions client;
    std::string job;
  };
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Word("job", options->job, Arguments::Need::kRequired, "number of the job");
  AddClientOptions(arguments, options->client, kObjectFormats);
  arguments.OnRun([options, below, text](Streams& streams) {
    const auto job = ParseJobNumber(options->job);
    if (!job) return Fail(job.error(), streams);
    return GetAndPrint(options->client, "/v1/jobs/" + *job + below, "", text, streams);
  });
}

}  // namespace

void AddShow(CLI::App& app, Context& context) { AddAboutJob(app, context, "", &RenderJob); }
void AddWhy(CLI::App& app, Context& context) { AddAboutJob(app, context, "/why", &RenderWhy); }

}  // namespace muster::cli
