// SPDX-License-Identifier: Apache-2.0
// The OpenAPI document: whole, and true. That answers fit it is checked with every call of
// `ApiSite`.
#include "api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/openapi_schemas.h"
#include "api/resources/bodies.h"
#include "base/strings.h"
#include "test/api/api_site.h"

namespace muster::api {
namespace {

using format::Value;
using testing::HasSubstr;
using testing::IsEmpty;

void CollectRefs(const Value& value, std::set<std::string>& refs) {
  for (const Value& item : value.items) CollectRefs(item, refs);
  for (const format::Entry& entry : value.entries) {
    if (entry.key == "$ref") refs.insert(entry.value.text);
    CollectRefs(entry.value, refs);
  }
}

TEST(OpenApi, SaysWhatItIs) {
  EXPECT_EQ(Get(OpenApi(), "openapi"), "3.1.0");
  EXPECT_EQ(Get(OpenApi(), "info.version"), "1.2.3");
}

TEST(OpenApi, EveryReferenceResolves) {
  std::set<std::string> refs;
  CollectRefs(OpenApi(), refs);
  EXPECT_GT(refs.size(), 40u);
  const std::string prefix = "#/components/schemas/";
  std::set<std::string> used;
  for (const std::string& ref : refs) {
    ASSERT_TRUE(ref.starts_with(prefix)) << ref;
    used.insert(ref.substr(prefix.size()));
    EXPECT_NE(Find(OpenApi(), "components.schemas." + ref.substr(prefix.size())), nullptr) << ref;
  }
  for (const format::Entry& schema : Find(OpenApi(), "components.schemas")->entries)
    EXPECT_TRUE(used.contains(schema.key)) << schema.key << " is used nowhere";
}

TEST(OpenApi, EveryRouteIsThere) {
  std::set<std::string> ids;
  for (const format::Entry& path : Find(OpenApi(), "paths")->entries) {
    for (const format::Entry& operation : path.value.entries) {
      EXPECT_TRUE(ids.insert(Get(operation.value, "operationId")).second);
      EXPECT_NE(Find(operation.value, "responses.default"), nullptr);
    }
  }
  EXPECT_EQ(ids.size(), Routes().size());
  EXPECT_EQ(Get(*OpenApi().Find("paths")->Find("/v1/jobs"), "post.responses.201.description"),
            "Submitted");
  EXPECT_EQ(Get(*OpenApi().Find("paths")->Find("/v1/jobs/{id}"), "get.parameters.0.in"), "path");
}

TEST(OpenApi, EverySchemaHasKeysWithTexts) {
  for (const SchemaRow& row : SchemaRows()) {
    EXPECT_TRUE(row.key == "..." || !row.doc.empty()) << row.schema << "." << row.key;
  }
  std::set<std::string_view> names;
  for (const std::string_view name : SchemaNames())
    EXPECT_TRUE(names.insert(name).second) << name << ": its rows do not stand together";
  for (const BodyShape& body : BodyShapes()) EXPECT_FALSE(names.contains(body.name));
}

TEST(OpenApi, TheCheckerFindsWhatDoesNotFit) {
  const Value schema = ContentOf("NodeCounts").schema;
  Value counts = format::Map();
  for (const char* key : {"ready", "cordoned", "draining", "maintenance", "down", "probation"})
    counts.Add(key, format::Plain("1"));
  EXPECT_THAT(SchemaFaults(counts, schema), IsEmpty());
  counts.entries[0].value = format::Text("1");
  counts.entries[1].key = "corduroy";
  EXPECT_EQ(SchemaFaults(counts, schema).size(), 3u);
}

TEST(OpenApi, IsServedToEverybody) {
  ApiSite api;
  const HttpResponse response =
      api.Call({.target = "/v1/openapi.json", .caller = server::User("", server::Role::kViewer)});
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("\"explainJob\""));
}

TEST(ApiReference, NamesEveryRouteBodyAndAnswer) {
  const std::string text = ApiReference();
  for (const Route& route : Routes())
    EXPECT_THAT(text, HasSubstr(base::Format("### {} {}\n", route.method, route.pattern)));
  for (const std::string_view name : SchemaNames())
    EXPECT_THAT(text, HasSubstr(base::Format("\n### {}\n", name)));
  for (const BodyShape& body : BodyShapes())
    EXPECT_THAT(text, HasSubstr(base::Format("\n### {}\n", body.name)));
}

}  // namespace
}  // namespace muster::api
