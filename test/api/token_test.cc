// SPDX-License-Identifier: Apache-2.0
#include "api/token.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::api {
namespace {

constexpr std::string_view kKey = "0123456789abcdef0123456789abcdef";

driver::GangId Gang(std::uint32_t job, std::uint32_t attempt) {
  return {.job = model::JobId{job}, .attempt = model::Attempt{attempt}};
}

TEST(TokenTest, SecretsAreLongUrlSafeAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string secret = NewSecret();
    EXPECT_TRUE(secret.starts_with("mst1_"));
    EXPECT_EQ(secret.size(), 5U + 43U);
    EXPECT_EQ(secret.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_"),
              std::string::npos);
    EXPECT_FALSE(IsAttemptToken(secret));
    EXPECT_TRUE(seen.insert(secret).second);
  }
}

TEST(TokenTest, HashIsSha256) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokenTest, SameSecret) {
  EXPECT_TRUE(SameSecret({.given = "abc", .expected = "abc"}));
  EXPECT_TRUE(SameSecret({.given = "", .expected = ""}));
  EXPECT_FALSE(SameSecret({.given = "abc", .expected = "abd"}));
  EXPECT_FALSE(SameSecret({.given = "ab", .expected = "abc"}));
  EXPECT_FALSE(SameSecret({.given = "", .expected = "abc"}));
}

TEST(TokenTest, AnAttemptsTokenNamesTheAttempt) {
  for (const auto& [job, attempt] :
       {std::pair{0U, 0U}, {1U, 1U}, {7U, 12U}, {4294967295U, 4294967295U}}) {
    const std::string token = AttemptToken(kKey, Gang(job, attempt));
    EXPECT_TRUE(
        token.starts_with("mst1a_" + std::to_string(job) + "_" + std::to_string(attempt) + "_"));
    EXPECT_TRUE(IsAttemptToken(token));
    const auto gang = CheckAttemptToken(kKey, token);
    ASSERT_TRUE(gang) << token;
    EXPECT_EQ(*gang, Gang(job, attempt));
  }
  // HMAC-SHA256 of "mst1a_7_12_" with this key, computed by another program (openssl dgst).
  EXPECT_EQ(AttemptToken(kKey, Gang(7, 12)),
            "mst1a_7_12_1n7TYx42udEaSQAwb6KSBsr41zb0hajSx5qIxTS76WI");
}

TEST(TokenTest, ForgeriesAreRefusedAllAlike) {
  const std::string good = AttemptToken(kKey, Gang(7, 12));
  const std::string mac = good.substr(good.rfind("12_") + 3);
  const std::vector<std::string> forged = {
      "",
      "mst1a_",
      "mst1a_7",
      "mst1a_7_",
      "mst1a_7_12",
      "mst1a_7_12_",
      "mst1a__12_" + mac,
      "mst1a_7__" + mac,
      "mst1a_07_12_" + mac,
      "mst1a_7_012_" + mac,
      "mst1a_+7_12_" + mac,
      "mst1a_-7_12_" + mac,
      "mst1a_ 7_12_" + mac,
      "mst1a_7_13_" + mac,
      "mst1a_8_12_" + mac,
      "mst1a_71_2_" + mac,
      "mst1a_4294967303_12_" + mac,
      "mst1_7_12_" + mac,
      "MST1A_7_12_" + mac,
      good + "A",
      good + "=",
      good + " ",
      " " + good,
      good + std::string(1, '\0'),
      good + std::string(100'000, 'A'),
      AttemptToken("another key", Gang(7, 12)),
      AttemptToken(std::string(kKey) + "x", Gang(7, 12)),
  };
  std::set<std::string> texts;
  for (const std::string& token : forged) {
    const auto gang = CheckAttemptToken(kKey, token);
    ASSERT_FALSE(gang) << token.substr(0, 100);
    EXPECT_EQ(gang.error().code, base::ErrorCode::kNotAllowed);
    texts.insert(gang.error().ToString());
  }
  EXPECT_EQ(texts.size(), 1U) << "what is wrong with a forgery is not told";
}

TEST(TokenTest, EveryTruncationAndEveryFlippedBitIsRefused) {
  const std::string good = AttemptToken(kKey, Gang(123456, 3));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(CheckAttemptToken(kKey, good.substr(0, size))) << size;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ (1U << bit));
      EXPECT_FALSE(CheckAttemptToken(kKey, bad)) << i << ", bit " << bit;
    }
  }
}

}  // namespace
}  // namespace muster::api
