// SPDX-License-Identifier: Apache-2.0
// Thousands of random facts, nonsense included, on 64 nodes with the ledger and the index checked
// at every step.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "model/check_request.h"
#include "test/engine/builders.h"
#include "test/engine/random_ops.h"

namespace muster::test {
namespace {

class StressTest : public testing::TestWithParam<std::uint64_t> {};

TEST(RandomOps, SubmitOnlyWhatTheGateLetsIn) {
  base::Rng rng(5);
  for (int i = 0; i < 3000; ++i) {
    const Op op = DrawOp(rng);
    const base::Errors faults = model::CheckRequest(OpRequest(op.a, op.b, op.c));
    ASSERT_TRUE(faults.empty()) << faults.front().ToString();
  }
}

TEST_P(StressTest, RandomFactsNeverBreakTheBooks) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE(base::Format("seed {}", seed));
  base::Rng rng(seed);
  World world(OpPolicy(static_cast<std::uint32_t>(rng.Below(100))), seed);
  for (std::uint32_t n = 0; n < 64; ++n)
    world.Add({OpNode(n, static_cast<std::uint32_t>(rng.Below(1000)))});
  constexpr int kFacts = 2500;
  std::size_t decisions = 0;
  for (int i = 0; i < kFacts; ++i) {
    const Op op = DrawOp(rng);
    SCOPED_TRACE(base::Format("fact {}: {}", i, ToString(op)));
    Play(world, op);
    if (rng.Below(3) == 0) decisions += world.Decide().size();
    ASSERT_EQ(world.engine.Verify(), "");
    const engine::Inventory counts = world.engine.view().Devices();
    for (const std::int64_t count : counts) ASSERT_GE(count, 0);
  }
  EXPECT_GT(decisions, 200u) << "the run did too little to mean anything";
  // What is left can be brought to its end.
  world.Advance(base::Hours(1));
  for (std::uint32_t job = 0; job < world.next_job; ++job) {
    world.Tell(model::JobChanged{{job}, model::JobChanged::Change::kCancel});
  }
  world.Decide();
  for (std::uint32_t job = 0; job < world.next_job; ++job) {
    if (world.Holds({job})) world.ConfirmStop({job});
  }
  world.Decide();
  for (std::uint32_t job = 0; job < world.next_job; ++job) {
    const engine::JobPhase phase = world.Job({job}).phase;
    EXPECT_TRUE(phase == engine::JobPhase::kEnded || phase == engine::JobPhase::kUnknown) << job;
  }
  const engine::View view = world.engine.view();
  for (std::uint32_t n = 0; n < view.node_count(); ++n) {
    EXPECT_EQ(view.Node({n}).allocated, 0u);
    EXPECT_EQ(view.Node({n}).cpu_used, base::MilliCpu{});
    EXPECT_EQ(view.Node({n}).memory_used, base::Bytes{});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StressTest, testing::Values(1, 2, 3, 4, 5, 6),
                         [](const auto& row) { return base::Format("seed{}", row.param); });

}  // namespace
}  // namespace muster::test
