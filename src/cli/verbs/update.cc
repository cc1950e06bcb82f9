// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"
#include "format/json.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  std::string job;
  std::string priority_class;
};

ExitCode Run(const Options& options, Streams& streams) {
  const auto job = ParseJobNumber(options.job);
  if (!job) return Fail(job.error(), streams);
  if (options.priority_class.empty()) {
    streams.err << "muster: nothing to change; give --class\nSee: muster update --help\n";
    return ExitCode::kUsage;
  }
  format::Value change = format::Map();
  change.Add("priorityClass", format::Text(options.priority_class));
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto done = server.Call("PATCH", "/v1/jobs/" + *job, format::WriteJson(change));
    if (!done) return Fail(done.error(), streams);
    streams.out << base::Format("job {} is of class {}\n", *job,
                                base::Printable(options.priority_class));
    return ExitCode::kDone;
  });
}

}  // namespace

void AddUpdate(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Word("job", options->job, Arguments::Need::kRequired, "number of the job");
  arguments.Text("--class", options->priority_class, "NAME", "its priority class from now on");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
