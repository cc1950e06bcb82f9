// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "cli/render/jobs.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

constexpr std::size_t kEndedShown = 20;

struct Options {
  ClientOptions client;
  JobFilter filter;
  bool mine = false;
  bool all = false;
  std::optional<std::int64_t> limit;
};

ExitCode Run(Options options, Streams& streams) {
  if (options.mine) options.filter.user = ReadEnvironment().user;
  if (options.all) options.filter.ended = kEndedShown;
  if (options.limit) {
    options.filter.limit = static_cast<std::size_t>(*options.limit);
    if (options.all) options.filter.ended = options.filter.limit;
  }
  return WithServer(options.client, streams, [&](Connection& server) {
    auto list = ListJobs(server, options.filter);
    if (!list) return Fail(list.error(), streams);
    if (options.client.format == "text") {
      AddReasons(server, *list);
      const auto status = server.Get("/v1/status");
      if (!status) return Fail(status.error(), streams);
      if (const format::Value* pause = status->Find("pause"))
        streams.out << RenderPause(*pause, LookOf(streams));
    }
    Print(*list, options.client, "jobs", &RenderJobs, streams);
    return ExitCode::kDone;
  });
}

}  // namespace

void AddQueue(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Flag("--mine", options->mine, "only your own");
  arguments.Text("--user,-u", options->filter.user, "NAME", "only this user's");
  arguments.Text("--queue,-q", options->filter.queue, "NAME", "only of this queue");
  arguments.Text("--state", options->filter.state, "STATES",
                 "held, waiting, starting, running, stopping, completed, failed, cancelled, "
                 "timed-out; several with commas");
  arguments.Text("--name", options->filter.name, "NAME", "only of this name; llama* begins so");
  arguments.Text("--label", options->filter.label, "KEY=VALUE",
                 "only with these labels; several with commas");
  arguments.Flag("--all,-a", options->all, "those that ended last, too");
  arguments.Number("--limit", options->limit, {.min = 1}, "at most so many");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
