// SPDX-License-Identifier: Apache-2.0
// The engine's promises over random histories: the index equals a full scan, replay and restore
// give the same state and decisions, runs repeat byte for byte, trials leave nothing behind,
// damaged snapshots are refused.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>

#include "base/hash.h"
#include "base/rng.h"
#include "engine/capacity/index.h"
#include "engine/state/snapshot.h"
#include "engine/state/state.h"
#include "test/engine/builders.h"
#include "test/engine/random_ops.h"

namespace rc {
template <>
struct Arbitrary<muster::test::Op> {
  static Gen<muster::test::Op> arbitrary() {
    const auto number = gen::inRange<std::uint32_t>(0, 1u << 20);
    return gen::build<muster::test::Op>(
        gen::set(&muster::test::Op::kind, number), gen::set(&muster::test::Op::a, number),
        gen::set(&muster::test::Op::b, number), gen::set(&muster::test::Op::c, number));
  }
};
}  // namespace rc

namespace muster::test {

void showValue(const Op& op, std::ostream& out) { out << ToString(op); }

namespace {

using engine::CheckLevel;
using engine::Engine;
using Ops = std::vector<Op>;

/// Twelve nodes in three leaves; all else comes by operations.
World SmallWorld(std::uint32_t policy) {
  World world(OpPolicy(policy), policy);
  for (std::uint32_t n = 0; n < 12; ++n) world.Add({OpNode(n, 1 + policy * n % 23)});
  return world;
}

/// Histories longer than rapidcheck's own, as most operations need others before them.
Ops DrawOps() {
  const auto length = *rc::gen::inRange<std::size_t>(1, 120);
  return *rc::gen::container<Ops>(length, rc::gen::arbitrary<Op>());
}
std::uint32_t DrawPolicy() { return *rc::gen::inRange<std::uint32_t>(0, 200); }

RC_GTEST_PROP(EngineProperty, IndexAndLedgerEqualAFullScanAtEveryStep, ()) {
  World world = SmallWorld(DrawPolicy());
  for (const Op& op : DrawOps()) {
    Play(world, op);
    RC_ASSERT(world.engine.Verify() == "");
    if (op.kind % 2 == 0) world.Decide();
    RC_ASSERT(world.engine.Verify() == "");
  }
}

RC_GTEST_PROP(EngineProperty, ReplayGivesTheSameBytesAfterEveryPass, ()) {
  const std::uint32_t policy = DrawPolicy();
  World world = SmallWorld(policy);
  Engine replay(OpPolicy(policy), policy, CheckLevel::kFull);
  std::size_t told = 0;
  for (const Op& op : DrawOps()) {
    Play(world, op);
    if (op.kind % 2 == 0) continue;
    const auto decisions = world.Decide();
    for (; told < world.inputs.size(); ++told) replay.Apply(world.inputs[told]);
    for (const model::Decision& decision : decisions) replay.Commit(decision, world.now);
    RC_ASSERT(replay.Snapshot() == world.engine.Snapshot());
    RC_ASSERT(replay.Verify() == "");
  }
}

RC_GTEST_PROP(EngineProperty, ReplayedEngineGoesOnAsTheOriginal, ()) {
  const std::uint32_t policy = DrawPolicy();
  World world = SmallWorld(policy);
  Engine replay(OpPolicy(policy), policy, CheckLevel::kFull);
  std::size_t told = 0;
  const Ops ops = DrawOps();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Play(world, ops[i]);
    for (; told < world.inputs.size(); ++told) replay.Apply(world.inputs[told]);
    const auto decisions = world.Decide();
    if (i < ops.size() / 2) {
      for (const model::Decision& decision : decisions) replay.Commit(decision, world.now);
    } else {
      RC_ASSERT(BytesOf(replay.Decide(world.now, {}).decisions) == BytesOf(decisions));
    }
  }
}

RC_GTEST_PROP(EngineProperty, AnEngineFromAViewGoesOnAsTheOriginal, ()) {
  World world = SmallWorld(DrawPolicy());
  const Ops ops = DrawOps();
  const auto cut = *rc::gen::inRange<std::size_t>(0, ops.size());
  std::optional<engine::View> kept;
  std::vector<std::uint8_t> kept_bytes;
  std::optional<Engine> other;
  std::size_t told = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i == cut) {
      kept = world.engine.view();
      kept_bytes = world.engine.Snapshot();
      other.emplace(Engine::FromView(*kept, CheckLevel::kFull));
      told = world.inputs.size();
    }
    Play(world, ops[i]);
    if (other) {
      for (; told < world.inputs.size(); ++told) other->Apply(world.inputs[told]);
    }
    if (ops[i].kind % 2 == 0) continue;
    const auto decisions = world.Decide();
    if (!other) continue;
    RC_ASSERT(BytesOf(other->Decide(world.now, {}).decisions) == BytesOf(decisions));
    RC_ASSERT(other->Snapshot() == world.engine.Snapshot());
  }
  // What came later changed nothing for who goes back to the view.
  if (kept) RC_ASSERT(Engine::FromView(*kept).Snapshot() == kept_bytes);
}

RC_GTEST_PROP(EngineProperty, RestoredEngineGoesOnAsTheOriginal, ()) {
  World world = SmallWorld(DrawPolicy());
  const Ops ops = DrawOps();
  const auto cut = *rc::gen::inRange<std::size_t>(0, ops.size());
  std::optional<Engine> restored;
  std::size_t told = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i == cut) {
      auto result = Engine::Restore(world.engine.Snapshot(), CheckLevel::kFull);
      if (!result) RC_FAIL(result.error().ToString());
      restored.emplace(std::move(*result));
      RC_ASSERT(restored->Snapshot() == world.engine.Snapshot());
      told = world.inputs.size();
    }
    Play(world, ops[i]);
    if (restored) {
      for (; told < world.inputs.size(); ++told) restored->Apply(world.inputs[told]);
    }
    if (ops[i].kind % 2 == 0) continue;
    const auto decisions = world.Decide();
    if (!restored) continue;
    RC_ASSERT(BytesOf(restored->Decide(world.now, {}).decisions) == BytesOf(decisions));
    RC_ASSERT(restored->Snapshot() == world.engine.Snapshot());
  }
}

RC_GTEST_PROP(EngineProperty, TwoRunsGiveEqualBytes, ()) {
  const std::uint32_t policy = DrawPolicy();
  World first = SmallWorld(policy);
  World second = SmallWorld(policy);
  for (const Op& op : DrawOps()) {
    Play(first, op);
    Play(second, op);
    RC_ASSERT(BytesOf(first.Decide()) == BytesOf(second.Decide()));
  }
  RC_ASSERT(first.engine.NextDeadline() == second.engine.NextDeadline());
  RC_ASSERT(first.engine.Snapshot() == second.engine.Snapshot());
}

RC_GTEST_PROP(EngineProperty, NothingIsDueBeforeTheNextDeadlineWithoutFacts, ()) {
  World world = SmallWorld(DrawPolicy());
  for (const Op& op : DrawOps()) Play(world, op);
  world.Decide();
  const auto deadline = world.engine.NextDeadline();
  world.now =
      deadline ? std::max(world.now, base::Instant{deadline->us - 1}) : world.now + base::Hours(9);
  RC_ASSERT(world.Decide().empty());
}

RC_GTEST_PROP(EngineProperty, PassesWithoutFactsDecideNothing, ()) {
  World world = SmallWorld(DrawPolicy());
  for (const Op& op : DrawOps()) {
    Play(world, op);
    world.Decide();
    const auto snapshot = world.engine.Snapshot();
    RC_ASSERT(world.Decide().empty());
    RC_ASSERT(world.engine.Snapshot() == snapshot);
  }
}

RC_GTEST_PROP(EngineProperty, JobsStartWithAttemptsThatRiseByOne, ()) {
  World world = SmallWorld(DrawPolicy());
  std::map<model::JobId, std::uint32_t> attempts;
  for (const Op& op : DrawOps()) {
    Play(world, op);
    for (const model::Decision& decision : world.Decide()) {
      const auto* start = std::get_if<model::StartGang>(&decision);
      if (start == nullptr) continue;
      RC_ASSERT(start->attempt.value == ++attempts[start->job]);
      for (std::size_t g = 0; g < start->placement->group_sizes.size(); ++g) {
        RC_ASSERT(start->placement->group_sizes[g] > 0);
      }
    }
  }
}

RC_GTEST_PROP(EngineProperty, NothingStartsWhileStartsArePaused, ()) {
  World world = SmallWorld(DrawPolicy());
  for (const Op& op : DrawOps()) {
    Play(world, op);
    for (const model::Decision& decision : world.Decide()) {
      RC_ASSERT(!world.engine.view().starts_paused() ||
                !std::holds_alternative<model::StartGang>(decision));
    }
  }
}

// A pause that no pass has seen leaves no trace.
RC_GTEST_PROP(EngineProperty, APauseThatEndsBeforeThePassChangesNothing, ()) {
  const std::uint32_t policy = DrawPolicy();
  World plain = SmallWorld(policy);
  World paused = SmallWorld(policy);
  for (const Op& op : DrawOps()) {
    Play(plain, op);
    Play(paused, op);
    const bool before = paused.engine.view().starts_paused();
    paused.Tell(model::StartsPaused{true});
    paused.Tell(model::StartsPaused{before});
    RC_ASSERT(BytesOf(plain.Decide()) == BytesOf(paused.Decide()));
  }
  RC_ASSERT(plain.engine.Snapshot() == paused.engine.Snapshot());
}

/// The jobs of `decisions` that are requeued because someone asked.
std::vector<model::JobId> AskedBack(const std::vector<model::Decision>& decisions) {
  std::vector<model::JobId> jobs;
  for (const model::Decision& decision : decisions) {
    const auto* requeue = std::get_if<model::RequeueJob>(&decision);
    if (requeue != nullptr && requeue->reason.code == model::ReasonCode::kRequeued)
      jobs.push_back(requeue->job);
  }
  return jobs;
}

RC_GTEST_PROP(EngineProperty, JobsThatAreAskedBackUseNoRestart, ()) {
  World world = SmallWorld(DrawPolicy());
  std::map<model::JobId, int> asked;  // requests for its present attempt
  for (const Op& op : DrawOps()) {
    Play(world, op);
    const auto* change = std::get_if<model::JobChanged>(&world.inputs.back().fact);
    if (change != nullptr && change->change == model::JobChanged::Change::kRequeue)
      ++asked[change->job];
    const engine::View before = world.engine.view();
    const auto decisions = world.Decide();
    for (const model::JobId job : AskedBack(decisions)) {
      RC_ASSERT(asked[job] > 0);
      asked[job] = 0;
      RC_ASSERT(world.engine.view().tables().jobs[job.value].restarts ==
                before.tables().jobs[job.value].restarts);
    }
  }
}

/// A state with some replicas claimed, and what a trial may claim and release.
struct Claims {
  engine::State state;
  std::vector<std::pair<model::ReplicaPlacement, model::ReplicaShape>> held;

  void Random(base::Rng& rng) {
    if (!held.empty() && rng.Below(3) == 0) {
      const auto at = static_cast<std::size_t>(rng.Below(held.size()));
      state.Release({held[at].first, held[at].second});
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    const model::NodeId node{static_cast<std::uint32_t>(rng.Below(state.tables().nodes.size()))};
    model::ReplicaShape shape;
    shape.nics = static_cast<std::int32_t>(rng.Below(2));
    if (rng.Below(2) == 0) shape.extended = {{"npu", 1}};
    const model::DeviceMask free = engine::FreeDevices(state.node(node));
    const model::ReplicaPlacement placement{
        node, free & rng.Next(), base::MilliCpu::Of(static_cast<std::int64_t>(rng.Below(9))),
        base::Bytes::Of(static_cast<std::int64_t>(rng.Below(9)))};
    state.Claim({placement, shape});
    held.emplace_back(placement, shape);
  }
};

TEST(Trial, UndoIsTheIdentityOnTablesAndIndex) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    Claims claims;
    claims.state.SetPolicy(std::make_shared<const model::Policy>(FabricPolicy()));
    for (const model::NodeSpec& fabric : Fabric(9, 3, 2)) {
      model::NodeSpec spec = fabric;
      spec.extended = {{"npu", 100}};
      claims.state.PutNode(spec);
    }
    claims.state.RefreshTopology();
    engine::CapacityIndex index(claims.state);
    std::vector<engine::ProfileId> profiles;
    for (const int gpus : {1, 3, 8}) {
      const auto shape = Gang(1, gpus).groups[0].shape;
      profiles.push_back(index.Intern(shape, model::ResourceDefault::kProportional, {}));
      profiles.push_back(
          index.Intern(shape, model::ResourceDefault::kProportional, {{}, {.multiple = 2}}));
    }
    for (std::uint64_t i = rng.Below(20); i > 0; --i) claims.Random(rng);
    const engine::Tables copy = claims.state.tables();
    const auto before = engine::WriteSnapshot(copy);
    std::vector<std::vector<std::int32_t>> rooms;
    for (const engine::ProfileId id : profiles) {
      for (int level = 0; level < 4; ++level) {
        const auto room = index.Get(id).capacity(level);
        rooms.emplace_back(room.begin(), room.end());
      }
    }
    claims.state.BeginTrial();
    for (std::uint64_t i = 1 + rng.Below(12); i > 0; --i) {
      claims.Random(rng);
      if (rng.Below(3) == 0) {
        ASSERT_EQ(index.Verify(), "");  // a trial is seen while it lasts
      }
    }
    claims.state.UndoTrial();
    EXPECT_EQ(engine::WriteSnapshot(claims.state.tables()), before);
    EXPECT_EQ(engine::WriteSnapshot(copy), before);  // nor did it write into the copy
    EXPECT_EQ(index.Verify(), "");
    std::size_t at = 0;
    for (const engine::ProfileId id : profiles) {
      for (int level = 0; level < 4; ++level) {
        const auto room = index.Get(id).capacity(level);
        EXPECT_EQ(std::vector<std::int32_t>(room.begin(), room.end()), rooms[at++]);
      }
    }
  }
}

/// A snapshot with something of everything, and what a damaged one does.
std::vector<std::uint8_t> RichSnapshot() {
  World world = SmallWorld(2);
  base::Rng rng(7);
  for (int i = 0; i < 60; ++i) {
    Play(world, DrawOp(rng));
    if (i % 3 == 0) world.Decide();
  }
  return world.engine.Snapshot();
}

void RefusedOrSound(const std::vector<std::uint8_t>& bytes) {
  auto restored = Engine::Restore(bytes, CheckLevel::kFull);
  if (!restored) {
    EXPECT_FALSE(restored.error().message.empty());
    return;
  }
  EXPECT_EQ(restored->Verify(), "");
  // Accepted, so it must also be fit for use.
  const engine::View view = restored->view();
  for (std::uint32_t job = 0; job < view.job_count(); ++job)
    restored->Explain(view, {job}, {.units = 1000});
  EXPECT_TRUE(Engine::Restore(restored->Snapshot()).has_value());
  restored->Decide(view.tables().latest, {});
  EXPECT_EQ(restored->Verify(), "");
}

TEST(DamagedSnapshot, CutShortIsRefused) {
  const auto snapshot = RichSnapshot();
  for (std::size_t size = 0; size < snapshot.size(); ++size) {
    const std::span<const std::uint8_t> part(snapshot.data(), size);
    EXPECT_FALSE(Engine::Restore(part).has_value()) << size << " of " << snapshot.size();
  }
}

TEST(DamagedSnapshot, TrailingBytesAreRefused) {
  auto snapshot = RichSnapshot();
  snapshot.push_back(0);
  EXPECT_FALSE(Engine::Restore(snapshot).has_value());
}

/// With the checksum that fits what the bytes say now.
std::vector<std::uint8_t> Resealed(std::vector<std::uint8_t> snapshot) {
  constexpr std::size_t kChecksumBytes = 8;
  base::StreamHash hash;
  hash.Add(std::span(snapshot).first(snapshot.size() - kChecksumBytes));
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    snapshot[snapshot.size() - kChecksumBytes + i] =
        static_cast<std::uint8_t>(hash.Value() >> (8 * i));
  }
  return snapshot;
}

// The checksum refuses every one; that the reader behind it can stand them, too, is tried with the
// checksum mended. Sanitizers make this 20 times as slow: there, one bit of each byte is enough.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kBitsPerByteTried = 1;
#else
constexpr int kBitsPerByteTried = 8;
#endif
TEST(DamagedSnapshot, FlippedBitsAreRefused) {
  auto snapshot = RichSnapshot();
  for (std::size_t byte = 0; byte < snapshot.size(); ++byte) {
    for (int tried = 0; tried < kBitsPerByteTried; ++tried) {
      const std::size_t bit = (byte + static_cast<std::size_t>(tried)) % 8;
      SCOPED_TRACE(base::Format("byte {} bit {}", byte, bit));
      const auto flip = static_cast<std::uint8_t>(1u << bit);
      snapshot[byte] = static_cast<std::uint8_t>(snapshot[byte] ^ flip);
      EXPECT_FALSE(Engine::Restore(snapshot).has_value());
      RefusedOrSound(Resealed(snapshot));
      snapshot[byte] = static_cast<std::uint8_t>(snapshot[byte] ^ flip);
    }
  }
}

TEST(DamagedSnapshot, OtherVersionsAreRefusedByNumber) {
  auto snapshot = RichSnapshot();
  snapshot[0] = 99;
  const auto result = Engine::Restore(snapshot);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("99"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
