// SPDX-License-Identifier: Apache-2.0
// What was done and used: `audit`, `usage`; and how things are: `status`.
#include <memory>

#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/cluster.h"
#include "cli/render/history.h"
#include "cli/verbs/all.h"

namespace muster::cli {

void AddAudit(CLI::App& app, Context& context) {
  struct Options {
    ClientOptions client;
    std::optional<std::int64_t> limit = 100;
  };
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Number("--limit", options->limit, {.min = 1}, "the newest so many; default 100");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun([options](Streams& streams) {
    return WithServer(options->client, streams, [&](Connection& server) {
      const auto list =
          server.GetAll("/v1/audit", {}, "entries", static_cast<std::size_t>(*options->limit));
      if (!list) return Fail(list.error(), streams);
      Print(*list, options->client, "entries", &RenderAudit, streams);
      return ExitCode::kDone;
    });
  });
}

void AddUsage(CLI::App& app, Context& context) {
  struct Options {
    ClientOptions client;
    std::string by;
    std::string from;
    std::string to;
  };
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Text("--by", options->by, "KEYS",
                 "day, queue, user, model; several with commas; default queue,user,model");
  arguments.Text("--from", options->from, "DAY", "first day, such as 2026-01-31");
  arguments.Text("--to", options->to, "DAY", "last day");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun([options](Streams& streams) {
    const Query query = {{"by", options->by}, {"from", options->from}, {"to", options->to}};
    return GetAndPrint(options->client, Path("/v1/usage", query), "rows", &RenderUsage, streams);
  });
}

void AddStatus(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<ClientOptions>();
  AddClientOptions(arguments, *options, kObjectFormats);
  arguments.OnRun([options](Streams& streams) {
    return GetAndPrint(*options, "/v1/status", "", &RenderStatus, streams);
  });
}

}  // namespace muster::cli
