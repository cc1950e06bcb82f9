// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  LogChoice log;
  bool follow = false;
};

ExitCode Run(Options options, Streams& streams) {
  const auto job = ParseJobNumber(options.log.job);
  if (!job) return Fail(job.error(), streams);
  options.log.job = *job;
  return WithServer(options.client, streams, [&](Connection& server) {
    const base::Errors errors = options.follow ? FollowLog(server, options.log, streams)
                                               : CopyLog(server, options.log, streams);
    return errors.empty() ? ExitCode::kDone : Fail(errors, streams);
  });
}

}  // namespace

void AddLogs(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Word("job", options->log.job, Arguments::Need::kRequired, "number of the job");
  arguments.Number("--rank", options->log.rank, {.max = INT32_MAX}, "of this replica; default 0");
  arguments.Number("--attempt", options->log.attempt, {.min = 1, .max = UINT32_MAX},
                   "of this start; default: the latest");
  arguments.Number("--tail,-n", options->log.last_lines, {}, "only the last lines");
  arguments.Flag("--follow,-f", options->follow, "go on until the attempt has ended");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
