// SPDX-License-Identifier: Apache-2.0
// Documents as CSV, fields by path, moments, paths with queries, faults of answers, archives.
#include "cli/client/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "cli/client/fields.h"
#include "cli/tar.h"
#include "format/json.h"

namespace muster::cli::test {
namespace {

using format::Value;
using testing::ElementsAre;

Value Json(std::string_view text) {
  auto parsed = format::ParseJson(text, "test");
  EXPECT_TRUE(parsed) << text;
  return parsed ? parsed->documents.front() : Value{};
}

TEST(ToCsv, HasAColumnForEveryLeaf) {
  const Value rows =
      Json(R"([{"id": 1, "name": "a,\"b\"", "nodes": {"count": 2, "first": ["x", "y"]}},
                              {"id": 2, "list": [{"a": 1}]}])");
  EXPECT_EQ(ToCsv(rows.items),
            "id,name,nodes.count,nodes.first,list\n"
            "1,\"a,\"\"b\"\"\",2,x y,\n"
            "2,,,,\"{\"\"a\"\":1}\"\n");
  EXPECT_EQ(ToCsv({}), "");
}

TEST(Fields, AreFoundByPathAndHarmlessWhereTheyAreNot) {
  const Value document = Json(R"({"a": {"b": 12, "c": ["x", "y\u0007"]}, "on": true})");
  EXPECT_EQ(NumberAt(document, "a.b"), 12);
  EXPECT_EQ(NumberAt(document, "a.x"), 0);
  EXPECT_EQ(TextAt(document, "a.b.c"), "");
  EXPECT_TRUE(FlagAt(document, "on"));
  EXPECT_THAT(ShownTextsAt(document, "a.c"), ElementsAre("x", "y\\x07"));
  EXPECT_TRUE(ItemsAt(document, "a.none").empty());
}

TEST(Moments, AreReadAsTheServerWritesThem) {
  EXPECT_EQ(ParseMoment("1970-01-02T00:00:01.250Z"), (base::Instant{86'401'250'000}));
  EXPECT_EQ(ParseMoment("1970-01-02T00:00:01Z"), std::nullopt);
  EXPECT_EQ(ParseMoment("1970-01-32T00:00:01.250Z"), std::nullopt);
  EXPECT_EQ(ParseMoment(""), std::nullopt);
  EXPECT_EQ(Between(base::Instant{0}, base::Instant{200'000'000}), "3m20s");
  EXPECT_EQ(Between(base::Instant{5}, base::Instant{0}), "0.0 s");
  EXPECT_EQ(Between(std::nullopt, base::Instant{0}), "");
}

TEST(Path, LeavesOutWhatIsEmptyAndEscapes) {
  EXPECT_EQ(Path("/v1/jobs"), "/v1/jobs");
  EXPECT_EQ(Path("/v1/jobs", {{"user", ""}, {"label", "a=b,c"}, {"x", "1"}}),
            "/v1/jobs?label=a%3Db%2Cc&x=1");
  EXPECT_EQ(Escaped("a/b c\xC3"), "a%2Fb%20c%C3");
}

TEST(FaultsOf, TellsEveryFaultOfAnAnswer) {
  const base::Errors many = FaultsOf(
      {.status = 400,
       .content_type = "application/problem+json",
       .body =
           R"({"title": "bad", "detail": "two", "errors": [{"where": "body:1:2", "message": "x"},
                   {"where": "", "message": "y"}]})"});
  ASSERT_EQ(many.size(), 2U);
  EXPECT_EQ(many[0].ToString(), "body:1:2: x");
  EXPECT_EQ(many[1].code, base::ErrorCode::kInvalid);
  const base::Errors one = FaultsOf({.status = 404,
                                     .content_type = "application/problem+json",
                                     .body = R"({"title": "x", "detail": "no job 9"})"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].code, base::ErrorCode::kNotFound);
}

TEST(Tar, IsOneThatTarReads) {
  const std::string tar =
      MakeTar({{"a/b.txt", "hello\n"}, {"c", std::string(600, 'x')}}, 1'000'000);
  EXPECT_EQ(tar.size() % 512, 0U);
  EXPECT_EQ(tar.substr(0, 7), "a/b.txt");
  EXPECT_EQ(tar.substr(257, 5), "ustar");
  EXPECT_EQ(tar.substr(512, 6), "hello\n");
  // 512 + 512 for the first, then the second's name.
  EXPECT_EQ(tar.substr(1024, 1), "c");
  FILE* const reader = popen("tar tf - | sort | tr '\\n' ' ' > /dev/null", "w");
  ASSERT_NE(reader, nullptr);
  fwrite(tar.data(), 1, tar.size(), reader);
  EXPECT_EQ(pclose(reader), 0);
}

}  // namespace
}  // namespace muster::cli::test
