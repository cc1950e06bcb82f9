// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"
#include "format/json.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  std::string reason;
};

ExitCode Run(bool paused, const Options& options, Streams& streams) {
  format::Value body = format::Map();
  body.Add("paused", format::Plain(paused ? "true" : "false"));
  if (!options.reason.empty()) body.Add("reason", format::Text(options.reason));
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto done = server.Post("/v1/pause", format::WriteJson(body));
    if (!done) return Fail(done.error(), streams);
    streams.out << (paused ? "starts are paused; what runs goes on\n" : "jobs start again\n");
    return ExitCode::kDone;
  });
}

void AddStarts(CLI::App& app, Context& context, bool paused) {
  const Arguments arguments =
      Arguments(app, context)
          .Command("starts", paused ? "start no job until they are resumed" : "start jobs again");
  const auto options = std::make_shared<Options>();
  if (paused) arguments.Text("--reason", options->reason, "TEXT", "why, for all who ask");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options, paused](Streams& streams) { return Run(paused, *options, streams); });
}

}  // namespace

void AddPause(CLI::App& app, Context& context) { AddStarts(app, context, true); }
void AddResume(CLI::App& app, Context& context) { AddStarts(app, context, false); }

}  // namespace muster::cli
