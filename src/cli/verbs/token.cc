// SPDX-License-Identifier: Apache-2.0
#include <pwd.h>

#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/fields.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/history.h"
#include "cli/verbs/all.h"
#include "format/json.h"

namespace muster::cli {
namespace {

using base::Format;

struct Options {
  ClientOptions client;
  std::string name;
  std::string role = "user";
  std::string user;
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  std::string lifetime;
};

/// Adds the account to the request. Its numbers are those of this machine unless they are given.
base::Status AddAccount(const Options& options, format::Value& body) {
  if (options.user.empty()) return {};
  std::optional<std::int64_t> uid = options.uid;
  std::optional<std::int64_t> gid = options.gid;
  std::vector<char> room(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(options.user.c_str(), &entry, room.data(), room.size(), &found);
  if (found != nullptr) {
    uid = uid.value_or(found->pw_uid);
    gid = gid.value_or(found->pw_gid);
  }
  if (!uid || !gid) {
    return base::Error{base::ErrorCode::kInvalid,
                       Format("this machine has no account {}; give --uid and --gid, too",
                              base::Quote(options.user)),
                       "--user"};
  }
  body.Add("user", format::Text(options.user));
  body.Add("uid", format::Plain(Format("{}", *uid)));
  body.Add("gid", format::Plain(Format("{}", *gid)));
  return {};
}

/// The secret alone on standard output, so that a script can take it.
ExitCode Create(const Options& options, Streams& streams) {
  format::Value body = format::Map();
  body.Add("name", format::Text(options.name));
  body.Add("role", format::Text(options.role));
  if (const auto added = AddAccount(options, body); !added) return Fail(added.error(), streams);
  if (!options.lifetime.empty()) body.Add("lifetime", format::Text(options.lifetime));
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto made = server.Post("/v1/tokens", format::WriteJson(body));
    if (!made) return Fail(made.error(), streams);
    const auto text = [&](const format::Value& token, const Look&) {
      streams.err << Format("token {}: role {}, acts as {}; its secret is shown only now\n",
                            ShownAt(token, "name"), ShownAt(token, "role"), ShownAt(token, "user"));
      return TextAt(token, "secret") + "\n";
    };
    Print(*made, options.client, "", text, streams);
    return ExitCode::kDone;
  });
}

ExitCode Revoke(const Options& options, Streams& streams) {
  return WithServer(options.client, streams, [&](Connection& server) {
    const auto done = server.Call("DELETE", "/v1/tokens/" + Escaped(options.name));
    if (!done) return Fail(done.error(), streams);
    streams.out << Format("token {} revoked\n", base::Printable(options.name));
    return ExitCode::kDone;
  });
}

}  // namespace

void AddToken(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const Arguments create = arguments.Command("create", "make a token; prints its secret");
  const auto made = std::make_shared<Options>();
  create.Word("name", made->name, Arguments::Need::kRequired, "what it is called");
  create.Choice("--role", made->role, {"viewer", "reporter", "user", "operator", "admin"}, "ROLE",
                "what it may do: viewer, reporter, user, operator, admin");
  create.Text("--user", made->user, "NAME", "the account it acts as; default: your own");
  create.Number("--uid", made->uid, {.max = UINT32_MAX}, "its number; default: this machine's");
  create.Number("--gid", made->gid, {.max = UINT32_MAX}, "its group; default: this machine's");
  create.Text("--lifetime", made->lifetime, "DURATION", "how long it is good; default: for ever");
  AddClientOptions(create, made->client, kObjectFormats);
  create.OnRun([made](Streams& streams) { return Create(*made, streams); });

  const Arguments list = arguments.Command("list", "the tokens, without their secrets");
  const auto listed = std::make_shared<ClientOptions>();
  AddClientOptions(list, *listed, kListFormats);
  list.OnRun([listed](Streams& streams) {
    return GetAndPrint(*listed, "/v1/tokens", "tokens", &RenderTokens, streams);
  });

  const Arguments revoke = arguments.Command("revoke", "make a token worthless");
  const auto revoked = std::make_shared<Options>();
  revoke.Word("name", revoked->name, Arguments::Need::kRequired, "what it is called");
  AddClientOptions(revoke, revoked->client);
  revoke.OnRun([revoked](Streams& streams) { return Revoke(*revoked, streams); });
}

}  // namespace muster::cli
