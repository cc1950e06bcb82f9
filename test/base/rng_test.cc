// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <array>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "base/hash.h"

namespace muster::base {
namespace {

TEST(Rng, FollowsThePublishedSequence) {  // of SplitMix64, seed 0
  Rng rng(0);
  EXPECT_EQ(rng.Next(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(rng.Next(), 0x6E789E6AA1B965F4ULL);
  EXPECT_EQ(rng.Next(), 0x06C45D188009454FULL);
  EXPECT_EQ(rng.Next(), 0xF88BB8A8724C81ECULL);
  EXPECT_EQ(rng.Next(), 0x1B39896A51A8749BULL);
}

TEST(Rng, GoesOnFromItsState) {
  Rng rng(42);
  for (int i = 0; i < 10; ++i) rng.Next();
  Rng resumed(rng.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(resumed.Next(), rng.Next());
}

TEST(Rng, SmallBoundsAreUniform) {
  constexpr std::uint64_t kBound = 6;
  constexpr int kDraws = 600'000;
  std::array<int, kBound> seen{};
  Rng rng(1);
  for (int i = 0; i < kDraws; ++i) ++seen.at(rng.Below(kBound));
  // Expected 100,000 each, standard deviation 289: six of them either way.
  for (const int count : seen) EXPECT_NEAR(count, kDraws / 6, 1734);
}

TEST(Rng, LargeBoundsAreUniform) {
  // 3/4 of all words. `Next() % bound` would put half of the draws into the first third, the high
  // half of `Next() * bound` half of them into one residue of 3.
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  constexpr int kDraws = 300'000;
  std::array<int, 3> thirds{};
  std::array<int, 3> residues{};
  Rng rng(2);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = rng.Below(kBound);
    ++thirds.at(draw / (kBound / 3));
    ++residues.at(draw % 3);
  }
  // Expected 100,000 each, standard deviation 258: six of them either way.
  for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 1550);
  for (const int count : residues) EXPECT_NEAR(count, kDraws / 3, 1550);
}

TEST(Rng, OneIsTheSmallestBound) {
  Rng rng(3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.Below(1), 0U);
  EXPECT_DEATH(rng.Below(0), "bound > 0 does not hold");
}

TEST(Rng, UnitIsBelowOne) {
  Rng rng(4);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double unit = rng.Unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.006);
}

TEST(StreamHash, IsTheSameOnEveryMachine) {
  constexpr std::array<std::uint8_t, 6> kBytes = {'m', 'u', 's', 't', 'e', 'r'};
  StreamHash whole;
  whole.Add(kBytes);
  StreamHash parts;
  parts.Add(std::span(kBytes).first(2));
  parts.Add(std::span(kBytes).subspan(2));
  EXPECT_EQ(whole.Value(), parts.Value());
  EXPECT_EQ(whole.Value(), 0xAC202F67207A3FF9ULL);
  EXPECT_NE(whole.Value(), StreamHash{}.Value());
}

}  // namespace
}  // namespace muster::base
