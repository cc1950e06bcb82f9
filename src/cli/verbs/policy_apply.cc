// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "base/utf8.h"
#include "cli/client/fields.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"
#include "format/file.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

struct Options {
  ClientOptions client;
  std::string file;
};

ExitCode Apply(const Options& options, Streams& streams) {
  // Here its faults have the file's name.
  if (const auto policy = LoadPolicy(options.file, {}, nullptr); !policy)
    return Fail(policy.error(), streams);
  const auto text = format::ReadFile(options.file);
  if (!text) return Fail(text.error(), streams);
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto done = server.Call("PUT", "/v1/policy", *text);
    if (!done) return Fail(done.error(), streams);
    streams.out << base::Printable(options.file) << " is active\n";
    for (const std::string& note : ShownTextsAt(*done, "notes")) streams.err << note << '\n';
    return ExitCode::kDone;
  });
}

/// The document as it was given, or, where nobody gave one, what holds by default.
std::string RenderPolicy(const format::Value& policy, const Look& /*look*/) {
  const std::string text = TextAt(policy, "text");
  if (!text.empty()) return text;
  const format::Value* const document = policy.Find("document");
  return "# Nobody applied a policy; this is the default.\n" +
         (document == nullptr ? "" : format::WriteYaml(*document));
}

}  // namespace

void AddPolicyApply(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const Arguments apply = arguments.Command("apply", "make a policy file the server's policy");
  const auto applied = std::make_shared<Options>();
  apply.Word("file", applied->file, Arguments::Need::kRequired, "policy file");
  AddClientOptions(apply, applied->client);
  apply.OnRun([applied](Streams& streams) { return Apply(*applied, streams); });

  const Arguments active = arguments.Command("active", "the policy that the server follows");
  const auto shown = std::make_shared<ClientOptions>();
  AddClientOptions(active, *shown, kObjectFormats);
  active.OnRun([shown](Streams& streams) {
    return GetAndPrint(*shown, "/v1/policy", "", &RenderPolicy, streams);
  });
}

}  // namespace muster::cli
