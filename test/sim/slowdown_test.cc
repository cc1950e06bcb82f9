// SPDX-License-Identifier: Apache-2.0
#include "sim/slowdown.h"

#include <gtest/gtest.h>

#include "test/sim/builders.h"

namespace muster::sim::test {
namespace {

struct TableCell {
  int comm_permille;
  std::int64_t best;
  std::int64_t actual;
  double slowdown;  ///< as printed: to 2 digits, 1 for the largest
  double rounding;
};

// s = 1 + c (B_ref/B_eff - 1), the published table of the model.
TEST(Slowdown, MatchesTheTableOfTheModel) {
  constexpr TableCell kCells[] = {
      {50, 100, 83, 1.01, .005},  {100, 100, 83, 1.02, .005}, {150, 100, 83, 1.03, .005},
      {200, 100, 83, 1.04, .005}, {300, 100, 83, 1.06, .005}, {350, 100, 83, 1.07, .005},
      {50, 100, 66, 1.03, .005},  {100, 100, 66, 1.05, .005}, {150, 100, 66, 1.08, .005},
      {200, 100, 66, 1.10, .005}, {300, 100, 66, 1.15, .005}, {350, 100, 66, 1.18, .005},
      {50, 100, 50, 1.05, .005},  {100, 100, 50, 1.10, .005}, {150, 100, 50, 1.15, .005},
      {200, 100, 50, 1.20, .005}, {300, 100, 50, 1.30, .005}, {350, 100, 50, 1.35, .005},
      {50, 100, 30, 1.12, .005},  {100, 100, 30, 1.23, .005}, {150, 100, 30, 1.35, .005},
      {200, 100, 30, 1.47, .005}, {300, 100, 30, 1.70, .005}, {350, 100, 30, 1.82, .005},
      {50, 18, 1, 1.85, .005},    {100, 18, 1, 2.7, .05},     {150, 18, 1, 3.55, .005},
      {200, 18, 1, 4.4, .05},     {300, 18, 1, 6.1, .05},     {350, 18, 1, 6.95, .005},
  };
  for (const TableCell& cell : kCells) {
    const auto ppm = SlowdownPpm(base::Permille::Of(cell.comm_permille), cell.best, cell.actual);
    EXPECT_NEAR(static_cast<double>(ppm) / 1e6, cell.slowdown, cell.rounding)
        << "c " << cell.comm_permille << ", " << cell.actual << "/" << cell.best;
  }
}

TEST(Slowdown, BetterThanTheBestIsNoSpeedUp) {
  EXPECT_EQ(SlowdownPpm(base::Permille::Of(300), 100, 200), kMillion);
}

/// One rank with `gpus` GPUs on each of `nodes`.
model::GangPlacement Place(std::initializer_list<std::uint32_t> nodes) {
  model::GangPlacement placement;
  for (const std::uint32_t node : nodes) placement.ranks.push_back({.node = {node}});
  placement.group_sizes = {static_cast<std::int32_t>(nodes.size())};
  return placement;
}

constexpr base::MilliGpu Gpus(std::int64_t count) { return base::MilliGpu::Of(1000 * count); }
constexpr base::Permille kTenth = base::Permille::Of(100);

class Tree : public testing::Test {
 protected:
  // 8 nodes of 8 GPUs, 2 in a leaf, 4 in a spine.
  static model::Cluster Make() {
    model::Cluster cluster = MakeCluster(8, 8, 2);
    cluster.levels = {{.name = "spine", .label = "spine", .bandwidth_permille = 250},
                      {.name = "leaf", .label = "leaf", .bandwidth_permille = 500}};
    for (std::size_t i = 0; i < 8; ++i)
      cluster.nodes[i].labels.emplace_back("spine", i < 4 ? "a" : "b");
    return cluster;
  }
  model::Cluster cluster_ = Make();
  SlowdownModel model_{cluster_.levels, cluster_.nodes, {}};
};

TEST_F(Tree, TheBestPlacementIsNotSlow) {
  EXPECT_EQ(model_.OfGang(Place({0}), Gpus(8), kTenth), kMillion);
  EXPECT_EQ(model_.OfGang(Place({0, 0}), Gpus(8), kTenth), kMillion);
  EXPECT_EQ(model_.OfGang(Place({0, 1}), Gpus(16), kTenth), kMillion);
  EXPECT_EQ(model_.OfGang(Place({0, 1, 2, 3}), Gpus(32), kTenth), kMillion);     // must span leaves
  EXPECT_EQ(model_.OfGang(Place({0, 1, 2, 3, 4}), Gpus(40), kTenth), kMillion);  // and spines
}

TEST_F(Tree, LeavingADomainCostsItsBandwidth) {
  EXPECT_EQ(model_.OfGang(Place({0, 2}), Gpus(16), kTenth), 1'100'000);  // two leaves: 1000 -> 500
  EXPECT_EQ(model_.OfGang(Place({0, 4}), Gpus(16), kTenth), 1'300'000);  // two spines: 1000 -> 250
  EXPECT_EQ(model_.OfGang(Place({0, 1, 2, 4}), Gpus(32), kTenth), 1'100'000);  // 500 -> 250
  EXPECT_EQ(model_.OfGang(Place({0, 1}), Gpus(8), kTenth),
            1'800'000);  // out of the node: 9000 -> 1000
}

TEST_F(Tree, NoCommunicationNoSlowdown) {
  EXPECT_EQ(model_.OfGang(Place({0, 4}), Gpus(16), base::Permille{}), kMillion);
}

// As for the engine, a node without the label of a level shares no domain of it with another.
TEST(Slowdown, NodesWithoutALabelAreDomainsOfTheirOwn) {
  model::Cluster cluster = MakeCluster(4, 8, 2);
  cluster.nodes[2].labels.clear();
  cluster.nodes[3].labels.clear();
  const SlowdownModel model(cluster.levels, cluster.nodes, {});
  EXPECT_EQ(model.OfGang(Place({0, 1}), Gpus(16), kTenth), kMillion);
  EXPECT_EQ(model.OfGang(Place({2, 3}), Gpus(16), kTenth), 1'100'000);
}

TEST(Nvlink, LeavingTheRackCostsEighteenfold) {
  model::Cluster cluster = MakeCluster(4, 4, 2);
  cluster.levels[0].name = "nvlink";
  cluster.levels[0].bandwidth_permille = 1000;
  const SlowdownModel model(cluster.levels, cluster.nodes, {});
  EXPECT_EQ(model.OfGang(Place({0, 1}), Gpus(8), kTenth), kMillion);
  EXPECT_EQ(model.OfGang(Place({1, 2}), Gpus(8), kTenth), 2'700'000);
}

TEST(Contention, GangsThatCrossTheSameDomainShareItsUplinks) {
  const model::Cluster cluster = MakeCluster(8, 8, 2);
  SlowdownModel model(cluster.levels, cluster.nodes, {.uplinks = 2});
  const model::GangPlacement other = Place({0, 4});
  EXPECT_EQ(model.OfGang(Place({1, 2}), Gpus(16), kTenth), 1'100'000);
  model.Enter(other, kTenth);
  // 500 / (1 + 1/2): 333 of 1000.
  EXPECT_NEAR(static_cast<double>(model.OfGang(Place({1, 2}), Gpus(16), kTenth)), 1'200'000, 500);
  EXPECT_EQ(model.OfGang(Place({2, 6}), Gpus(16), kTenth), 1'100'000);  // other leaves
  model.Leave(other, kTenth);
  EXPECT_EQ(model.OfGang(Place({1, 2}), Gpus(16), kTenth), 1'100'000);
  model.Enter(other, base::Permille::Of(kHeavyPermille - 1));  // too light to count
  EXPECT_EQ(model.OfGang(Place({1, 2}), Gpus(16), kTenth), 1'100'000);
}

}  // namespace
}  // namespace muster::sim::test
