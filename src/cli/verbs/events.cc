// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/history.h"
#include "cli/verbs/all.h"
#include "format/json.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  std::optional<std::int64_t> job;
  std::optional<std::int64_t> after;
  std::string kind;
  bool follow = false;
};

/// One event of a stream: a line of text, or a line of JSON.
void PrintEvent(const format::Value& event, const Options& options, Streams& streams) {
  if (options.client.format == "json") {
    streams.out << format::WriteJson(event, format::JsonStyle::kCompact) << '\n';
  } else {
    streams.out << RenderEvent(event, LookOf(streams));
  }
  streams.out << std::flush;
}

/// A job's events have a list, which ends.
ExitCode ListOfJob(Connection& server, const Options& options, Streams& streams) {
  std::string after = options.after ? base::Format("{}", *options.after) : "";
  do {
    const auto page = server.Get(Path(base::Format("/v1/jobs/{}/events", *options.job),
                                      {{"after", after}, {"limit", "1000"}}));
    if (!page) return Fail(page.error(), streams);
    for (const format::Value& event : ItemsAt(*page, "events")) PrintEvent(event, options, streams);
    after = TextAt(*page, "next");
  } while (!after.empty());
  return ExitCode::kDone;
}

ExitCode Run(const Options& options, Streams& streams) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? base::Format("{}", *value) : "";
  };
  if (options.job && !options.follow && options.kind.empty()) {
    return WithServer(options.client, streams,
                      [&](Connection& server) { return ListOfJob(server, options, streams); });
  }
  // Whoever does not follow wants to see what was.
  const std::string after = !options.after && !options.follow ? "0" : number(options.after);
  return WithServer(options.client, streams, [&](Connection& server) {
    const Query query = {{"job", number(options.job)},
                         {"after", after},
                         {"kind", options.kind},
                         {"follow", options.follow ? "" : "false"}};
    const base::Status status =
        server.Stream(Path("/v1/events", query),
                      [&](std::string_view, std::string_view event, const format::Value& data) {
                        format::Value shown = data;
                        if (event == "gap") {
                          shown.Add("kind", format::Text("gap"));
                          shown.Add("text", format::Text("older events are not kept"));
                        }
                        PrintEvent(shown, options, streams);
                        return static_cast<bool>(streams.out);
                      });
    return status ? ExitCode::kDone : Fail(status.error(), streams);
  });
}

}  // namespace

void AddEvents(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Flag("--follow,-f", options->follow,
                 "go on with what happens; from now on unless "
                 "--after says otherwise");
  arguments.Number("--job", options->job, {.max = UINT32_MAX - 1}, "only of this job");
  arguments.Number("--after", options->after, {}, "only events with a higher id");
  arguments.Text("--kind", options->kind, "KINDS",
                 "submitted, placed, running, stopping, requeued, ended, changed, checkpoint, "
                 "node, pause, policy; several with commas");
  AddClientOptions(arguments, options->client, {"text", "json"});
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
