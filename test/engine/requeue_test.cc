// SPDX-License-Identifier: Apache-2.0
// A running attempt that someone wants back in the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::JobPhase;
using model::FinishJob;
using model::JobChanged;
using model::JobEnd;
using model::ReasonCode;
using model::RequeueJob;
using model::StartGang;
using model::StopGang;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Change = JobChanged::Change;

World Four() {
  World world;
  world.Add(Fabric(4, 4, 1));
  return world;
}

void Ask(World& world, model::JobId job, Change change) { world.Tell(JobChanged{job, change}); }

/// The one decision, which must be an order to stop because of `code`.
void ExpectStop(const std::vector<model::Decision>& decisions, ReasonCode code) {
  ASSERT_THAT(decisions, SizeIs(1));
  ASSERT_TRUE(std::holds_alternative<StopGang>(decisions[0]));
  EXPECT_EQ(std::get<StopGang>(decisions[0]).reason.code, code);
}

TEST(Requeue, StopsWithGraceAndWaitsAtItsOldPlace) {
  World world = Four();
  const model::JobId first = world.Submit(With(Gang(4, 8), [](auto& r) {
    r.checkpoint = model::CheckpointSpec{.grace = base::Seconds(30)};
    r.time_limit = base::Hours(1);
  }));
  world.Decide();
  world.Advance(base::Minutes(1));
  const model::JobId second = world.Submit(Gang(4, 8));
  world.Decide();
  Ask(world, first, Change::kRequeue);
  const auto stop = world.Decide();
  ExpectStop(stop, ReasonCode::kRequeued);
  EXPECT_EQ(std::get<StopGang>(stop[0]).grace, base::Seconds(30));
  EXPECT_EQ(std::get<StopGang>(stop[0]).attempt.value, 1u);
  EXPECT_EQ(world.Job(first).phase, JobPhase::kStopping);
  EXPECT_EQ(world.Why(first).binding.code, ReasonCode::kRequeued);
  EXPECT_EQ(world.engine.NextDeadline(), std::nullopt);  // its time limit is void
  world.Exit(first, true);                               // killed: not a failure of its own
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(decisions[0]).reason.code, ReasonCode::kRequeued);
  EXPECT_EQ(std::get<StartGang>(decisions[1]).job, first);
  EXPECT_EQ(std::get<StartGang>(decisions[1]).attempt.value, 2u);
  EXPECT_FALSE(world.Holds(second));
  // The new attempt is not asked to go, too.
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.Exit(first);
  world.Decide();
  EXPECT_EQ(world.Job(first).end, JobEnd::kCompleted);
}

TEST(Requeue, IsNoRestart) {
  World world = Four();
  const model::JobId job = world.Submit(With(Gang(2, 8), [](auto& r) { r.restart.limit = 1; }));
  world.Decide();
  for (int round = 0; round < 3; ++round) {
    Ask(world, job, Change::kRequeue);
    world.Decide();
    world.ConfirmStop(job);
    world.Decide();
    ASSERT_TRUE(world.Holds(job));
  }
  world.Exit(job, true);
  const auto decisions = world.Decide();  // the one restart is still there
  ASSERT_THAT(decisions, SizeIs(2));
  EXPECT_EQ(std::get<RequeueJob>(decisions[0]).reason.code, ReasonCode::kTaskFailed);
  EXPECT_EQ(world.Job(job).attempt.value, 5u);
  world.Exit(job, true);
  world.Decide();
  EXPECT_EQ(world.Job(job).end, JobEnd::kFailed);
}

TEST(Requeue, TwiceIsOnce) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  Ask(world, job, Change::kRequeue);
  Ask(world, job, Change::kRequeue);
  ExpectStop(world.Decide(), ReasonCode::kRequeued);
  const auto stopping = world.engine.Snapshot();
  Ask(world, job, Change::kRequeue);
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.engine.Snapshot(), stopping);
  world.ConfirmStop(job);
  EXPECT_THAT(world.Decide(), SizeIs(2));
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.Job(job).attempt.value, 2u);
}

TEST(Requeue, OfAJobWithoutAPlaceChangesNothing) {
  World world = Four();
  const model::JobId ended = world.Submit(Gang(1, 8));
  world.Decide();
  world.Exit(ended);
  const model::JobId waiting = world.Submit(Gang(5, 8));
  const model::JobId held = world.Submit(Gang(1, 8));
  Ask(world, held, Change::kHold);
  world.Decide();
  const auto before = world.engine.Snapshot();
  for (const model::JobId job : {ended, waiting, held, model::JobId{0}, model::JobId{77}}) {
    Ask(world, job, Change::kRequeue);
  }
  EXPECT_THAT(world.Decide(), IsEmpty());
  EXPECT_EQ(world.engine.Snapshot(), before);
  Ask(world, held, Change::kRelease);
  EXPECT_THAT(world.Decide(), SizeIs(1));  // and no stop after the start
}

TEST(Requeue, CancelDuringTheStopWins) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  Ask(world, job, Change::kRequeue);
  ExpectStop(world.Decide(), ReasonCode::kRequeued);
  Ask(world, job, Change::kCancel);
  EXPECT_THAT(world.Decide(), IsEmpty());
  world.ConfirmStop(job);
  const auto decisions = world.Decide();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(std::get<FinishJob>(decisions[0]).end, JobEnd::kCancelled);
}

TEST(Requeue, AndCancelBeforeThePassIsACancel) {
  for (const bool cancel_first : {true, false}) {
    World world = Four();
    const model::JobId job = world.Submit(Gang(2, 8));
    world.Decide();
    Ask(world, job, cancel_first ? Change::kCancel : Change::kRequeue);
    Ask(world, job, cancel_first ? Change::kRequeue : Change::kCancel);
    ExpectStop(world.Decide(), ReasonCode::kCancelled);
    world.ConfirmStop(job);
    world.Decide();
    EXPECT_EQ(world.Job(job).end, JobEnd::kCancelled);
  }
}

TEST(Requeue, OfAHeldJobEndsHeld) {
  enum class When { kBefore, kDuring, kReleased };
  for (const When when : {When::kBefore, When::kDuring, When::kReleased}) {
    SCOPED_TRACE(static_cast<int>(when));
    World world = Four();
    const model::JobId job = world.Submit(Gang(2, 8));
    world.Decide();
    if (when == When::kBefore) Ask(world, job, Change::kHold);
    Ask(world, job, Change::kRequeue);
    ExpectStop(world.Decide(), ReasonCode::kRequeued);
    if (when != When::kBefore) Ask(world, job, Change::kHold);
    if (when == When::kReleased) Ask(world, job, Change::kRelease);
    world.ConfirmStop(job);
    EXPECT_THAT(world.Decide(), SizeIs(when == When::kReleased ? 2 : 1));
    if (when == When::kReleased) continue;
    EXPECT_EQ(world.Job(job).phase, JobPhase::kHeld);
    Ask(world, job, Change::kRelease);
    EXPECT_THAT(world.Decide(), SizeIs(1));
    EXPECT_EQ(world.Job(job).attempt.value, 2u);
  }
}

TEST(Requeue, OfAnAttemptThatIsBeingStoppedLeavesItsEnd) {
  World world = Four();
  const model::JobId failing = world.Submit(Gang(2, 8));
  const model::JobId done = world.Submit(
      With(Gang(2, 8), [](auto& r) { r.completion.kind = model::Completion::Kind::kRank0; }));
  world.Decide();
  world.Tell(model::TaskExited{failing, {1}, {0, 1}, true});
  world.Tell(model::TaskExited{done, {1}, {0, 1}, false});
  EXPECT_THAT(world.Decide(), SizeIs(2));
  for (const model::JobId job : {failing, done}) {
    Ask(world, job, Change::kRequeue);
    world.ConfirmStop(job);
  }
  world.Decide();
  EXPECT_EQ(world.Job(failing).end, JobEnd::kFailed);
  EXPECT_EQ(world.Job(done).end, JobEnd::kCompleted);
}

// What a pass finds at once: an end that is good stays, a failure is not counted.
TEST(Requeue, InOneBatchWithTheEndOfTheAttempt) {
  enum class End { kGood, kBad, kNodeLost };
  for (const End end : {End::kGood, End::kBad, End::kNodeLost}) {
    for (const bool requeue_first : {true, false}) {
      SCOPED_TRACE(base::Format("{} {}", static_cast<int>(end), requeue_first));
      World world;
      world.Add(Fabric(1, 1, 1));
      const model::JobId job =
          world.Submit(With(Gang(1, 8), [](auto& r) { r.restart.on_node_loss = false; }));
      world.Decide();
      if (requeue_first) Ask(world, job, Change::kRequeue);
      if (end == End::kNodeLost) {
        world.Tell(model::NodeStateChanged{"n0", model::NodeState::kDown});
      } else {
        world.Exit(job, end == End::kBad);
      }
      if (!requeue_first) Ask(world, job, Change::kRequeue);
      const auto decisions = world.Decide();
      ASSERT_FALSE(decisions.empty());
      if (end == End::kGood) {
        EXPECT_EQ(std::get<FinishJob>(decisions[0]).end, JobEnd::kCompleted);
      } else {
        EXPECT_EQ(std::get<RequeueJob>(decisions[0]).reason.code, ReasonCode::kRequeued);
      }
    }
  }
}

TEST(Requeue, AskedForBeforeASnapshotIsDoneAfterIt) {
  World world = Four();
  const model::JobId job = world.Submit(Gang(2, 8));
  world.Decide();
  Ask(world, job, Change::kRequeue);
  auto restored = engine::Engine::Restore(world.engine.Snapshot(), engine::CheckLevel::kFull);
  ASSERT_TRUE(restored.has_value());
  ExpectStop(restored->Decide(world.now, {}).decisions, ReasonCode::kRequeued);
}

}  // namespace
}  // namespace muster::test
