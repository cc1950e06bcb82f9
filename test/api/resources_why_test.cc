// SPDX-License-Identifier: Apache-2.0
// What people read when they ask why.
#include "api/resources/why_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/resources/shapes.h"
#include "test/api/api_site.h"

namespace muster::api {
namespace {

using model::Outcome;
using model::Reason;
using model::ReasonCode;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::Instant kNoon{1'769'860'800'000'000};  // 2026-01-31T12:00:00Z

/// Two replicas of 8 GPUs wanted inside one leaf, one fits; the rest is up to the case.
struct Teller {
  Teller() {
    model::TaskGroup group{.name = "worker", .replicas = 2, .min_replicas = 2};
    group.shape.gpu = base::MilliGpu::Of(8000);
    request.groups = {group};
    story.id = model::JobId{12};
    story.queue = "research";
    story.levels = {"node", "leaf", "spine", "any"};
    story.now = kNoon;
    story.submitted = kNoon;
    story.why.known = true;
    story.why.waiting = true;
    story.why.outcome = Outcome::kNotNow;
    story.why.group = 0;
    story.why.level = "leaf";
    story.why.best_domain = "leaf-1";
    story.why.wanted = 2;
    story.why.have = 1;
    story.why.position = 1;
  }
  WhyText Tell() {
    story.request = &request;
    return TellWhy(story);
  }
  server::AttemptRecord& Attempt() {
    attempt = {.number = model::Attempt{2},
               .placed = kNoon,
               .running = kNoon + base::Seconds(2),
               .ended = kNoon + base::Minutes(90)};
    story.last = &attempt;
    return attempt;
  }

  model::GangRequest request;
  Story story;
  server::AttemptRecord attempt;
};

struct WhyCase {
  const char* name;
  std::function<void(Teller&)> change;
  const char* summary;
};

/// As if the binding were this, where it is the only change.
std::function<void(Teller&)> Binding(ReasonCode code, std::int64_t count = 1) {
  return [=](Teller& t) { t.story.why.binding = {code, count}; };
}

const WhyCase kWaiting[] = {
    {"capacity",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kCapacity, 1};
       t.story.why.level = "any";
     },
     "2 replicas of 8 GPUs wanted; there is room for 1."},
    {"capacity, no room at all",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kCapacity, 2};
       t.story.why.level = "any";
       t.story.why.have = 0;
     },
     "2 replicas of 8 GPUs wanted; there is room for none."},
    {"topology", Binding(ReasonCode::kTopology),
     "2 replicas of 8 GPUs wanted inside one leaf; the best, leaf-1, has room for 1."},
    {"topology, no domain has room",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 2};
       t.story.why.have = 0;
     },
     "2 replicas of 8 GPUs wanted inside one leaf; no leaf has room for even one."},
    {"on one node",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.story.why.level = "node";
       t.story.why.best_domain = "gpu-1";
     },
     "2 replicas of 8 GPUs wanted on one node; the best, gpu-1, has room for 1."},
    {"elastic",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.request.groups[0].replicas = 8;
     },
     "At least 2 replicas of 8 GPUs wanted inside one leaf; the best, leaf-1, has room for 1."},
    {"one model",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.request.groups[0].shape.models = {"H100"};
     },
     "2 replicas of 8 H100 GPUs wanted inside one leaf; the best, leaf-1, has room for 1."},
    {"several models",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.request.groups[0].shape.models = {"H100", "H200"};
     },
     "2 replicas of 8 GPUs (H100 or H200) wanted inside one leaf; the best, leaf-1, has room for "
     "1."},
    {"CPUs only",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.request.groups[0].shape = {.cpu = base::MilliCpu::Of(500)};
     },
     "2 replicas of 0.5 CPUs wanted inside one leaf; the best, leaf-1, has room for 1."},
    {"one group of several",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.request.groups.push_back(t.request.groups[0]);
       t.request.groups[1].name = "server";
       t.story.why.group = 1;
     },
     "2 replicas of 8 GPUs (group server) wanted inside one leaf; the best, leaf-1, has room for "
     "1."},
    {"segment",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kSegment, 1};
       t.request.topology.segments = {{.size = 2, .level = "leaf"}};
       t.story.why.level = "spine";
       t.story.why.best_domain = "spine-1";
       t.story.why.have = 0;
     },
     "2 replicas of 8 GPUs wanted inside one spine in segments of 2 inside one leaf; no spine has "
     "room for even one in whole segments."},
    {"spread",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kSpread, 2};
       t.request.topology.spread = model::Spread{.level = "leaf", .max_skew = 1};
       t.story.why.level = "any";
     },
     "2 replicas of 8 GPUs wanted, spread over every leaf with a difference of at most 1; the free "
     "places do not allow it."},
    {"anti-affinity",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kAntiAffinity, 1};
       t.request.topology.anti_affinity = "leaf";
       t.story.why.level = "any";
     },
     "2 replicas of 8 GPUs wanted, each in a leaf of its own; there is room for 1."},
    {"fabric",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kFabric, 1};
       t.story.why.level = "spine";
       t.story.why.best_domain = "spine-1";
     },
     "2 replicas of 8 GPUs wanted inside one spine, the widest that one job may span here; the "
     "best, spine-1, has room for 1."},
    {"together",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTogether, 0};
       t.story.why.group = -1;
     },
     "Each task group has room by itself, but not all of them at once inside one leaf."},
    {"together, without proof",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTogether, 3};
       t.story.why.outcome = Outcome::kSearchEnded;
       t.story.why.group = -1;
     },
     "Each task group has room by itself, but not all of them at once inside one leaf; no way to "
     "place them was found, and none was ruled out."},
    {"search limit",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kSearchLimit, 64};
       t.story.why.outcome = Outcome::kSearchEnded;
       t.story.why.group = -1;
     },
     "64 places were tried for 2 replicas of 8 GPUs inside one leaf, none fits, and the search "
     "ended: whether there is one is not proved."},
    {"unknown level",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kUnknownLevel, 0};
       t.story.why.outcome = Outcome::kNever;
       t.request.topology.required = "rack";
     },
     "It names the topology level rack, which this cluster does not have; it has node, leaf, spine "
     "and any."},
    {"unknown queue",
     [](Teller& t) {
       t.story.why = {.known = true, .binding = {ReasonCode::kUnknownQueue, 0}};
     },
     "The policy has no queue \"research\": the job waits until there is one again."},
    {"start after",
     [](Teller& t) {
       t.story.why = {.known = true, .binding = {ReasonCode::kStartAfter, 0}};
       t.story.not_before = kNoon + base::Minutes(90);
     },
     "It is not to start before 2026-01-31T13:30:00.000Z, which is in 1h30m."},
    {"behind one",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kBehindHead, 1};
       t.story.why.outcome = Outcome::kPlaced;
     },
     "There is room for it, but queue research is strict and 1 earlier job in it goes first."},
    {"behind several",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kBehindHead, 3};
       t.story.why.outcome = Outcome::kPlaced;
     },
     "There is room for it, but queue research is strict and 3 earlier jobs in it go first."},
    {"fits",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kPlaced, 0};
       t.story.why.outcome = Outcome::kPlaced;
     },
     "There is room for it: it is started in the next pass."},
    {"paused",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kStartsPaused, 0};
       t.story.pause = {.paused = true, .reason = "root: new switch", .since = kNoon};
     },
     "Starts are paused since 2026-01-31T12:00:00.000Z (root: new switch): nothing that waits is "
     "started."},
    {"never, nothing fits",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kCapacity, 2};
       t.story.why.outcome = Outcome::kNever;
       t.story.why.level = "any";
     },
     "2 replicas of 8 GPUs wanted; not one replica fits this cluster, even when it is empty."},
    {"never, too few",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kCapacity, 1};
       t.story.why.outcome = Outcome::kNever;
       t.story.why.level = "any";
       t.story.why.have = 0;
     },
     "2 replicas of 8 GPUs wanted; this cluster has room for at most 1, even when it is empty."},
    {"never inside one leaf",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kTopology, 1};
       t.story.why.outcome = Outcome::kNever;
     },
     "2 replicas of 8 GPUs wanted inside one leaf; no leaf has room for more than 1, even when it "
     "is empty."},
    {"never in segments",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kSegment, 1};
       t.story.why.outcome = Outcome::kNever;
     },
     "2 replicas of 8 GPUs wanted inside one leaf; no leaf has room for more than 1 in whole "
     "segments, even when it is empty."},
    {"never, however it is relaxed",
     [](Teller& t) {
       t.story.why.binding = {ReasonCode::kCapacity, 1};
       t.story.why.outcome = Outcome::kNever;
       t.request.relax = {{base::Minutes(10), "any"}};
     },
     "2 replicas of 8 GPUs wanted; this cluster has room for at most 1, even when it is empty."},
};

TEST(WhyText, WaitingJobs) {
  for (const WhyCase& c : kWaiting) {
    SCOPED_TRACE(c.name);
    Teller teller;
    c.change(teller);
    EXPECT_EQ(teller.Tell().summary, c.summary);
  }
}

TEST(WhyText, EveryReasonAndOutcomeGivesASentence) {
  for (int code = 0; code < model::kReasonCodes; ++code) {
    for (int outcome = 0; outcome <= static_cast<int>(Outcome::kLast); ++outcome) {
      for (std::size_t state = 0; state < kJobStates; ++state) {
        Teller teller;
        teller.story.state = static_cast<JobState>(state);
        teller.story.why.binding = {static_cast<ReasonCode>(code), 1};
        teller.story.why.outcome = static_cast<Outcome>(outcome);
        teller.story.nodes = {.names = {"gpu-1"}, .count = 1};
        const WhyText text = teller.Tell();
        EXPECT_GT(text.summary.size(), 10u);
        EXPECT_TRUE(text.summary.ends_with('.')) << text.summary;
        for (const std::string& detail : text.details) EXPECT_TRUE(detail.ends_with('.')) << detail;
      }
    }
  }
}

TEST(WhyText, DetailsOfAWaitingJob) {
  Teller teller;
  teller.story.why.binding = {ReasonCode::kTopology, 1};
  teller.story.why.nodes = {{ReasonCode::kDevicesBusy, 3}, {ReasonCode::kNodeNotReady, 1}};
  teller.story.why.position = 3;
  teller.story.why.ahead = 1;
  teller.story.why.next_relax = kNoon + base::Minutes(10);
  teller.request.relax = {{base::Minutes(10), "spine"}, {base::Minutes(30), "any"}};
  teller.Attempt().why = ReasonCode::kNodeLost;
  EXPECT_THAT(
      teller.Tell().details,
      ElementsAre("Nodes without room for one replica: 3 (GPUs in use), 1 (node not ready).",
                  "From 2026-01-31T12:10:00.000Z on, in 10m, it may be placed inside one "
                  "spine.",
                  "2 jobs are before it in queue research; 1 job of other queues is tried "
                  "before it.",
                  "Attempt 2 ended at 2026-01-31T13:30:00.000Z: a node that it ran on was "
                  "lost."));
  teller.story.why.next_relax = kNoon + base::Minutes(30);
  EXPECT_THAT(teller.Tell().details, Contains(HasSubstr("it may be placed anywhere.")));
}

TEST(WhyText, NeverSaysThatWaitingIsInVain) {
  Teller teller;
  teller.story.why.binding = {ReasonCode::kCapacity, 2};
  teller.story.why.outcome = Outcome::kNever;
  teller.story.why.nodes = {{ReasonCode::kWrongModel, 4}};
  EXPECT_THAT(teller.Tell().details,
              ElementsAre("It will never start unless the job is changed or the cluster grows.",
                          "Nodes without room for one replica: 4 (other GPU model)."));
}

TEST(WhyText, WithoutThePauseTheRestIsTold) {
  Teller teller;
  teller.story.why.binding = {ReasonCode::kStartsPaused, 0};
  EXPECT_THAT(teller.Tell().details,
              Contains("Without the pause: 2 replicas of 8 GPUs wanted inside one leaf; the best, "
                       "leaf-1, has room for 1."));
  teller.story.why.outcome = Outcome::kPlaced;
  EXPECT_THAT(teller.Tell().details, Contains("Without the pause: There is room for it now."));
}

TEST(WhyText, HeldJobs) {
  Teller teller;
  teller.story.state = JobState::kHeld;
  EXPECT_EQ(teller.Tell().summary, "It is held until someone releases it: muster release 12.");
  EXPECT_THAT(teller.Tell().details, IsEmpty());
}

TEST(WhyText, JobsWithAPlace) {
  Teller teller;
  teller.story.nodes = {.names = {"gpu-1", "gpu-2"}, .count = 5};
  teller.story.level = "leaf";
  teller.Attempt();
  teller.story.state = JobState::kStarting;
  EXPECT_EQ(teller.Tell().summary,
            "It is being started on gpu-1, gpu-2 and 3 more since 2026-01-31T12:00:00.000Z; no "
            "task has reported yet.");
  teller.story.state = JobState::kRunning;
  EXPECT_EQ(teller.Tell().summary,
            "It runs on gpu-1, gpu-2 and 3 more since 2026-01-31T12:00:02.000Z.");
  EXPECT_THAT(teller.Tell().details,
              ElementsAre("All of it is inside one leaf.", "This is attempt 2."));
  struct Case {
    ReasonCode why;
    const char* text;
  };
  teller.request.time_limit = base::Hours(1);
  teller.story.state = JobState::kStopping;
  for (const Case& c : {Case{ReasonCode::kCancelled, "it was cancelled"},
                        Case{ReasonCode::kTimeLimit, "its time limit of 1h is over"},
                        Case{ReasonCode::kNodeLost, "a node that it ran on was lost"},
                        Case{ReasonCode::kTaskFailed, "a task failed"},
                        Case{ReasonCode::kRequeued, "it is to go back to its queue"},
                        Case{ReasonCode::kCompleted, "all that has to end well has ended well"}}) {
    teller.story.why.binding = {c.why, 0};
    EXPECT_EQ(teller.Tell().summary,
              std::string("It is being stopped on gpu-1, gpu-2 and 3 more: ") + c.text + ".");
  }
}

TEST(WhyText, JobsThatEnded) {
  Teller teller;
  server::AttemptRecord& attempt = teller.Attempt();
  teller.story.ended = kNoon + base::Minutes(90);
  teller.request.time_limit = base::Hours(1);
  teller.request.restart.limit = 2;
  const auto tell = [&](JobState state, ReasonCode why) {
    teller.story.state = state;
    teller.story.why.binding = {why, 0};
    return teller.Tell();
  };
  EXPECT_EQ(tell(JobState::kCompleted, ReasonCode::kCompleted).summary,
            "It completed at 2026-01-31T13:30:00.000Z after 1h30m.");
  EXPECT_EQ(tell(JobState::kTimedOut, ReasonCode::kTimeLimit).summary,
            "It was stopped at 2026-01-31T13:30:00.000Z: its time limit of 1h was over.");
  EXPECT_EQ(tell(JobState::kCancelled, ReasonCode::kCancelled).summary,
            "It was cancelled at 2026-01-31T13:30:00.000Z.");
  attempt.bad_rank = 3;
  attempt.bad_exit = {.kind = driver::RankExit::Kind::kExited, .code = 1};
  const WhyText failed = tell(JobState::kFailed, ReasonCode::kTaskFailed);
  EXPECT_EQ(failed.summary,
            "It failed at 2026-01-31T13:30:00.000Z after 1h30m: rank 3 exited with 1.");
  EXPECT_THAT(failed.details, ElementsAre("Its output: muster logs 12 --rank 3."));
  EXPECT_EQ(tell(JobState::kFailed, ReasonCode::kRestartLimit).summary,
            "It failed at 2026-01-31T13:30:00.000Z after 1h30m: rank 3 exited with 1; it was "
            "restarted 2 times before, as often as it may.");
  teller.story.last = nullptr;
  EXPECT_EQ(tell(JobState::kCancelled, ReasonCode::kCancelled).summary,
            "It was cancelled at 2026-01-31T13:30:00.000Z, before it was started.");
}

TEST(WhyText, SpansAreCutForPeople) {
  EXPECT_EQ(SpanText(base::Microseconds(90'061'234'567)), "1d1h1m1s");
  EXPECT_EQ(SpanText(base::Microseconds(1'999)), "1ms");
  EXPECT_EQ(SpanText(base::Microseconds(-5)), "0s");
}

TEST(JobWhy, OfAJobThatWaitsForALeaf) {
  ApiSite api;
  api.Submit(server::Job(1, 8));
  api.Submit(server::Job(1, 1));  // on the other node of the leaf
  model::JobSpec spec = server::Job(2, 8);
  spec.request.topology.required = "leaf";
  const model::JobId held_up = api.Submit(spec);
  EXPECT_EQ(api.site.View(held_up).phase, engine::JobPhase::kStarting);  // leaf-2
  spec.request.relax = {{base::Minutes(10), "any"}};
  const std::string id = std::to_string(api.Submit(spec).value);
  const format::Value why = api.Get("/v1/jobs/" + id + "/why");
  EXPECT_EQ(Get(why, "state"), "waiting");
  EXPECT_EQ(Get(why, "outcome"), "not-now");
  EXPECT_EQ(Get(why, "reason.code"), "capacity");
  EXPECT_EQ(Get(why, "level"), "leaf");
  EXPECT_EQ(Get(why, "group"), "worker");
  EXPECT_EQ(Get(why, "wanted"), "2");
  EXPECT_EQ(Get(why, "have"), "0");
  EXPECT_EQ(Get(why, "causes.0.code"), "devices-busy");
  EXPECT_EQ(Get(why, "causes.0.nodes"), "4");
  EXPECT_EQ(Get(why, "position"), "1");
  EXPECT_EQ(Get(why, "nextRelax.level"), "any");
  EXPECT_EQ(Get(why, "summary"),
            "2 replicas of 8 GPUs wanted inside one leaf; no leaf has room for even one.");
}

TEST(JobWhy, FollowsAJobThroughItsLife) {
  ApiSite api;
  const model::JobId job = api.Submit(server::Job(2, 8));
  const std::string target = "/v1/jobs/1/why";
  EXPECT_THAT(Get(api.Get(target), "summary"), HasSubstr("It is being started on gpu-1 and gpu-2"));
  api.Run(job);
  EXPECT_THAT(Get(api.Get(target), "summary"), HasSubstr("It runs on gpu-1 and gpu-2 since"));
  api.End(job, {.kind = driver::RankExit::Kind::kSignalled, .code = 9});
  const format::Value why = api.Get(target);
  EXPECT_EQ(Get(why, "state"), "failed");
  EXPECT_EQ(Get(why, "reason.code"), "task-failed");
  EXPECT_EQ(Get(why, "failure.rank"), "0");
  EXPECT_EQ(Get(why, "failure.kind"), "signalled");
  EXPECT_THAT(Get(why, "summary"), HasSubstr("rank 0 was killed by signal 9"));
  EXPECT_EQ(Get(why, "outcome"), "(none)");
}

TEST(JobWhy, UnknownJobs) {
  ApiSite api;
  EXPECT_EQ(api.Refusal({.target = "/v1/jobs/7/why"}, 404), "no job 7");
  EXPECT_THAT(api.Refusal({.target = "/v1/jobs/x/why"}, 400), HasSubstr("\"x\""));
}

}  // namespace
}  // namespace muster::api
