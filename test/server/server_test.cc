// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/server/site.h"

namespace muster::server {
namespace {

using engine::JobPhase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Exit = driver::RankExit;

std::vector<std::string> Events(const Picture& picture, model::JobId job) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < picture.tables.events.size(); ++i) {
    const Event& event = picture.tables.events[i];
    if (event.job == job) out.emplace_back(Name(event.kind));
  }
  return out;
}

TEST(Server, AJobRunsAndIsForgottenByTheDriver) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(2, 8));
  EXPECT_EQ(job, model::JobId{1});
  EXPECT_EQ(site.View(job).phase, JobPhase::kStarting);
  const auto launches = site.driver.Given<driver::Launch>();
  ASSERT_THAT(launches, SizeIs(1));
  EXPECT_THAT(launches[0].replicas, SizeIs(2));
  EXPECT_EQ(launches[0].owner.user, "ana");
  EXPECT_EQ(launches[0].groups[0].command.command, std::vector<std::string>{"train"});

  site.driver.Started(site.Gang(job));
  site.Run();
  EXPECT_EQ(site.View(job).phase, JobPhase::kRunning);
  const driver::GangId gang = site.Gang(job);
  site.driver.Ended(gang);
  site.Run();
  EXPECT_EQ(site.View(job).phase, JobPhase::kEnded);
  EXPECT_EQ(site.View(job).end, model::JobEnd::kCompleted);
  const auto forgotten = site.driver.Given<driver::Forget>();
  ASSERT_THAT(forgotten, SizeIs(1));
  EXPECT_EQ(forgotten[0].gang, gang);
  EXPECT_THAT(Events(*site.server->Look(), job),
              ElementsAre("submitted", "placed", "running", "ended"));
}

TEST(Server, AnswersOnlyWhatIsDurable) {
  Site site;
  site.Start();
  bool answered = false;
  site.server->Post({User("ana"), SubmitJobs{{Job(1, 1)}, ""}}, [&](base::Result<Reply> reply) {
    answered = true;
    ASSERT_TRUE(reply);
    const auto records = site.journal.Read(site.server->Look()->sequence, 1);
    ASSERT_TRUE(records);
    EXPECT_THAT(*records, SizeIs(1));
    EXPECT_EQ(site.server->Look()->view.Job(reply->jobs.front()).phase, JobPhase::kStarting);
  });
  EXPECT_FALSE(answered);
  site.Run();
  EXPECT_TRUE(answered);
}

TEST(Server, TheFailingRankIsRemembered) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(2, 8));
  const driver::GangId gang = site.Gang(job);
  site.driver.Started(gang);
  site.driver.sink(driver::RankEnded{gang, 1, {.kind = Exit::Kind::kExited, .code = 3}});
  site.Run();
  // The sibling is told to stop, with the grace of a job that declares none.
  const auto stops = site.driver.Given<driver::Stop>();
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(stops[0].grace, base::Seconds(30));
  site.driver.sink(driver::RankEnded{gang, 0, {.kind = Exit::Kind::kStopped}});
  site.Run();
  EXPECT_EQ(site.View(job).end, model::JobEnd::kFailed);
  const AttemptRecord attempt = site.Record(job).attempts->back();
  EXPECT_EQ(attempt.bad_rank, 1);
  EXPECT_EQ(attempt.bad_exit.code, 3);
  EXPECT_EQ(attempt.why, model::ReasonCode::kTaskFailed);
}

TEST(Server, AfterACrashWhatRunsIsAdoptedAndNothingRunsTwice) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(2, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  const model::JobId waiting = site.Submit(Job(1, 8));
  site.Restart();
  EXPECT_EQ(site.View(job).phase, JobPhase::kRunning);
  EXPECT_EQ(site.View(waiting).phase, JobPhase::kWaiting);
  EXPECT_EQ(site.driver.launches[site.Gang(job)], 1);
  site.driver.Ended(site.Gang(job));
  site.Run();
  EXPECT_EQ(site.View(job).end, model::JobEnd::kCompleted);
  EXPECT_EQ(site.View(waiting).phase, JobPhase::kStarting);
}

TEST(Server, WhatWasDecidedButNeverLaunchedIsLaunchedAfterARestart) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  const driver::GangId gang = site.Gang(job);
  site.driver.gangs.clear();  // the crash came before the order
  site.Restart();
  EXPECT_EQ(site.driver.launches[gang], 2);
  EXPECT_EQ(site.View(job).phase, JobPhase::kStarting);
}

TEST(Server, WhatVanishedWhileAwayIsLostAndStartsAgain) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  site.driver.gangs.clear();
  site.Restart();
  EXPECT_EQ(site.View(job).attempt, model::Attempt{2}) << "requeued, not failed: it was no fault";
  EXPECT_EQ(site.Record(job).attempts->front().why, model::ReasonCode::kNodeLost);
}

TEST(Server, AStopThatWasUnderWayIsGivenAgainAfterARestart) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  ASSERT_TRUE(site.Ask(User("ana"), ChangeJob{job, model::JobChanged::Change::kCancel}));
  EXPECT_EQ(site.View(job).phase, JobPhase::kStopping);
  site.driver.orders.clear();
  site.Restart();
  ASSERT_THAT(site.driver.Given<driver::Stop>(), SizeIs(1));
  site.driver.Ended(site.Gang(job), {.kind = Exit::Kind::kStopped});
  site.Run();
  EXPECT_EQ(site.View(job).end, model::JobEnd::kCancelled);
}

TEST(Server, NodesThatAreNotFoundAgainAreTakenOutOrCordoned) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  const model::NodeId used = site.View(job).placement->ranks.front().node;
  site.driver.nodes = {Node("new", 8)};
  site.Restart();
  const PicturePtr picture = site.server->Look();
  const model::NodeId other{used.value == 0 ? 1U : 0U};
  EXPECT_EQ(picture->view.Node(used).state, model::NodeState::kCordoned);
  EXPECT_FALSE(picture->view.Node(used).gone);
  EXPECT_TRUE(picture->view.Node(other).gone);
  EXPECT_TRUE(picture->view.FindNode("new").has_value());
  EXPECT_EQ(site.View(job).phase, JobPhase::kRunning);
}

TEST(Server, ACleanCloseAnswersWhoWaitsAndLeavesJobsAlone) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  std::optional<base::Result<Reply>> late;
  site.server->Post({User("ana"), SubmitJobs{{Job(1, 1)}, ""}},
                    [&](base::Result<Reply> reply) { late = std::move(reply); });
  ASSERT_TRUE(site.server->Close());
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(site.driver.Given<driver::Stop>(), SizeIs(0));
  site.Restart();
  EXPECT_EQ(site.View(job).phase, JobPhase::kRunning);
}

TEST(Server, TimeLimitsComeDueWithoutInput) {
  Site site;
  site.Start();
  model::JobSpec spec = Job(1, 1);
  spec.request.time_limit = base::Minutes(10);
  const model::JobId job = site.Submit(spec);
  site.driver.Started(site.Gang(job));
  site.Run();
  const auto rest = site.server->Step();
  ASSERT_TRUE(rest.wake.has_value());
  site.clock.now = *rest.wake;
  site.Run();
  EXPECT_EQ(site.View(job).phase, JobPhase::kStopping);
}

TEST(Server, PausedStartsWaitAndGoOn) {
  Site site;
  site.Start();
  ASSERT_TRUE(site.Ask(User("op", Role::kOperator), PauseStarts{true, "power work"}));
  const model::JobId job = site.Submit(Job(1, 1));
  EXPECT_EQ(site.View(job).phase, JobPhase::kWaiting);
  EXPECT_EQ(site.server->Look()->tables.pause.reason, "op: power work");
  site.Restart();
  EXPECT_EQ(site.View(job).phase, JobPhase::kWaiting) << "a pause is durable";
  ASSERT_TRUE(site.Ask(User("op", Role::kOperator), PauseStarts{false, ""}));
  EXPECT_EQ(site.View(job).phase, JobPhase::kStarting);
}

TEST(Server, ACheckpointOfAnOlderAttemptDoesNotCount) {
  Site site;
  site.Start();
  model::JobSpec spec = Job(1, 1);
  spec.request.checkpoint = model::CheckpointSpec{.every = base::Minutes(5), .dir = "/data/ckpt"};
  const model::JobId job = site.Submit(spec);
  const driver::GangId first = site.Gang(job);
  site.driver.Started(first);
  site.Run();
  Caller task = User("ana");
  task.attempt = first;
  ASSERT_TRUE(site.Ask(task, ReportCheckpoint{job, first.attempt, 100, ""}));
  EXPECT_EQ(site.Record(job).checkpoint->path, "/data/ckpt/1");
  ASSERT_TRUE(site.Ask(User("ana"), ChangeJob{job, model::JobChanged::Change::kRequeue}));
  site.driver.Ended(first, {.kind = Exit::Kind::kStopped});
  site.Run();
  EXPECT_EQ(site.View(job).attempt, model::Attempt{2});
  EXPECT_EQ(site.driver.Given<driver::Launch>().back().resume_from, "/data/ckpt/1");
  const auto late = site.Ask(task, ReportCheckpoint{job, first.attempt, 200, ""});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, base::ErrorCode::kRefused);
  EXPECT_EQ(site.Record(job).checkpoint->step, 100);
  // And a token acts for its own attempt only, and only by reporting.
  EXPECT_EQ(site.Ask(task, ReportCheckpoint{job, model::Attempt{2}, 1, ""}).error().code,
            base::ErrorCode::kNotAllowed);
  EXPECT_EQ(site.Ask(task, SubmitJobs{{Job(1, 1)}, ""}).error().code, base::ErrorCode::kNotAllowed);
}

TEST(Server, UsageSumsToWhatWasHeld) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(2, 8));
  site.driver.Started(site.Gang(job));
  site.Run();
  const base::Instant placed = site.Record(job).attempts->back().placed;
  site.clock.now = site.clock.now + base::Hours(49);
  site.driver.Ended(site.Gang(job), {.kind = Exit::Kind::kExited, .code = 1});
  site.Run();
  std::int64_t allocated = 0;
  std::int64_t lost = 0;
  const auto usage = site.server->Look()->tables.usage;
  for (const auto& [day, rows] : *usage) {
    for (const auto& [key, row] : *rows) {
      EXPECT_EQ(key.model, "H100");
      EXPECT_EQ(key.user, "ana");
      allocated += row.allocated_us;
      lost += row.lost_us;
    }
  }
  EXPECT_GE(usage->size(), 3U) << "49 hours touch three days";
  EXPECT_EQ(allocated, 16 * (site.Record(job).attempts->back().ended - placed).value());
  EXPECT_EQ(lost, allocated) << "nothing was checkpointed";
}

TEST(Server, RequestsSentAwayAreCounted) {
  Site site;
  site.Start();
  int away = 0;
  for (std::size_t i = 0; i < Mailbox::kMaxRequests + 3; ++i) {
    site.server->Post({User("ana"), ChangeJob{{77}, model::JobChanged::Change::kHold}},
                      [&away](const base::Result<Reply>& reply) {
                        if (reply.error().code == base::ErrorCode::kUnavailable) ++away;
                      });
  }
  EXPECT_EQ(away, 3);
  site.Run();
  site.Submit(Job(1, 1));
  EXPECT_EQ(site.server->Look()->counters->rejected_full, 3U);
}

TEST(Server, ReadersKeepWhatTheySaw) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 1));
  const PicturePtr before = site.server->Look();
  site.driver.Started(site.Gang(job));
  site.driver.Ended(site.Gang(job));
  site.Run();
  EXPECT_EQ(before->view.Job(job).phase, JobPhase::kStarting);
  EXPECT_EQ(site.View(job).phase, JobPhase::kEnded);
}

}  // namespace
}  // namespace muster::server
