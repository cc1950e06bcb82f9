// SPDX-License-Identifier: Apache-2.0
// While starts are paused nothing new is started, and all else goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::CheckLevel;
using engine::Engine;
using engine::Explanation;
using engine::JobPhase;
using model::JobChanged;
using model::Outcome;
using model::Reason;
using model::ReasonCode;
using model::RequeueJob;
using model::StartGang;
using model::StopGang;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Change = JobChanged::Change;
using Bytes = std::vector<std::uint8_t>;

World Four() {
  World world;
  world.Add(Fabric(4, 4, 1));
  return world;
}

void Pause(World& world, bool paused = true) { world.Tell(model::StartsPaused{paused}); }

TEST(StartsPaused, NothingStartsUntilTheyGoOn) {
  World world = Four();
  Pause(world);
  EXPECT_TRUE(world.engine.view().starts_paused());
  const model::JobId first = world.Submit(Gang(2, 8));
  const model::JobId later = world.Submit(Gang(1, 8));
  EXPECT_THAT(world.Decide(), IsEmpty());
  Pause(world);  // twice is once
  const engine::Pass pass = world.engine.Decide(world.now, {.units = 1});
  EXPECT_THAT(pass.decisions, IsEmpty());
  EXPECT_FALSE(pass.more);  // nothing is due, however small the budget
  EXPECT_EQ(world.Job(first).phase, JobPhase::kWaiting);
  Pause(world, false);
  EXPECT_FALSE(world.engine.view().starts_paused());
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<StartGang>(decisions[0]).job, first);
  EXPECT_EQ(std::get<StartGang>(decisions[1]).job, later);
}

TEST(StartsPaused, WhatRunsGoesOnAndEndsAsEver) {
  World world = Four();
  const model::JobId good = world.Submit(Gang(1, 8));
  const model::JobId again = world.Submit(With(Gang(1, 8), [](auto& r) { r.restart.limit = 1; }));
  const model::JobId late =
      world.Submit(With(Gang(1, 8), [](auto& r) { r.time_limit = base::Minutes(5); }));
  const model::JobId asked = world.Submit(Gang(1, 8));
  world.Decide();
  Pause(world);
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Tell(model::TaskStarted{good, {1}, {0, 1}});
  EXPECT_EQ(world.Job(good).phase, JobPhase::kRunning);
  world.Exit(good);
  world.Exit(again, true);
  world.Tell(JobChanged{asked, Change::kRequeue});
  EXPECT_THAT(world.Decide(), SizeIs(3));
  EXPECT_EQ(world.Job(good).end, model::JobEnd::kCompleted);
  EXPECT_EQ(world.Job(again).phase, JobPhase::kWaiting);
  world.ConfirmStop(asked);
  world.Advance(base::Minutes(5));
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(decisions[0]).job, asked);
  EXPECT_EQ(std::get<StopGang>(decisions[1]).job, late);
  world.ConfirmStop(late);
  world.Decide();
  EXPECT_EQ(world.Job(late).end, model::JobEnd::kTimedOut);
  Pause(world, false);
  EXPECT_THAT(world.Decide(), SizeIs(2));
  EXPECT_TRUE(world.Holds(again) && world.Holds(asked));
}

// What happens to those who wait is not lost: room, start times, relax steps, holds.
TEST(StartsPaused, WhatChangedMeanwhileCounts) {
  World world = Four();
  const model::JobId runs = world.Submit(Gang(4, 8));
  const model::JobId blocked = world.Submit(Gang(1, 8));
  world.Decide();
  Pause(world);
  const model::JobId timed{world.next_job++};
  world.Tell(model::JobSubmitted{timed, "default", "ana", 100, base::Minutes(3),
                                 std::make_shared<const model::GangRequest>(Gang(1, 8))});
  const model::JobId relaxed = world.Submit(With(Gang(2, 8), [](auto& r) {
    r.topology.required = "node";
    r.relax = {{base::Minutes(2), "any"}};
  }));
  const model::JobId held = world.Submit(Gang(1, 1));
  world.Tell(JobChanged{held, Change::kHold});
  EXPECT_EQ(world.engine.NextDeadline(), world.now + base::Minutes(2));
  world.Exit(runs);
  EXPECT_THAT(world.Decide(), SizeIs(1));
  world.Advance(base::Minutes(3));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.engine.NextDeadline(), std::nullopt);
  Pause(world, false);
  EXPECT_THAT(world.Decide(), SizeIs(3));
  for (const model::JobId job : {blocked, timed, relaxed}) EXPECT_TRUE(world.Holds(job));
  EXPECT_EQ(world.Job(held).phase, JobPhase::kHeld);
}

TEST(StartsPaused, IsTheAnswerToWhyAJobWaits) {
  World world = Four();
  Pause(world);
  const model::JobId fits = world.Submit(Gang(1, 8));
  const model::JobId never = world.Submit(Gang(5, 8));
  const model::JobId held = world.Submit(Gang(1, 8));
  world.Tell(JobChanged{held, Change::kHold});
  world.Decide();
  const Explanation why = Engine::Explain(world.engine.view(), fits, {});
  EXPECT_TRUE(why.waiting);
  EXPECT_EQ(why.binding, (Reason{ReasonCode::kStartsPaused, 0}));
  EXPECT_EQ(why.outcome, Outcome::kPlaced);
  EXPECT_EQ(why.position, 1);
  const Explanation other = Engine::Explain(world.engine.view(), never, {});
  EXPECT_EQ(other.binding.code, ReasonCode::kStartsPaused);
  EXPECT_EQ(other.outcome, Outcome::kNever);  // what comes after the pause is told, too
  EXPECT_EQ(other.position, 2);
  EXPECT_EQ(other.wanted, 5);
  EXPECT_EQ(Engine::Explain(world.engine.view(), held, {}).binding.code, ReasonCode::kHeldByUser);
  Pause(world, false);
  EXPECT_EQ(world.Why(fits).binding.code, ReasonCode::kPlaced);
  EXPECT_EQ(world.Why(never).binding.code, ReasonCode::kCapacity);
}

/// With the checksum that fits what the bytes say.
Bytes Sealed(Bytes bytes) {
  base::StreamHash hash;
  hash.Add(bytes);
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(hash.Value() >> (8 * i)));
  }
  return bytes;
}

Bytes WithoutChecksum(Bytes snapshot) {
  snapshot.resize(snapshot.size() - 8);
  return snapshot;
}

TEST(StartsPaused, IsInTheSnapshot) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(1, 8));
  Pause(world);
  auto restored = Engine::Restore(world.engine.Snapshot(), CheckLevel::kFull);
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->view().starts_paused());
  EXPECT_THAT(restored->Decide(world.now, {}).decisions, IsEmpty());
  EXPECT_EQ(restored->Snapshot(), world.engine.Snapshot());
  restored->Apply({world.now, model::StartsPaused{false}});
  ASSERT_THAT(restored->Decide(world.now, {}).decisions, SizeIs(1));
  EXPECT_NE(restored->view().Job(job).placement, nullptr);
}

// Format 1 ended before the byte that says so.
TEST(StartsPaused, AreNotInASnapshotOfFormat1) {
  World world = Four();
  const model::JobId runs = world.Submit(Gang(4, 8));
  world.Decide();
  const model::JobId waits = world.Submit(Gang(1, 8));
  const Bytes now = world.engine.Snapshot();
  Bytes old = WithoutChecksum(now);
  ASSERT_EQ(old.front(), 2);
  ASSERT_EQ(old.back(), 0);
  old.front() = 1;
  EXPECT_FALSE(Engine::Restore(Sealed(old)).has_value());  // a byte too many
  old.pop_back();
  auto restored = Engine::Restore(Sealed(old), CheckLevel::kFull);
  ASSERT_TRUE(restored.has_value()) << restored.error().ToString();
  EXPECT_FALSE(restored->view().starts_paused());
  EXPECT_EQ(restored->Snapshot(), now);  // written in the present format
  restored->Apply({world.now, model::TaskExited{runs, {1}, {0, 4}, false}});
  EXPECT_THAT(restored->Decide(world.now, {}).decisions, SizeIs(2));
  EXPECT_NE(restored->view().Job(waits).placement, nullptr);
  old.front() = 2;
  EXPECT_FALSE(Engine::Restore(Sealed(old)).has_value());  // a byte too few
  for (const std::uint8_t version : {std::uint8_t{0}, std::uint8_t{3}}) {
    Bytes other = WithoutChecksum(now);
    other.front() = version;
    EXPECT_FALSE(Engine::Restore(Sealed(other)).has_value());
  }
}

TEST(View, QueuesAndWhatTheirJobsHold) {
  World world = Four();
  EXPECT_EQ(world.engine.view().queue_count(), 0u);
  const model::JobId job = world.Submit(Gang(2, 3));
  world.Submit(Gang(1, 1), "nobody's");
  world.Decide();
  const engine::View view = world.engine.view();
  ASSERT_EQ(view.queue_count(), 2u);
  EXPECT_EQ(view.Queue({0}).name, "default");
  EXPECT_EQ(view.Queue({0}).devices, 6);
  EXPECT_GT(view.Queue({0}).cpu, base::MilliCpu{});
  EXPECT_GT(view.Queue({0}).memory, base::Bytes{});
  EXPECT_EQ(view.Queue({1}).name, "nobody's");
  EXPECT_EQ(view.Queue({1}).devices, 0);
  EXPECT_EQ(view.Queue({2}).name, "");
  world.Exit(job);
  EXPECT_EQ(world.engine.view().Queue({0}).devices, 0);
  EXPECT_EQ(view.Queue({0}).devices, 6);  // a picture stays as it is
}

}  // namespace
}  // namespace muster::test
