// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/cluster.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

/// Bars of nodes are drawn as far as somebody may look at them.
constexpr std::size_t kNodesDrawn = 1000;

ExitCode Run(const ClientOptions& options, Streams& streams) {
  return WithServer(options, streams, [&](Connection& server) {
    const auto topology = server.Get("/v1/topology");
    if (!topology) return Fail(topology.error(), streams);
    format::Value nodes = format::Map();
    if (options.format == "text") {
      auto list = server.GetAll("/v1/nodes", {}, "nodes", kNodesDrawn);
      if (!list) return Fail(list.error(), streams);
      nodes = *std::move(list);
    }
    const auto text = [&nodes](const format::Value& document, const Look& look) {
      return RenderTopology(document, nodes, look);
    };
    Print(*topology, options, "", text, streams);
    return ExitCode::kDone;
  });
}

}  // namespace

void AddTopology(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<ClientOptions>();
  AddClientOptions(arguments, *options, kObjectFormats);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

void AddInventory(CLI::App& app, Context& context) {
  struct Options {
    ClientOptions client;
    std::string level;
  };
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Text("--level", options->level, "LEVEL", "each domain of this topology level, too");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun([options](Streams& streams) {
    return GetAndPrint(options->client, Path("/v1/inventory", {{"level", options->level}}),
                       options->level.empty() ? "models" : "domains", &RenderInventory, streams);
  });
}

}  // namespace muster::cli
