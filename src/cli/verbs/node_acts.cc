// SPDX-License-Identifier: Apache-2.0
// Who may start on a node: cordon, uncordon, drain.
#include <memory>
#include <ostream>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"
#include "format/hostlist.h"
#include "format/json.h"

namespace muster::cli {
namespace {

using base::Format;

struct Act {
  const char* verb;
  const char* state;  ///< that the nodes get
  bool takes_reason = true;
};

struct Options {
  ClientOptions client;
  std::vector<std::string> nodes;
  std::string reason;
  bool yes = false;
};

ExitCode Run(const Act& act, const Options& options, Streams& streams) {
  std::vector<std::string> nodes;
  for (const std::string& text : options.nodes) {
    const auto names = format::ExpandHostlist(text);
    if (!names) return Fail(names.error(), streams);
    nodes.insert(nodes.end(), names->begin(), names->end());
  }
  const std::string question = Format("{} {} nodes?", act.verb, nodes.size());
  if (act.takes_reason && nodes.size() > 1 && !Confirm(question, options.yes, streams))
    return ExitCode::kFailed;
  format::Value body = format::Map();
  body.Add("state", format::Text(act.state));
  if (!options.reason.empty()) body.Add("reason", format::Text(options.reason));
  return WithServer(options.client, streams, [&](Connection& server) {
    ExitCode code = ExitCode::kDone;
    for (const std::string& node : nodes) {
      const auto done =
          server.Post(Format("/v1/nodes/{}/state", Escaped(node)), format::WriteJson(body));
      if (done) {
        streams.out << Format("node {} is {}\n", base::Printable(node), act.state);
        continue;
      }
      const ExitCode failed = Fail(done.error(), streams);
      if (code == ExitCode::kDone) code = failed;
    }
    return code;
  });
}

void AddAct(CLI::App& app, Context& context, Act act) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Words("node", options->nodes, Arguments::Need::kRequired,
                  "names of nodes, or lists such as gpu[1-4]");
  if (act.takes_reason) {
    arguments.Text("--reason", options->reason, "TEXT", "why, for all who ask");
    arguments.Flag("--yes,-y", options->yes, "do not ask about several nodes");
  }
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options, act](Streams& streams) { return Run(act, *options, streams); });
}

}  // namespace

void AddCordon(CLI::App& app, Context& context) { AddAct(app, context, {"cordon", "cordoned"}); }
void AddDrain(CLI::App& app, Context& context) { AddAct(app, context, {"drain", "draining"}); }
void AddUncordon(CLI::App& app, Context& context) {
  AddAct(app, context, {"uncordon", "ready", false});
}

}  // namespace muster::cli
