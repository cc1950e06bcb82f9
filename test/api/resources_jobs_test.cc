// SPDX-License-Identifier: Apache-2.0
// Jobs through the API: submitted, listed, shown, acted on, and their output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"
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
using testing::IsEmpty;
using Exit = driver::RankExit;

constexpr const char* kTrain = R"(
apiVersion: muster/v1
kind: Job
metadata: {name: llama, labels: {team: nlp}}
spec:
  tasks:
    - {name: worker, replicas: 2, resources: {gpu: 8}, command: [train, --fast], env: {KEY: secret}}
)";

std::vector<std::string> Ids(const Value& list) {
  std::vector<std::string> ids;
  for (const Value& job : Find(list, "jobs")->items) ids.push_back(Get(job, "id"));
  return ids;
}

std::string Header(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(SubmitJobs, TakesYamlAndAnswersWithIds) {
  ApiSite api;
  const Value made = api.Json(
      {.method = "POST", .target = "/v1/jobs", .body = std::string(kTrain) + "---" + kTrain}, 201);
  EXPECT_EQ(Get(made, "jobs"), R"([{"id":1,"name":"llama"},{"id":2,"name":"llama"}])");
  EXPECT_EQ(Get(made, "repeated"), "false");
}

TEST(SubmitJobs, TheSameKeyGivesTheSameJobs) {
  ApiSite api;
  const ApiSite::Ask ask{.method = "POST", .target = "/v1/jobs", .body = kTrain, .key = "k1"};
  EXPECT_EQ(Get(api.Json(ask, 201), "jobs.0.id"), "1");
  const Value again = api.Json(ask, 201);
  EXPECT_EQ(Get(again, "jobs.0.id"), "1");
  EXPECT_EQ(Get(again, "repeated"), "true");
}

TEST(SubmitJobs, TellsEveryFaultWithItsPlace) {
  ApiSite api;
  const Value problem = api.Json({.method = "POST",
                                  .target = "/v1/jobs",
                                  .body = "apiVersion: muster/v1\nkind: Job\nmetadata: {}\n"
                                          "spec: {tasks: [{replicas: -1, gpus: 8}]}\n"},
                                 400);
  EXPECT_GT(Find(problem, "errors")->items.size(), 1u);
  EXPECT_EQ(Get(problem, "errors.0.where"), "body:3:11");
}

TEST(SubmitJobs, NeedsARoleAndABody) {
  ApiSite api;
  api.Refusal({.method = "POST",
               .target = "/v1/jobs",
               .body = kTrain,
               .caller = User("bob", Role::kViewer)},
              403);
  api.Refusal({.method = "POST", .target = "/v1/jobs"}, 400);
}

TEST(DryRun, SaysWhatWouldBecomeOfAJob) {
  ApiSite api;
  api.Submit(Job(3, 8));
  const auto judge = [&api](const std::string& resources, const std::string& more = "") {
    const std::string body =
        Format(R"({{"apiVersion":"muster/v1","kind":"Job","metadata":{{"name":"x"}},"spec":)"
               R"({{"tasks":[{{"name":"w",{},"command":["a"]}}]{}}}}})",
               resources, more);
    return api.Json({.method = "POST", .target = "/v1/jobs?dryRun=true", .body = body});
  };
  const Value fits = judge(R"("resources":{"gpu":8})");
  EXPECT_EQ(Get(fits, "jobs.0.outcome"), "placed");
  EXPECT_EQ(Get(fits, "jobs.0.summary"), "There is room for it: it would be started at once.");
  const Value busy = judge(R"("replicas":2,"resources":{"gpu":8})");
  EXPECT_EQ(Get(busy, "jobs.0.outcome"), "not-now");
  EXPECT_EQ(Get(busy, "jobs.0.summary"), "2 replicas of 8 GPUs wanted; there is room for 1.");
  const Value huge = judge(R"("replicas":5,"resources":{"gpu":8})");
  EXPECT_EQ(Get(huge, "jobs.0.outcome"), "never");
  const Value leafless = judge(R"("resources":{"gpu":8})", R"(,"topology":{"required":"rack"})");
  EXPECT_EQ(Get(leafless, "jobs.0.outcome"), "never");
  EXPECT_THAT(Get(leafless, "jobs.0.summary"), HasSubstr("topology level rack"));
  EXPECT_THAT(Ids(api.Get("/v1/jobs")), ElementsAre("1")) << "nothing was submitted";
}

TEST(DryRun, KnowsWhatNodesAreInAndWhatIsUsed) {
  ApiSite api;
  const auto outcome = [&api](const std::string& resources) {
    const std::string body =
        Format(R"({{"apiVersion":"muster/v1","kind":"Job","metadata":{{"name":"x"}},"spec":)"
               R"({{"tasks":[{{"name":"w","replicas":4,"resources":{{{}}},"command":["a"]}}]}}}})",
               resources);
    return Get(api.Json({.method = "POST", .target = "/v1/jobs?dryRun=true", .body = body}),
               "jobs.0.outcome");
  };
  EXPECT_EQ(outcome(R"("gpu":8)"), "placed");
  model::JobSpec cpus = Job(1, 0);
  cpus.request.groups[0].shape.cpu = base::MilliCpu::Of(60'000);
  api.Submit(cpus);
  EXPECT_EQ(outcome(R"("cpu":8)"), "placed");
  EXPECT_EQ(outcome(R"("cpu":64)"), "not-now") << "60 CPUs of one node are in use";
  ASSERT_TRUE(
      api.site.Ask(Admin(), server::SetNodeState{"gpu-4", model::NodeState::kCordoned, "x"}));
  EXPECT_EQ(outcome(R"("gpu":8)"), "not-now");
  ASSERT_TRUE(api.site.Ask(Admin(), server::SetNodeState{"gpu-4", model::NodeState::kReady, "x"}));
  ASSERT_TRUE(api.site.Ask(Admin(), server::ReportHealth{"gpu-3", 1, "ECC"}));
  EXPECT_EQ(outcome(R"("gpu":8)"), "not-now");
}

TEST(DryRun, RefusesNamesThatThePolicyLacks) {
  ApiSite api;
  std::string body = kTrain;
  body.insert(body.find("labels"), "queue: defualt, ");
  EXPECT_THAT(api.Refusal({.method = "POST", .target = "/v1/jobs?dryRun=true", .body = body}, 400),
              HasSubstr("metadata.queue"));
}

TEST(ListJobs, FiltersAndOrders) {
  ApiSite api;
  model::JobSpec labelled = Job(1, 8, "llama-1");
  labelled.labels = {{"team", "nlp"}};
  api.Submit(labelled);
  api.Submit(Job(2, 8, "llama-2"), "bob");
  api.Submit(Job(9, 8, "other"));
  api.End(model::JobId{1});
  struct Case {
    const char* query;
    std::vector<std::string> ids;
  };
  const Case cases[] = {
      {"", {"3", "2", "1"}},
      {"?order=oldest", {"1", "2", "3"}},
      {"?state=waiting", {"3"}},
      {"?state=starting,completed", {"2", "1"}},
      {"?state=active", {"3", "2"}},
      {"?user=bob", {"2"}},
      {"?queue=default", {"3", "2", "1"}},
      {"?queue=x", {}},
      {"?name=llama*", {"2", "1"}},
      {"?name=other", {"3"}},
      {"?name=llama", {}},
      {"?label=team=nlp", {"1"}},
      {"?label=team=vision", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.query);
    EXPECT_EQ(Ids(api.Get(std::string("/v1/jobs") + c.query)), c.ids);
  }
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs?state=runing"}, 400), HasSubstr("running"));
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs?limit=1001"}, 400), HasSubstr("1000"));
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs?label=team"}, 400), HasSubstr("key=value"));
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs?colour=red"}, 400), HasSubstr("colour"));
}

TEST(ListJobs, PagesStayStableWhileJobsCome) {
  ApiSite api;
  for (int i = 0; i < 5; ++i) api.Submit(Job(1, 1));
  const Value first = api.Get("/v1/jobs?limit=2");
  EXPECT_THAT(Ids(first), ElementsAre("5", "4"));
  api.Submit(Job(1, 1));
  const Value second = api.Get("/v1/jobs?limit=2&cursor=" + Get(first, "next"));
  EXPECT_THAT(Ids(second), ElementsAre("3", "2"));
  const Value third = api.Get("/v1/jobs?limit=2&cursor=" + Get(second, "next"));
  EXPECT_THAT(Ids(third), ElementsAre("1"));
  EXPECT_EQ(Get(third, "next"), "(none)");
  const Value oldest = api.Get("/v1/jobs?limit=4&order=oldest");
  EXPECT_THAT(Ids(oldest), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(Ids(api.Get("/v1/jobs?limit=4&order=oldest&cursor=" + Get(oldest, "next"))),
              ElementsAre("5", "6"));
}

TEST(ListJobs, RowsAreWhatPeopleLookFor) {
  ApiSite api;
  api.Submit(Job(2, 8, "big"));
  const Value row = *Find(api.Get("/v1/jobs"), "jobs.0");
  EXPECT_EQ(Get(row, "name"), "big");
  EXPECT_EQ(Get(row, "user"), "ana");
  EXPECT_EQ(Get(row, "queue"), "default");
  EXPECT_EQ(Get(row, "priorityClass"), "normal");
  EXPECT_EQ(Get(row, "state"), "starting");
  EXPECT_EQ(Get(row, "gpus"), "16");
  EXPECT_EQ(Get(row, "replicas"), "2");
  EXPECT_EQ(Get(row, "attempt"), "1");
  EXPECT_EQ(Get(row, "nodes"), R"({"count":2,"first":["gpu-1","gpu-2"]})");
  EXPECT_EQ(Get(row, "ended"), "(none)");
}

TEST(ListJobs, ReasonsThatCostNothing) {
  ApiSite api;
  const auto reason = [&api](std::uint32_t id) {
    return Get(api.Get(Format("/v1/jobs/{}", id)), "reason.code");
  };
  model::JobSpec later = Job(1, 1);
  later.start_after = base::Hours(1);
  api.Submit(later);
  EXPECT_EQ(reason(1), "start-after");
  api.Json({.method = "POST", .target = "/v1/jobs/1/hold"});
  EXPECT_EQ(reason(1), "held-by-user");
  api.Json({.method = "POST", .target = "/v1/jobs/1/cancel"});
  EXPECT_EQ(reason(1), "cancelled");
  model::JobSpec stubborn = Job(1, 1);
  stubborn.request.restart.limit = 5;
  const model::JobId job = api.Submit(stubborn);
  EXPECT_EQ(reason(2), "(none)");
  api.Json(
      {.method = "POST", .target = "/v1/pause", .body = R"({"paused": true})", .caller = Admin()});
  api.End(job, {.kind = Exit::Kind::kExited, .code = 3});
  EXPECT_EQ(reason(2), "starts-paused");
}

TEST(GetJob, TheEnvironmentIsForOwnersAndAdmins) {
  ApiSite api;
  api.Json({.method = "POST", .target = "/v1/jobs", .body = kTrain}, 201);
  const auto env = [&api](const server::Caller& caller) {
    const Value job = api.Json({.target = "/v1/jobs/1", .caller = caller});
    return Get(job, "document.spec.tasks.0.env") + " " + Get(job, "envHidden");
  };
  EXPECT_EQ(env(User("ana")), R"({"KEY":"secret"} (none))");
  EXPECT_EQ(env(Admin()), R"({"KEY":"secret"} (none))");
  EXPECT_EQ(env(User("bob")), "(none) true");
  EXPECT_EQ(env(User("bob", Role::kOperator)), "(none) true");
  const HttpResponse seen = api.Call({.target = "/v1/jobs/1", .caller = User("bob")});
  EXPECT_THAT(seen.body, Not(HasSubstr("secret")));
  EXPECT_THAT(seen.body, HasSubstr("--fast"));
}

TEST(GetJob, ShowsAttemptsOwnerAndCheckpoint) {
  ApiSite api;
  model::JobSpec spec = Job(2, 8);
  spec.request.restart.limit = 1;
  const model::JobId job = api.Submit(spec);
  api.Run(job);
  api.Json({.method = "POST",
            .target = "/v1/jobs/1/checkpoints",
            .body = R"({"step": 40, "path": "/ckpt/40"})"});
  api.End(job, {.kind = Exit::Kind::kOutOfMemory, .code = 9});
  const Value shown = api.Get("/v1/jobs/1");
  EXPECT_EQ(Get(shown, "owner"), R"({"user":"ana","uid":1000,"gid":1000})");
  EXPECT_EQ(Get(shown, "checkpoint.step"), "40");
  EXPECT_EQ(Get(shown, "checkpoint.path"), "/ckpt/40");
  EXPECT_EQ(Get(shown, "attempts.0.reason.code"), "task-failed");
  EXPECT_EQ(Get(shown, "attempts.0.failure.kind"), "out-of-memory");
  EXPECT_EQ(Get(shown, "attempts.0.nodes"), R"(["gpu-1","gpu-2"])");
  EXPECT_EQ(Get(shown, "attempts.0.level"), "leaf");
  EXPECT_EQ(Get(shown, "attempts.1.number"), "2");
  EXPECT_EQ(Get(shown, "attempt"), "2");
  const Value attempts = api.Get("/v1/jobs/1/attempts?attempt=2&first=1&limit=5");
  EXPECT_EQ(Get(attempts, "attempts.0.ranks"),
            R"([{"rank":1,"group":"worker","node":"gpu-2","devices":[0,1,2,3,4,5,6,7],)"
            R"("cpu":"64","memory":"512Gi"}])");
  EXPECT_EQ(Get(api.Get("/v1/jobs/1/attempts?first=9"), "attempts.0.ranks"), "[]");
}

TEST(ActOnJobs, TheServerJudgesWhoseJobItIs) {
  ApiSite api;
  api.Submit(Job(1, 1));
  EXPECT_EQ(Get(api.Json({.method = "POST", .target = "/v1/jobs/1/requeue"}), "jobs"), "[1]");
  EXPECT_THAT(
      api.Refusal({.method = "POST", .target = "/v1/jobs/1/cancel", .caller = User("bob")}, 403),
      HasSubstr("belongs to ana"));
  api.Refusal({.method = "POST", .target = "/v1/jobs/9/cancel"}, 404);
  const Value held = api.Json({.method = "POST", .target = "/v1/jobs/1/hold", .caller = Admin()});
  EXPECT_EQ(Find(held, "notes")->items.size(), 1u) << "it goes on until it is requeued";
  api.Json({.method = "POST", .target = "/v1/jobs/1/release"});
  EXPECT_THAT(api.Refusal({.method = "POST", .target = "/v1/jobs/1/checkpoint"}, 422),
              HasSubstr("does not run"));
}

TEST(ActOnJobs, AnotherPriorityClass) {
  ApiSite api([](server::Site& site) {
    site.options.initial.policy.priority_classes.push_back({.name = "urgent", .value = 500});
  });
  api.Submit(Job(9, 8));
  api.Json({.method = "PATCH", .target = "/v1/jobs/1", .body = R"({"priorityClass": "urgent"})"});
  EXPECT_EQ(Get(api.Get("/v1/jobs/1"), "priorityClass"), "urgent");
  EXPECT_THAT(
      api.Refusal({.method = "PATCH", .target = "/v1/jobs/1", .body = R"({"clas": "x"})"}, 400),
      HasSubstr("priorityClass"));
}

TEST(ReportCheckpoint, ByTheTokenOfTheAttempt) {
  ApiSite api;
  const model::JobId job = api.Submit(Job(1, 8));
  api.Run(job);
  const server::Caller task{.account = User("ana").account,
                            .role = Role::kViewer,
                            .attempt = driver::GangId{job, model::Attempt{1}}};
  api.Json({.method = "POST",
            .target = "/v1/jobs/1/checkpoints",
            .body = R"({"step": 7})",
            .caller = task});
  EXPECT_EQ(Get(api.Get("/v1/jobs/1"), "checkpoint.step"), "7");
  api.Refusal({.method = "POST",
               .target = "/v1/jobs/1/checkpoints",
               .body = R"({"step": 8, "attempt": 2})",
               .caller = task},
              403);
  api.Refusal({.target = "/v1/jobs/1", .caller = task}, 403);
}

TEST(JobEvents, ArePagedOldestFirst) {
  ApiSite api;
  const model::JobId job = api.Submit(Job(1, 8));
  api.Submit(Job(1, 8));
  api.Run(job);
  api.End(job);
  std::vector<std::string> kinds;
  std::string after = "0";
  for (int page = 0; page < 9; ++page) {
    const Value list = api.Get("/v1/jobs/1/events?limit=3&after=" + after);
    for (const Value& event : Find(list, "events")->items) {
      kinds.push_back(Get(event, "kind"));
      EXPECT_EQ(Get(event, "job"), "1");
    }
    after = Get(list, "next");
    if (after == "(none)") break;
  }
  EXPECT_THAT(kinds, ElementsAre("submitted", "placed", "running", "ended"));
}

TEST(Logs, AreBytesWithTheirPlace) {
  ApiSite api;
  const model::JobId job = api.Submit(Job(2, 8));
  const std::string bytes("one\n\xff\0two", 9);
  api.logs[{{job, {1}}, 1}] = {.bytes = bytes, .from = 100};
  const HttpResponse all = api.Call({.target = "/v1/jobs/1/logs?rank=1"});
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(all.body, bytes);
  EXPECT_EQ(Header(all, "X-Log-Attempt"), "1");
  EXPECT_EQ(Header(all, "X-Log-Offset"), "100") << "what came before was rotated away";
  EXPECT_EQ(Header(all, "X-Log-End"), "109");
  const HttpResponse part = api.Call({.target = "/v1/jobs/1/logs?rank=1&offset=104&limit=2"});
  EXPECT_EQ(part.body, bytes.substr(4, 2));
  EXPECT_EQ(api.Call({.target = "/v1/jobs/1/logs?rank=1&tail=3"}).body, "two");
  EXPECT_EQ(api.Call({.target = "/v1/jobs/1/logs?rank=1&tail=999"}).body, bytes);
  EXPECT_EQ(api.Call({.target = "/v1/jobs/1/logs?rank=5"}).status, 404);
  EXPECT_EQ(api.Call({.target = "/v1/jobs/1/logs?attempt=5"}).status, 404);
}

TEST(Logs, AreForOwnersAndAdmins) {
  ApiSite api;
  api.logs[{{api.Submit(Job(1, 8)), {1}}, 0}] = {.bytes = "secret"};
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs/1/logs", .caller = User("bob")}, 403),
              HasSubstr("ana and admins"));
  EXPECT_EQ(api.Call({.target = "/v1/jobs/1/logs", .caller = Admin()}).body, "secret");
  const auto stream = api.Stream({.target = "/v1/jobs/1/logs/stream", .caller = User("bob")});
  ASSERT_TRUE(stream.part.instead);
  EXPECT_EQ(stream.part.instead->status, 403);
}

TEST(Logs, OfAJobThatNeverStarted) {
  ApiSite api;
  api.Submit(Job(9, 8));
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs/1/logs"}, 404), HasSubstr("never started"));
}

TEST(LogStream, FollowsAnAttemptToItsEnd) {
  ApiSite api;
  const model::JobId blocker = api.Submit(Job(4, 8));
  const model::JobId job = api.Submit(Job(1, 8));
  const ApiSite::Ask ask{.target = "/v1/jobs/2/logs/stream"};
  auto streamed = api.Stream(ask);
  EXPECT_FALSE(streamed.part.instead) << "it waits for the job";
  EXPECT_EQ(streamed.part.text, "");
  api.End(blocker);
  streamed = api.Stream(ask, streamed.part.cursor);
  EXPECT_THAT(streamed.events, IsEmpty()) << "started, nothing written";
  auto& log = api.logs[{{job, {1}}, 0}];
  log.bytes = "caf\xc3";
  streamed = api.Stream(ask, streamed.part.cursor);
  ASSERT_EQ(streamed.events.size(), 1u);
  EXPECT_EQ(Get(streamed.events[0].data, "text"), "caf") << "half a character waits for the rest";
  log.bytes += "\xa9\n";
  streamed = api.Stream(ask, streamed.part.cursor);
  EXPECT_EQ(Get(streamed.events[0].data, "text"), "\xc3\xa9\n");
  EXPECT_EQ(streamed.events[0].id, "1:6");
  log.bytes += "\xff\xfe";
  streamed = api.Stream(ask, streamed.part.cursor);
  EXPECT_EQ(Get(streamed.events[0].data, "base64"), "//4=");
  EXPECT_FALSE(streamed.part.end);
  log.bytes += "bye \xc3";
  api.End(job);
  streamed = api.Stream(ask, streamed.part.cursor);
  ASSERT_EQ(streamed.events.size(), 2u);
  EXPECT_EQ(Get(streamed.events[0].data, "base64"), "YnllIMM=") << "no rest will come";
  EXPECT_EQ(streamed.events[1].kind, "end");
  EXPECT_EQ(Get(streamed.events[1].data, "state"), "completed");
  EXPECT_TRUE(streamed.part.end);
}

TEST(LogStream, CanBeTakenUpAndBegunAtTheTail) {
  ApiSite api;
  api.logs[{{api.Submit(Job(1, 8)), {1}}, 0}] = {.bytes = "one two"};
  EXPECT_EQ(Get(api.Stream({.target = "/v1/jobs/1/logs/stream?tail=3"}).events[0].data, "text"),
            "two");
  EXPECT_EQ(Get(api.Stream({.target = "/v1/jobs/1/logs/stream", .last_id = "1:4"}).events[0].data,
                "text"),
            "two");
  EXPECT_TRUE(api.Stream({.target = "/v1/jobs/1/logs/stream?after=x"}).part.instead);
  EXPECT_TRUE(api.Stream({.target = "/v1/jobs/5/logs/stream"}).part.instead);
}

TEST(LogStream, LongOutputComesInPieces) {
  ApiSite api;
  std::string text;
  for (int i = 0; text.size() < 600'000; ++i) text += Format("line {} \xc3\xa9\n", i);
  api.logs[{{api.Submit(Job(1, 8)), {1}}, 0}] = {.bytes = text};
  std::string seen;
  std::string cursor;
  for (int call = 0; call < 20 && seen.size() < text.size(); ++call) {
    const auto streamed = api.Stream({.target = "/v1/jobs/1/logs/stream"}, cursor);
    EXPECT_LT(streamed.part.text.size(), 400'000u);
    cursor = streamed.part.cursor;
    for (const SentEvent& event : streamed.events) seen += Get(event.data, "text");
  }
  EXPECT_EQ(seen, text);
}

}  // namespace
}  // namespace muster::api
