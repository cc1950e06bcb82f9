// SPDX-License-Identifier: Apache-2.0
// Nodes, topology, queues, policy, usage, audit, tokens, events and the server itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/resources/shapes.h"
#include "api/token.h"
#include "base/strings.h"
#include "format/policy_document.h"
#include "test/api/api_site.h"

namespace muster::api {
namespace {

using base::Format;
using format::Value;
using server::Job;
using server::Role;
using server::User;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

server::Caller Operator() { return User("oli", Role::kOperator); }

std::vector<std::string> Each(const Value& list, std::string_view key) {
  std::vector<std::string> out;
  for (const Value& item : list.items) out.push_back(Get(item, key));
  return out;
}

TEST(Shapes, Times) {
  EXPECT_EQ(TimeText({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(TimeText({1'769'860'800'123'999}), "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(TimeText({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(TimeText({951'782'400'000'000}), "2000-02-29T00:00:00.000Z");
  for (std::int64_t day = -200'000; day < 200'000; day += 13)
    EXPECT_EQ(ParseDay(DayText(day)).value_or(-1), day);
}

TEST(Shapes, DaysThatAreNone) {
  for (const char* text : {"", "2026", "2026-1-31", "2026-02-29", "2026-13-01", "2026-00-10",
                           "2026-01-00", "2026-01-3x", "2026/01/31"}) {
    EXPECT_FALSE(ParseDay(text)) << text;
  }
}

TEST(Nodes, AreListedFilteredAndPaged) {
  ApiSite api;
  api.Submit(Job(1, 2));
  const Value list = api.Get("/v1/nodes");
  EXPECT_THAT(Each(*Find(list, "nodes"), "name"), ElementsAre("gpu-1", "gpu-2", "gpu-3", "gpu-4"));
  const Value& node = *Find(list, "nodes.0");
  EXPECT_EQ(Get(node, "state"), "ready");
  EXPECT_EQ(Get(node, "note"), "made of paper");
  EXPECT_EQ(Get(node, "models"), R"(["H100"])");
  EXPECT_EQ(Get(node, "devices"),
            R"({"total":8,"idle":6,"allocated":2,"reserved":0,"draining":0,"faulty":0,)"
            R"("foreign":0,"unknown":0})");
  EXPECT_EQ(Get(node, "cpuUsed"), "16");
  EXPECT_EQ(Get(node, "memory"), "512Gi");
  EXPECT_EQ(Get(node, "domains"), R"([{"level":"leaf","name":"leaf-1"}])");
  api.Json({.method = "POST",
            .target = "/v1/nodes/gpu-3/state",
            .body = R"({"state": "cordoned", "reason": "fan"})",
            .caller = Operator()});
  const Value cordoned = api.Get("/v1/nodes?state=cordoned,down");
  EXPECT_THAT(Each(*Find(cordoned, "nodes"), "name"), ElementsAre("gpu-3"));
  EXPECT_EQ(Get(cordoned, "nodes.0.stateReason"), "oli: fan");
  const Value page = api.Get("/v1/nodes?limit=3");
  EXPECT_THAT(
      Each(*Find(api.Get("/v1/nodes?limit=3&cursor=" + Get(page, "next")), "nodes"), "name"),
      ElementsAre("gpu-4"));
  EXPECT_THAT(api.Refusal({.target = "/v1/nodes?state=broken"}, 400), HasSubstr("broken"));
}

TEST(Nodes, InDetail) {
  ApiSite api([](server::Site& site) {
    site.driver.nodes[0].taints = {{"team", "red"}};
    site.driver.nodes[1].anonymous_devices = true;
  });
  api.Submit(Job(1, 2));  // not on the tainted node
  api.Submit(Job(4, 2));
  const Value node = api.Get("/v1/nodes/gpu-3");
  EXPECT_EQ(Get(node, "labels"), R"({"leaf":"leaf-2"})");
  const Value shown = api.Get("/v1/nodes/gpu-1");
  EXPECT_EQ(Get(shown, "taints"), R"([{"key":"team","value":"red"}])");
  const Value anonymous = api.Get("/v1/nodes/gpu-2");
  EXPECT_EQ(Get(anonymous, "deviceList.0.state"), "(none)");
  std::size_t held = 0;
  for (const char* name : {"gpu-2", "gpu-3", "gpu-4"}) {
    const Value each = api.Get(std::string("/v1/nodes/") + name);
    for (const Value& job : Find(each, "jobs")->items)
      held += static_cast<std::size_t>(std::stoi(Get(job, "ranks")));
  }
  EXPECT_EQ(held, 5u);
  EXPECT_THAT(api.Refusal({.target = "/v1/nodes/gpu-9"}, 404), HasSubstr("gpu-9"));
}

TEST(Nodes, HealthFactsMakeDevicesFaulty) {
  ApiSite api;
  api.Submit(Job(1, 1));
  const ApiSite::Ask ask{.method = "POST",
                         .target = "/v1/health-facts",
                         .body = R"({"node": "gpu-2", "faulty": [0, 5], "text": "ECC"})",
                         .caller = User("agent", Role::kReporter)};
  api.Json(ask);
  const Value node = api.Get("/v1/nodes/gpu-2");
  EXPECT_EQ(Get(node, "deviceList.5.state"), "faulty");
  EXPECT_EQ(Get(node, "deviceList.1.state"), "idle");
  EXPECT_EQ(Get(node, "devices.faulty"), "2");
  EXPECT_EQ(Get(api.Get("/v1/nodes/gpu-1"), "deviceList.0.job"), "1");
  ApiSite::Ask wrong = ask;
  wrong.body = R"({"node": "gpu-2", "faulty": [8]})";
  EXPECT_THAT(api.Refusal(wrong, 400), HasSubstr("has 8 devices"));
  wrong.body = R"({"node": "gpu-x", "faulty": []})";
  api.Refusal(wrong, 404);
  wrong.body = R"({"node": "gpu-2"})";
  EXPECT_THAT(api.Refusal(wrong, 400), HasSubstr("faulty"));
}

TEST(Topology, IsATree) {
  ApiSite api;
  api.Submit(Job(1, 8));
  const Value tree = api.Get("/v1/topology");
  EXPECT_EQ(Get(tree, "levels"), R"(["any","leaf","node"])");
  EXPECT_EQ(Get(tree, "root.nodeCount"), "4");
  EXPECT_THAT(Each(*Find(tree, "root.children"), "name"), ElementsAre("leaf-1", "leaf-2"));
  EXPECT_EQ(Get(tree, "root.children.0.nodes"), R"(["gpu-1","gpu-2"])");
  EXPECT_EQ(Get(tree, "root.children.0.devices.allocated"), "8");
  EXPECT_EQ(Get(tree, "root.children.1.devices.allocated"), "0");
}

TEST(Topology, OfNoNodesAndNoLevels) {
  ApiSite api([](server::Site& site) {
    site.driver.nodes.clear();
    site.options.initial.policy.topology.levels.clear();
  });
  const Value tree = api.Get("/v1/topology");
  EXPECT_EQ(Get(tree, "root.nodeCount"), "0");
  EXPECT_EQ(Get(tree, "root.nodes"), "[]");
  EXPECT_EQ(Get(api.Get("/v1/inventory"), "devices.total"), "0");
  EXPECT_EQ(Get(api.Get("/v1/nodes"), "nodes"), "[]");
}

TEST(Inventory, ByModelAndDomain) {
  ApiSite api([](server::Site& site) {
    for (model::Device& device : site.driver.nodes[3].devices) device.model = "L40S";
  });
  const Value all = api.Get("/v1/inventory");
  EXPECT_EQ(Get(all, "devices.idle"), "32");
  EXPECT_THAT(Each(*Find(all, "models"), "devices.total"), ElementsAre("24", "8"));
  EXPECT_EQ(Get(all, "nodes.ready"), "4");
  EXPECT_EQ(Get(all, "domains"), "(none)");
  const Value leaves = api.Get("/v1/inventory?level=leaf");
  EXPECT_THAT(Each(*Find(leaves, "domains"), "name"), ElementsAre("leaf-1", "leaf-2"));
  EXPECT_THAT(Each(*Find(leaves, "domains.0.models"), "model"), ElementsAre("H100"));
  EXPECT_THAT(Each(*Find(leaves, "domains.1.models"), "model"), ElementsAre("H100", "L40S"));
  EXPECT_THAT(api.Refusal({.target = "/v1/inventory?level=leav"}, 400), HasSubstr("leaf"));
}

TEST(Queues, CountTheirJobs) {
  ApiSite api;
  api.Submit(Job(2, 8));
  api.Submit(Job(9, 8));
  api.Submit(Job(9, 8));
  api.Json({.method = "POST", .target = "/v1/jobs/3/hold"});
  const Value queues = api.Get("/v1/queues");
  EXPECT_EQ(Get(queues, "queues.0.name"), "default");
  EXPECT_EQ(Get(queues, "queues.0.order"), "fifo");
  EXPECT_EQ(Get(queues, "queues.0.jobs"),
            R"({"held":1,"waiting":1,"starting":1,"running":0,"stopping":0})");
  EXPECT_EQ(Get(queues, "queues.0.gpus"), "16");
}

constexpr const char* kPolicy = R"(# two queues
apiVersion: muster/v1
kind: Policy
queues:
  - {name: research, blocking: strict}
defaults: {queue: research}
)";

TEST(Policy, IsGivenBackByteForByte) {
  ApiSite api;
  api.Submit(Job(9, 8));
  const Value before = api.Get("/v1/policy");
  EXPECT_EQ(Get(before, "isDefault"), "true");
  EXPECT_TRUE(format::ParsePolicy(Get(before, "text"), "text"));
  api.Json({.method = "PUT", .target = "/v1/policy", .body = kPolicy, .caller = Admin()});
  const Value after = api.Get("/v1/policy");
  EXPECT_EQ(Get(after, "text"), kPolicy);
  EXPECT_EQ(Get(after, "isDefault"), "false");
  EXPECT_EQ(Get(after, "document.queues.0.blocking"), "strict");
  const Value queues = api.Get("/v1/queues");
  EXPECT_THAT(Each(*Find(queues, "queues"), "name"), ElementsAre("research", "default"));
  EXPECT_THAT(Each(*Find(queues, "queues"), "inPolicy"), ElementsAre("true", "false"));
  EXPECT_EQ(Get(api.Get("/v1/jobs/1/why"), "reason.code"), "unknown-queue");
}

TEST(Policy, FaultsAreRefusedWithTheirPlace) {
  ApiSite api;
  EXPECT_THAT(api.Refusal({.method = "PUT",
                           .target = "/v1/policy",
                           .body = std::string(kPolicy) + "placement: {strategy: magic}\n",
                           .caller = Admin()},
                          400),
              HasSubstr("body:7:"));
  api.Refusal({.method = "PUT", .target = "/v1/policy", .body = kPolicy, .caller = Operator()},
              403);
}

TEST(Usage, IsSummedAsAsked) {
  ApiSite api([](server::Site& site) {
    for (model::Device& device : site.driver.nodes[3].devices) device.model = "L40S";
  });
  const auto run = [&api](const model::JobSpec& spec, const std::string& user, bool fails) {
    const model::JobId job = api.Submit(spec, user);
    api.Run(job);
    api.site.clock.now = api.site.clock.now + base::Seconds(10);
    api.End(job, {.kind = driver::RankExit::Kind::kExited, .code = fails ? 1 : 0});
  };
  run(Job(2, 8), "ana", false);
  run(Job(1, 4), "bob", true);
  model::JobSpec slow = Job(1, 1);
  slow.request.groups[0].shape.models = {"L40S"};
  run(slow, "bob", false);
  const Value usage = api.Get("/v1/usage?by=user");
  EXPECT_EQ(Get(usage, "by"), R"(["user"])");
  EXPECT_THAT(Each(*Find(usage, "rows"), "user"), ElementsAre("ana", "bob"));
  EXPECT_THAT(Get(usage, "rows.0.allocatedGpuSeconds"), HasSubstr("160.0"));
  EXPECT_EQ(Get(usage, "rows.0.lostGpuSeconds"), "0");
  EXPECT_THAT(Get(usage, "rows.1.lostGpuSeconds"), HasSubstr("40.0"));
  EXPECT_THAT(Each(*Find(api.Get("/v1/usage"), "rows"), "model"),
              ElementsAre("H100", "H100", "L40S"));
  EXPECT_THAT(Each(*Find(api.Get("/v1/usage?by=day"), "rows"), "day"), ElementsAre("2023-11-14"));
  EXPECT_EQ(Get(api.Get("/v1/usage?to=2023-11-13"), "rows"), "[]");
  EXPECT_EQ(Get(api.Get("/v1/usage?from=2023-11-15"), "rows"), "[]");
  EXPECT_EQ(Find(api.Get("/v1/usage?from=2023-11-14&to=2023-11-14"), "rows")->items.size(), 3u);
  EXPECT_THAT(api.Refusal({.target = "/v1/usage?from=yesterday"}, 400), HasSubstr("from"));
  EXPECT_THAT(api.Refusal({.target = "/v1/usage?by=colour"}, 400), HasSubstr("by"));
}

TEST(Audit, NewestFirstInPages) {
  ApiSite api;
  api.Submit(Job(9, 8));
  api.Json({.method = "POST", .target = "/v1/jobs/1/hold"});
  api.Refusal({.method = "POST", .target = "/v1/jobs/1/cancel", .caller = User("bob")}, 403);
  std::vector<std::string> acts;
  std::string cursor = "99999";
  for (int page = 0; page < 9 && cursor != "(none)"; ++page) {
    const Value list =
        api.Json({.target = "/v1/audit?limit=2&cursor=" + cursor, .caller = Operator()});
    for (const Value& entry : Find(list, "entries")->items) {
      acts.push_back(Format("{} {} {} {}", Get(entry, "user"), Get(entry, "action"),
                            Get(entry, "target"), Get(entry, "allowed")));
    }
    cursor = Get(list, "next");
  }
  EXPECT_THAT(acts, ElementsAre("bob cancel job 1 false", "ana hold job 1 true",
                                HasSubstr("ana submit job 1")));
  api.Refusal({.target = "/v1/audit"}, 403);
}

TEST(Tokens, TheSecretIsShownOnce) {
  ApiSite api;
  const Value made =
      api.Json({.method = "POST",
                .target = "/v1/tokens",
                .body = R"({"name": "ci", "role": "user", "user": "ci", "uid": 990, "gid": 990,)"
                        R"( "lifetime": "1d"})",
                .caller = Admin()},
               201);
  const std::string secret = Get(made, "secret");
  EXPECT_GT(secret.size(), 30u);
  EXPECT_EQ(api.site.server->Look()->tables.tokens->front().hash, HashOf(secret));
  EXPECT_THAT(Get(made, "expires"), HasSubstr("2023-11-15T22:13:20"));
  const HttpResponse list = api.Call({.target = "/v1/tokens", .caller = Admin()});
  EXPECT_THAT(list.body, HasSubstr(R"("name":"ci","role":"user","user":"ci","uid":990)"));
  EXPECT_THAT(list.body, Not(HasSubstr(HashOf(secret))));
  const Value own = api.Json({.method = "POST",
                              .target = "/v1/tokens",
                              .body = R"({"name": "mine", "role": "viewer"})",
                              .caller = Admin()},
                             201);
  EXPECT_EQ(Get(own, "user"), "root");
  EXPECT_EQ(Get(own, "expires"), "(none)");
  api.Json({.method = "DELETE", .target = "/v1/tokens/mine", .caller = Admin()});
  EXPECT_EQ(Find(api.Json({.target = "/v1/tokens", .caller = Admin()}), "tokens")->items.size(),
            1u);
}

TEST(Tokens, WhatIsRefused) {
  ApiSite api;
  const auto make = [&api](const std::string& body, int status, server::Caller caller = Admin()) {
    return api.Refusal(
        {.method = "POST", .target = "/v1/tokens", .body = body, .caller = std::move(caller)},
        status);
  };
  EXPECT_THAT(make(R"({"name": "a", "role": "king"})", 400), HasSubstr("admin"));
  EXPECT_THAT(make(R"({"name": "a", "role": "user", "user": "bob"})", 400), HasSubstr("uid"));
  make(R"({"name": "a", "role": "user"})", 403, Operator());
  api.Refusal({.method = "DELETE", .target = "/v1/tokens/none", .caller = Admin()}, 404);
}

TEST(Pause, ShowsWhereverOneLooks) {
  ApiSite api;
  api.Json({.method = "POST",
            .target = "/v1/pause",
            .body = R"({"paused": true, "reason": "new switch"})",
            .caller = Operator()});
  api.Submit(Job(1, 8));
  const Value status = api.Get("/v1/status");
  EXPECT_EQ(Get(status, "pause.paused"), "true");
  EXPECT_EQ(Get(status, "pause.reason"), "oli: new switch");
  EXPECT_EQ(Get(status, "jobs.waiting"), "1");
  EXPECT_THAT(Get(api.Get("/v1/jobs/1/why"), "summary"), HasSubstr("(oli: new switch)"));
  api.Json({.method = "POST",
            .target = "/v1/pause",
            .body = R"({"paused": false})",
            .caller = Operator()});
  EXPECT_EQ(Get(api.Get("/v1/status"), "pause"), R"({"paused":false})");
  EXPECT_EQ(Get(api.Get("/v1/jobs/1"), "state"), "starting");
}

TEST(Health, NotReadyWhileInTrouble) {
  ApiSite api;
  EXPECT_EQ(Get(api.Get("/healthz"), "status"), "ok");
  EXPECT_EQ(Get(api.Get("/readyz"), "status"), "ready");
  auto troubled = std::make_shared<server::Picture>(*api.site.server->Look());
  troubled->trouble = "the disk is full";
  api.picture = troubled;
  EXPECT_EQ(Get(api.Get("/healthz"), "status"), "ok");
  EXPECT_THAT(api.Refusal({.target = "/readyz"}, 503), HasSubstr("the disk is full"));
  EXPECT_EQ(Get(api.Get("/v1/status"), "trouble"), "the disk is full");
}

std::vector<std::string> Kinds(const std::vector<SentEvent>& events) {
  std::vector<std::string> kinds;
  for (const SentEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

TEST(Events, FromNowOnOrFromAnId) {
  ApiSite api;
  api.Submit(Job(1, 8));
  auto streamed = api.Stream({.target = "/v1/events"});
  EXPECT_THAT(Kinds(streamed.events), ElementsAre());
  const std::string start = streamed.part.cursor;
  api.Run(api.Submit(Job(1, 8)));
  streamed = api.Stream({.target = "/v1/events"}, start);
  EXPECT_THAT(Kinds(streamed.events), ElementsAre("submitted", "placed", "running"));
  EXPECT_EQ(streamed.events[1].id, Get(streamed.events[1].data, "id"));
  EXPECT_EQ(api.Stream({.target = "/v1/events"}, streamed.part.cursor).part.text, "");
  const auto again = api.Stream({.target = "/v1/events", .last_id = streamed.events[1].id});
  EXPECT_THAT(Kinds(again.events), ElementsAre("running"));
  const auto all = api.Stream({.target = "/v1/events?after=0&job=2&kind=placed,running"});
  EXPECT_THAT(Kinds(all.events), ElementsAre("placed", "running"));
  EXPECT_EQ(api.Stream({.target = "/v1/events?kind=x"}).part.instead->status, 400);
  EXPECT_EQ(api.Stream({.target = "/v1/events?after=x"}).part.instead->status, 400);
}

TEST(Events, GapsAreTold) {
  ApiSite api;
  auto old = std::make_shared<server::Picture>(*api.site.server->Look());
  auto& events = old->tables.events;
  events = {};
  for (std::uint64_t i = 1; i <= 700; ++i)
    events.PushBack({.id = i * 10, .kind = server::EventKind::kNode, .text = "x"});
  api.picture = old;
  EXPECT_EQ(api.Stream({.target = "/v1/events?after=0"}).events.size(), 700u);
  events.DropChunk(0);
  events.DropChunk(1);
  const std::uint64_t first = events[512].id;
  const auto streamed = api.Stream({.target = "/v1/events?after=20"});
  ASSERT_EQ(streamed.events.size(), 1u + 700 - 512);
  EXPECT_EQ(streamed.events[0].kind, "gap");
  EXPECT_EQ(Get(streamed.events[0].data, "first"), std::to_string(first));
  EXPECT_EQ(streamed.events[1].id, std::to_string(first));
  EXPECT_EQ(streamed.part.cursor, "7000");
  EXPECT_EQ(api.Stream({.target = Format("/v1/events?after={}", first)}).events[0].kind, "node");
  // Ids from another journal.
  const auto ahead = api.Stream({.target = "/v1/events?after=99999999"});
  EXPECT_EQ(ahead.events[0].kind, "gap");
}

TEST(Events, ManyComeInSeveralParts) {
  ApiSite api;
  auto many = std::make_shared<server::Picture>(*api.site.server->Look());
  many->tables.events = {};
  for (std::uint64_t i = 1; i <= 2500; ++i) many->tables.events.PushBack({.id = i});
  api.picture = many;
  std::string cursor = "0";
  std::vector<std::size_t> sizes;
  for (int part = 0; part < 4; ++part) {
    const auto streamed = api.Stream({.target = "/v1/events"}, cursor);
    sizes.push_back(streamed.events.size());
    cursor = streamed.part.cursor;
  }
  EXPECT_THAT(sizes, ElementsAre(1000u, 1000u, 500u, 0u));
}

}  // namespace
}  // namespace muster::api
