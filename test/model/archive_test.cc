// SPDX-License-Identifier: Apache-2.0
// Every value that goes into snapshots, journals and decision hashes: it comes back, cut bytes are
// refused, and changed bytes never crash. Decisions and facts have no ==, so all are compared by
// their bytes.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/archive.h"
#include "model/decision.h"
#include "model/input.h"
#include "test/model/builders.h"

namespace muster::model {
namespace {

template <class T>
std::vector<std::uint8_t> ToBytes(const T& value) {
  base::Writer writer;
  writer(value);
  return std::move(writer).Take();
}

NodeSpec SomeNode() {
  return {
      .name = "node-1",
      .devices = {{.model = "H100", .memory = base::Bytes::Of(80), .group = 3}, {.model = "H200"}},
      .anonymous_devices = true,
      .cpu = base::MilliCpu::Of(96'000),
      .memory = base::Bytes::Of(INT64_C(1) << 40),
      .nics = 8,
      .extended = {{"npu", 4}},
      .labels = {{"leaf", "l1"}, {"spine", "s1"}},
      .taints = {{"dedicated", "nlp"}}};
}

TaskGroup SomeGroup() {
  return {.name = "worker",
          .replicas = 8,
          .min_replicas = 4,
          .step = 2,
          .shape = {.gpu = test::Gpus(8),
                    .cpu = base::MilliCpu::Of(1),
                    .memory = base::Bytes::Of(2),
                    .nics = 3,
                    .extended = {{"npu", 1}},
                    .models = {"H100", "H200"},
                    .device_memory = base::Bytes::Of(4),
                    .mixed_models = true,
                    .selector = {{.key = "zone",
                                  .op = LabelRequirement::Operator::kExists,
                                  .values = {"a", "b"}}},
                    .tolerations = {{.key = "dedicated", .any_value = false, .value = "nlp"}}}};
}

GangRequest SomeRequest() {
  return {.type = JobType::kService,
          .groups = {SomeGroup(), test::Worker(1, 0)},
          .topology = {.required = "spine",
                       .preferred = "leaf",
                       .segments = {{2, "nvlink"}, {4, "leaf"}},
                       .spread = Spread{"leaf", 2},
                       .anti_affinity = "node",
                       .comm_fraction = base::Permille::Of(200)},
          .relax = {{base::Minutes(10), "any"}},
          .completion = {Completion::Kind::kGroup, "worker"},
          .checkpoint = CheckpointSpec{.every = base::Minutes(5),
                                       .on_signal = "SIGUSR1",
                                       .grace = base::Seconds(90),
                                       .restart = base::Minutes(2),
                                       .dir = "/data/ckpt"},
          .restart = {.limit = 3, .on_node_loss = false},
          .estimate = base::Hours(6),
          .time_limit = base::Hours(24)};
}

Policy SomePolicy() {
  return {
      .topology = {.levels = {{"spine", "net/spine", 500}}, .fabric = "spine"},
      .placement = {.strategy = "topology", .search_limit = 7},
      .priority_classes = {{"urgent", 1000}},
      .queues = {{.name = "research", .blocking = Blocking::kStrict, .order = "fifo"}},
      .defaults = {
          .queue = "research", .priority_class = "urgent", .resources = ResourceDefault::kNone}};
}

GangPlacement SomePlacement() {
  return {.ranks = {{.node = {5},
                     .devices = ~DeviceMask{0},
                     .cpu = base::MilliCpu::Of(7),
                     .memory = base::Bytes::Of(8)},
                    {.node = {6}, .devices = 1}},
          .group_sizes = {1, 1},
          .level = 2};
}

const Reason kSomeReason{ReasonCode::kNodeLost, 3};

std::vector<Fact> SomeFacts() {
  return {
      JobSubmitted{.job = {1},
                   .queue = "q",
                   .user = "u",
                   .priority = -5,
                   .start_after = base::Seconds(1),
                   .request = std::make_shared<GangRequest>(SomeRequest())},
      JobChanged{.job = {1}, .change = JobChanged::Change::kPriority, .priority = 9},
      NodeSeen{.spec = SomeNode()},
      NodeGone{.node = "n"},
      NodeStateChanged{.node = "n", .state = NodeState::kProbation},
      HealthReported{.node = "n", .faulty = 5},
      ForeignUsage{.node = "n", .devices = 6},
      TaskStarted{.job = {1}, .attempt = {2}, .ranks = {3, 4}},
      TaskExited{.job = {1}, .attempt = {2}, .ranks = {3, 4}, .failed = true},
      StopConfirmed{.job = {1}, .attempt = {2}, .ranks = {3, 4}},
      CheckpointReported{.job = {1}, .attempt = {2}, .step = 1'000'000},
      PolicyActivated{.policy = SomePolicy()},
      Tick{},
      StartsPaused{.paused = true},
  };
}

std::vector<Decision> SomeDecisions() {
  return {
      StartGang{.job = {1},
                .attempt = {2},
                .placement = std::make_shared<GangPlacement>(SomePlacement()),
                .reason = kSomeReason},
      StopGang{.job = {1}, .attempt = {2}, .grace = base::Seconds(90), .reason = kSomeReason},
      RequeueJob{.job = {1}, .attempt = {2}, .reason = kSomeReason},
      FinishJob{.job = {1}, .end = JobEnd::kTimedOut, .reason = kSomeReason},
  };
}

static_assert(std::variant_size_v<Fact> == 14, "add the new fact to SomeFacts");
static_assert(std::variant_size_v<Decision> == 4, "add the new decision to SomeDecisions");

/// Reads `bytes` as a T. Reading must end, in whatever state.
template <class T>
bool ReadsWhole(std::span<const std::uint8_t> bytes) {
  T value{};
  base::Reader reader(bytes);
  reader(value);
  return reader.ok() && reader.AtEnd();
}

template <class T>
void ExpectSound(const T& value) {
  const std::vector<std::uint8_t> bytes = ToBytes(value);
  T back{};
  base::Reader reader(bytes);
  reader(back);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(ToBytes(back), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadsWhole<T>(std::span(bytes).first(size))) << "cut to " << size << " bytes";
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> damaged = bytes;
      damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ (1U << bit));
      ReadsWhole<T>(damaged);
    }
  }
}

TEST(ModelArchive, Request) {
  ExpectSound(SomeRequest());
  GangRequest back;
  const std::vector<std::uint8_t> bytes = ToBytes(SomeRequest());
  base::Reader reader(bytes);
  reader(back);
  EXPECT_EQ(back, SomeRequest());
}

TEST(ModelArchive, Node) {
  ExpectSound(SomeNode());
  NodeSpec back;
  const std::vector<std::uint8_t> bytes = ToBytes(SomeNode());
  base::Reader reader(bytes);
  reader(back);
  EXPECT_EQ(back, SomeNode());
}

TEST(ModelArchive, Policy) {
  ExpectSound(SomePolicy());
  Policy back;
  const std::vector<std::uint8_t> bytes = ToBytes(SomePolicy());
  base::Reader reader(bytes);
  reader(back);
  EXPECT_EQ(back, SomePolicy());
}

TEST(ModelArchive, Placement) {
  ExpectSound(SomePlacement());
  GangPlacement back;
  const std::vector<std::uint8_t> bytes = ToBytes(SomePlacement());
  base::Reader reader(bytes);
  reader(back);
  EXPECT_EQ(back, SomePlacement());
}

TEST(ModelArchive, EveryFact) {
  for (const Fact& fact : SomeFacts()) {
    SCOPED_TRACE(fact.index());
    ExpectSound(Input{.at = {123'456}, .fact = fact});
  }
}

TEST(ModelArchive, EveryFactIsAmongTheSamples) {
  std::size_t index = 0;
  for (const Fact& fact : SomeFacts()) EXPECT_EQ(fact.index(), index++);
  EXPECT_EQ(index, std::variant_size_v<Fact>);
}

TEST(ModelArchive, EveryDecision) {
  std::size_t index = 0;
  for (const Decision& decision : SomeDecisions()) {
    SCOPED_TRACE(index);
    EXPECT_EQ(decision.index(), index++);
    ExpectSound(decision);
  }
}

TEST(ModelArchive, ASubmissionMayCarryNoRequest) { ExpectSound(JobSubmitted{.job = {1}}); }

}  // namespace
}  // namespace muster::model
