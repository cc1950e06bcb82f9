// SPDX-License-Identifier: Apache-2.0
// Finding routes and telling problems, without a server. Most of dispatching is seen through one in
// http_server_test.cc.
#include "api/dispatch.h"

#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

TEST(DispatchTest, FindRouteIn) {
  const auto found = [](std::string_view method, std::string_view path) -> std::string {
    const Match match = FindRouteIn(TestRoutes(), method, path);
    if (match.route == nullptr) return std::to_string(match.problem.status);
    std::string text(match.route->id);
    for (const auto& [name, value] : match.parameters) text += "," + name + "=" + value;
    return text;
  };
  EXPECT_EQ(found("GET", "/v1/things/7"), "thing,id=7");
  EXPECT_EQ(found("HEAD", "/v1/things/7"), "thing,id=7");
  EXPECT_EQ(found("GET", "/v1/things/a%2Fb%20c"), "thing,id=a/b c");
  EXPECT_EQ(found("GET", "/v1/things/mine"), "mine") << "the more literal row";
  EXPECT_EQ(found("GET", "/v1/things/%6dine"), "mine");
  EXPECT_EQ(found("GET", "/v1/things/%zz"), "404");
  EXPECT_EQ(found("POST", "/v1/things/7"), "405");
  EXPECT_EQ(found("GET", "/v1/things/7/"), "404");
  EXPECT_EQ(found("GET", ""), "404");
  EXPECT_EQ(found("GET", "/v1/{id}"), "404");
}

TEST(DispatchTest, ProblemDetails) {
  using base::ErrorCode;
  const HttpResponse one = Problem(base::Error{ErrorCode::kNotFound, "no job \"7\"", "jobs"});
  EXPECT_EQ(one.status, 404);
  EXPECT_EQ(one.content_type, "application/problem+json");
  EXPECT_EQ(one.body,
            "{\n  \"type\": \"about:blank\",\n  \"title\": \"Not Found\",\n  \"status\": 404,\n"
            "  \"detail\": \"jobs: no job \\\"7\\\"\"\n}\n");
  const HttpResponse two =
      Problem(base::Errors{{ErrorCode::kInvalid, "x", "a:1"}, {ErrorCode::kInvalid, "y", ""}});
  EXPECT_EQ(two.status, 400);
  EXPECT_NE(two.body.find("\"errors\""), std::string::npos) << two.body;
  EXPECT_NE(two.body.find("\"where\": \"a:1\""), std::string::npos) << two.body;
  const std::vector<std::pair<ErrorCode, int>> codes = {
      {ErrorCode::kInvalid, 400},    {ErrorCode::kNotFound, 404}, {ErrorCode::kRefused, 422},
      {ErrorCode::kExhausted, 507},  {ErrorCode::kIo, 500},       {ErrorCode::kNotAllowed, 403},
      {ErrorCode::kUnavailable, 503}};
  for (const auto& [code, status] : codes) {
    const HttpResponse response = Problem(base::Error{code, "x"});
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.headers.empty(), status != 503) << "Retry-After";
  }
}

}  // namespace
}  // namespace muster::api
