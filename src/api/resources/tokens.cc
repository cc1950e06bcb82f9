// SPDX-License-Identifier: Apache-2.0
// GET, POST, DELETE /v1/tokens. The secret is in the answer that made it and nowhere else: the
// server gets its hash only.
#include <algorithm>
#include <string>
#include <utility>

#include "api/resources/answers.h"
#include "api/resources/bodies.h"
#include "api/resources/handlers.h"
#include "api/resources/shapes.h"
#include "api/token.h"

namespace muster::api {
namespace {

using format::Text;
using format::Value;

Value TokenValue(std::string_view name, server::Role role, const driver::Identity& account) {
  Value value = format::Map();
  value.Add("name", Text(std::string(name)));
  value.Add("role", Text(std::string(server::Name(role))));
  value.Add("user", Text(account.user));
  value.Add("uid", Number(account.uid));
  value.Add("gid", Number(account.gid));
  return value;
}

/// The account that a token is to stand for.
base::Result<driver::Identity> AccountOf(const TokenWish& wish, const server::Caller& caller) {
  if (wish.user.empty() && !wish.uid && !wish.gid) return caller.account;
  if (wish.user.empty() || !wish.uid || !wish.gid) {
    return Invalid(
        "an account is given by `user`, `uid` and `gid` together; without all three it is your "
        "own");
  }
  return driver::Identity{.uid = static_cast<std::uint32_t>(*wish.uid),
                          .gid = static_cast<std::uint32_t>(*wish.gid),
                          .user = wish.user};
}

}  // namespace

HttpResponse ListTokens(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  Value tokens = format::List();
  for (const server::TokenCreated& token : *picture->tables.tokens) {
    if (token.expires.us != 0 && token.expires <= picture->at) continue;
    Value value = TokenValue(token.name, token.role, token.account);
    if (token.expires.us != 0) value.Add("expires", TimeValue(token.expires));
    tokens.items.push_back(std::move(value));
  }
  Value list = format::Map();
  list.Add("tokens", std::move(tokens));
  return Json(list);
}

void CreateToken(server::Front& front, const HttpRequest& request, Respond respond) {
  const base::Checked<TokenWish> wish = DecodeBody(request, TokenWishCodec());
  if (!wish) return respond(Problem(wish.error()));
  const base::Result<driver::Identity> account = AccountOf(*wish, request.caller);
  if (!account) return respond(Problem(account.error()));
  std::string secret = NewSecret();
  server::CreateToken command{.name = wish->name,
                              .hash = HashOf(secret),
                              .role = wish->role,
                              .account = *account,
                              .lifetime = wish->lifetime};
  Value value = TokenValue(wish->name, wish->role, *account);
  value.Add("secret", Text(std::move(secret)));
  front.Post({.caller = request.caller, .command = std::move(command)},
             [respond = std::move(respond), value = std::move(value), &front,
              name = wish->name](const base::Result<server::Reply>& reply) mutable {
               if (!reply) return respond(Problem(reply.error()));
               // When it expires, the server has decided.
               const server::PicturePtr picture = front.Look();
               const auto& tokens = *picture->tables.tokens;
               const auto made = std::ranges::find(tokens, name, &server::TokenCreated::name);
               if (made != tokens.end() && made->expires.us != 0)
                 value.Add("expires", TimeValue(made->expires));
               respond(Json(value, 201));
             });
}

void RevokeToken(server::Front& front, const HttpRequest& request, Respond respond) {
  PostAndAnswer(front, request, server::RevokeToken{.name = PathText(request, "name")},
                std::move(respond));
}

}  // namespace muster::api
