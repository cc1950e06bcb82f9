// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/cluster.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  std::string node;
  std::string state;
};

ExitCode Run(const Options& options, Streams& streams) {
  if (!options.node.empty())
    return GetAndPrint(options.client, "/v1/nodes/" + Escaped(options.node), "deviceList",
                       &RenderNode, streams);
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto list = server.GetAll("/v1/nodes", {{"state", options.state}}, "nodes");
    if (!list) return Fail(list.error(), streams);
    Print(*list, options.client, "nodes", &RenderNodes, streams);
    return ExitCode::kDone;
  });
}

}  // namespace

void AddNodes(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Word("node", options->node, Arguments::Need::kOptional, "all about this one");
  arguments.Text("--state", options->state, "STATES",
                 "ready, cordoned, draining, maintenance, down, probation; several with commas");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
