// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/token.h"

namespace muster::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A server that is nothing but what it shows.
class Shown final : public server::Front {
 public:
  void Post(server::Request, server::Answer) override {}
  server::PicturePtr Look() const override { return picture; }
  void OnPublish(std::function<void()>) override {}
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest&) const override {
    return base::Error{};
  }
  server::PicturePtr picture = std::make_shared<server::Picture>();
};

class ManualClock final : public server::Clock {
 public:
  base::Instant Now() override { return now; }
  base::Duration Steady() override { return base::Duration::Of(now.us); }
  base::Instant now{1'000'000};
};

class IdentitiesTest : public testing::Test {
 protected:
  void Show(std::vector<server::TokenCreated> tokens) {
    auto picture = std::make_shared<server::Picture>();
    picture->tables.tokens =
        std::make_shared<const std::vector<server::TokenCreated>>(std::move(tokens));
    front_.picture = picture;
  }
  Shown front_;
  ManualClock clock_;
  Identities identities_{front_, clock_, {.own_uid = 4242, .secret = std::string(43, 'k')}};
};

TEST_F(IdentitiesTest, RootAndTheServersOwnAccountAreAdmins) {
  EXPECT_EQ(identities_.OfPeer({.uid = 0, .gid = 0, .pid = 7}).role, server::Role::kAdmin);
  EXPECT_EQ(identities_.OfPeer({.uid = 0, .gid = 0, .pid = 7}).account.user, "root");
  EXPECT_EQ(identities_.OfPeer({.uid = 0, .gid = 0, .pid = 7}).from, "socket, pid 7");
  EXPECT_EQ(identities_.OfPeer({.uid = 4242, .gid = 1, .pid = 8}).role, server::Role::kAdmin);
  // An account that the machine does not know is still somebody.
  const server::Caller other = identities_.OfPeer({.uid = 3'999'999, .gid = 5, .pid = 9});
  EXPECT_EQ(other.role, server::Role::kUser);
  EXPECT_EQ(other.account.user, "uid-3999999");
  EXPECT_EQ(other.account.gid, 5U);
}

TEST_F(IdentitiesTest, ATokenIsGoodUntilItExpiresOrIsRevoked) {
  const std::string secret = api::NewSecret();
  Show({{.name = "ci",
         .hash = api::HashOf(secret),
         .role = server::Role::kOperator,
         .account = {.uid = 1000, .gid = 1000, .user = "ana"},
         .expires = {2'000'000}}});
  const auto caller = identities_.OfToken(secret);
  ASSERT_TRUE(caller) << caller.error().message;
  EXPECT_EQ(caller->account.user, "ana");
  EXPECT_EQ(caller->role, server::Role::kOperator);
  EXPECT_EQ(caller->from, "token ci");
  clock_.now = {2'000'000};
  EXPECT_THAT(identities_.OfToken(secret).error().message, HasSubstr("has expired"));
  Show({});
  EXPECT_EQ(identities_.OfToken(secret).error().code, base::ErrorCode::kNotAllowed);
}

TEST_F(IdentitiesTest, WhatIsNoTokenIsRefusedAndNotRepeated) {
  for (const std::string token : {"", "mst1_x", "mst1a_1_1_abc", "root"}) {
    const auto caller = identities_.OfToken(token);
    ASSERT_FALSE(caller) << token;
    EXPECT_EQ(caller.error().code, base::ErrorCode::kNotAllowed);
    if (token.empty()) continue;
    EXPECT_THAT(caller.error().message, Not(HasSubstr(token)));
  }
}

}  // namespace
}  // namespace muster::cli::test
