// SPDX-License-Identifier: Apache-2.0
// The table of routes as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "api/openapi.h"
#include "api/openapi_schemas.h"
#include "api/route.h"
#include "base/strings.h"
#include "test/api/api_site.h"

namespace muster::api {
namespace {

using base::Format;
using testing::HasSubstr;

TEST(Routes, RowsAreWhole) {
  std::set<std::string> ids;
  std::set<std::string> places;
  for (const Route& route : Routes()) {
    SCOPED_TRACE(route.id);
    EXPECT_TRUE(ids.insert(std::string(route.id)).second) << "twice";
    EXPECT_TRUE(places.insert(Format("{} {}", route.method, route.pattern)).second) << "twice";
    EXPECT_NE(route.handle == nullptr, route.stream == nullptr);
    EXPECT_FALSE(route.summary.empty());
    EXPECT_FALSE(route.response.empty());
    for (const QueryParameter& parameter : route.query) {
      EXPECT_TRUE(parameter.type == "string" || parameter.type == "integer" ||
                  parameter.type == "boolean");
      EXPECT_FALSE(parameter.doc.empty());
    }
    const bool changes = route.method != "GET";
    const bool reports = route.id == "reportCheckpoint";  // the server judges whose attempt it is
    EXPECT_TRUE(!changes || reports || route.role > server::Role::kViewer) << "who may do this?";
    EXPECT_TRUE(!changes || !route.open);
  }
}

TEST(Routes, AreFoundByTheirPatterns) {
  for (const Route& route : Routes()) {
    std::string path(route.pattern);
    for (const std::string_view name : PathParameters(route.pattern)) {
      const std::string braced = Format("{{{}}}", name);
      path.replace(path.find(braced), braced.size(), "7");
    }
    EXPECT_EQ(FindRoute(route.method, path).route, &route) << route.id;
  }
}

/// Whatever a path or a query says, the answer is an answer: no crash, no 500.
TEST(Routes, OddRequestsGetProblems) {
  ApiSite api;
  api.Submit(server::Job(1, 8));
  for (const Route& route : Routes()) {
    for (const char* text : {"0", "-1", "4294967295", "99999999999999999999", "x", "1"}) {
      std::string target(route.pattern);
      for (const std::string_view name : PathParameters(route.pattern)) {
        const std::string braced = Format("{{{}}}", name);
        target.replace(target.find(braced), braced.size(), text);
      }
      std::string with_query = target + "?";
      for (const QueryParameter& parameter : route.query)
        with_query += Format("{}={}&", parameter.name, text);
      with_query.pop_back();
      for (const std::string& each : {target, with_query}) {
        const ApiSite::Ask ask{.method = std::string(route.method),
                               .target = each,
                               .body = route.request.empty() ? "" : R"({"a": [1]})",
                               .caller = Admin()};
        if (route.stream != nullptr) {
          api.Stream(ask);
        } else {
          EXPECT_NE(api.Call(ask).status, 500) << each;
        }
      }
    }
  }
}

/// A hundred rows of a long history come in a moment; nothing in them is copied but what is shown.
TEST(Routes, ListsOfLongHistoriesAreQuick) {
  ApiSite api;
  const model::JobId job = api.Submit(server::Job(4, 8));
  auto long_ago = std::make_shared<server::Picture>(*api.site.server->Look());
  const server::JobRecord record = long_ago->tables.jobs[job.value];
  for (int i = 0; i < 50'000; ++i) long_ago->tables.jobs.PushBack(record);
  api.picture = long_ago;
  const auto began = std::chrono::steady_clock::now();
  const format::Value list = api.Get("/v1/jobs?limit=100");
  const format::Value none = api.Get("/v1/jobs?user=nobody");
  // A debug build on a busy machine takes some 100 ms; a copy of every job would take far longer.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(Find(list, "jobs")->items.size(), 100u);
  EXPECT_EQ(Find(none, "jobs")->items.size(), 0u);
}

}  // namespace
}  // namespace muster::api
