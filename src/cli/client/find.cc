// SPDX-License-Identifier: Apache-2.0
#include "cli/client/find.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/config.h"
#include "format/codec.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

Candidate OfContext(const ServerContext& context) {
  return {.target = {.address = context.server,
                     .token = context.token,
                     .ca_certificate = context.ca_certificate},
          .from = "context " + base::Printable(context.name)};
}

/// What a context says of this address holds however the address was given.
Candidate OfAddress(const std::string& address, const ClientConfig& config, std::string from) {
  const auto known = std::ranges::find(config.contexts, address, &ServerContext::server);
  Candidate candidate;
  if (known != config.contexts.end()) candidate = OfContext(*known);
  candidate.target.address = address;
  candidate.from = std::move(from);
  return candidate;
}

base::Checked<std::vector<Candidate>> Choose(const ServerOptions& options,
                                             const Environment& environment,
                                             const ClientConfig& config,
                                             const std::string& config_file) {
  if (!options.server.empty()) return std::vector{OfAddress(options.server, config, "--server")};
  if (!options.context.empty()) {
    if (const ServerContext* context = config.Find(options.context))
      return std::vector{OfContext(*context)};
    std::vector<std::string_view> names;
    for (const ServerContext& each : config.contexts) names.push_back(each.name);
    return Error{ErrorCode::kInvalid,
                 names.empty() ? Format("{} names no contexts", base::Printable(config_file))
                               : format::NoSuchName(options.context, names),
                 "--context"};
  }
  if (!environment.server.empty())
    return std::vector{OfAddress(environment.server, config, "MUSTER_SERVER")};
  if (const ServerContext* context = config.Find(config.current))
    return std::vector{OfContext(*context)};
  std::vector<Candidate> local;
  if (const std::string own = DefaultStateDir(environment); environment.uid != 0 && !own.empty())
    local.push_back(
        {.target = {.address = "unix:" + SocketOf(environment, own)}, .from = "this machine"});
  local.push_back(
      {.target = {.address = "unix:" + environment.system_socket}, .from = "this machine"});
  return local;
}

}  // namespace

base::Checked<std::vector<Candidate>> FindCandidates(const ServerOptions& options,
                                                     const Environment& environment) {
  ClientConfig config;
  const std::string file =
      environment.config_home.empty() ? "" : environment.config_home + "/muster/config.yaml";
  if (!file.empty()) {
    auto read = ReadClientConfig(file);
    if (!read) return read.error();
    config = *std::move(read);
  }
  auto candidates = Choose(options, environment, config, file);
  if (!candidates) return candidates;
  for (Candidate& each : *candidates) {
    if (!environment.token.empty()) each.target.token = environment.token;
  }
  return candidates;
}

}  // namespace muster::cli
