// SPDX-License-Identifier: Apache-2.0
#include "driver/local/gpu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "test/driver/fake_nvml.h"

namespace muster::driver {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kOurs = 77;

/// What one look tells; at most one of each.
struct Seen {
  std::optional<HealthSeen> health;
  std::optional<ForeignSeen> foreign;
  bool nothing() const { return !health && !foreign; }
};

class GpuWatchTest : public testing::Test {
 protected:
  GpuWatchTest() : fake_(ResetFake(8)), nvml_(Nvml::Open(FakeSource()).value()) {}

  GpuWatch Watch() const {
    GpuWatchOptions options{.node = "n1"};
    for (const FakeGpu& gpu : fake_.gpus) options.gpus.push_back({.uuid = gpu.uuid});
    return GpuWatch(nvml_, options);
  }
  static Seen Poll(GpuWatch& watch) {
    Seen seen;
    for (Observation& observation : watch.Poll([](pid_t pid) { return pid == kOurs; })) {
      if (auto* health = std::get_if<HealthSeen>(&observation)) {
        EXPECT_FALSE(seen.health.has_value());
        EXPECT_EQ(health->node, "n1");
        seen.health = *health;
      } else if (auto* foreign = std::get_if<ForeignSeen>(&observation)) {
        EXPECT_FALSE(seen.foreign.has_value());
        EXPECT_EQ(foreign->node, "n1");
        seen.foreign = *foreign;
      } else {
        ADD_FAILURE() << "another observation";
      }
    }
    return seen;
  }

  FakeNvml& fake_;
  Nvml nvml_;
};

TEST_F(GpuWatchTest, TellsAllAtFirstAndThenChangesOnly) {
  GpuWatch watch = Watch();
  const Seen first = Poll(watch);
  ASSERT_TRUE(first.health && first.foreign);
  EXPECT_EQ(first.health->faulty, 0U);
  EXPECT_EQ(first.health->text, "");
  EXPECT_EQ(first.foreign->devices, 0U);
  EXPECT_TRUE(Poll(watch).nothing());
}

TEST_F(GpuWatchTest, TellsEachFaultWithItsReasonAndItsEnd) {
  struct Case {
    std::string name;
    std::function<void(FakeGpu&)> damage;
    bool faulty;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"lost", [](FakeGpu& gpu) { gpu.status = 15; }, true, "lost: it does not answer"},
      {"needs a reset", [](FakeGpu& gpu) { gpu.status = 16; }, true, "lost"},
      {"gone", [](FakeGpu& gpu) { gpu.uuid = "GPU-another"; }, true, "lost"},
      {"ECC", [](FakeGpu& gpu) { gpu.ecc_errors = 3; }, true, "uncorrectable ECC errors (3)"},
      {"remap", [](FakeGpu& gpu) { gpu.remap_failed = true; }, true, "could not be remapped"},
      {"MIG", [](FakeGpu& gpu) { gpu.mig = true; }, true, "MIG is on"},
      {"pending", [](FakeGpu& gpu) { gpu.remap_pending = true; }, false, "waits to be remapped"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ResetFake(8);
    GpuWatch watch = Watch();
    if (c.name != "gone") Poll(watch);  // a handle that is held goes on being that device
    const FakeGpu well = fake_.gpus[3];
    c.damage(fake_.gpus[3]);
    const Seen ill = Poll(watch);
    ASSERT_TRUE(ill.health.has_value());
    EXPECT_EQ(ill.health->faulty, c.faulty ? 0b1000U : 0U);
    EXPECT_THAT(ill.health->text, StartsWith("device 3 (" + well.uuid + "): "));
    EXPECT_THAT(ill.health->text, HasSubstr(c.text));
    EXPECT_THAT(ill.health->text, Not(HasSubstr("device 2")));
    EXPECT_TRUE(Poll(watch).nothing());
    fake_.gpus[3] = well;
    const Seen again = Poll(watch);
    ASSERT_TRUE(again.health.has_value());
    EXPECT_EQ(again.health->faulty, 0U);
    EXPECT_EQ(again.health->text, "");
  }
}

TEST_F(GpuWatchTest, NamesSeveralDevicesAndReasons) {
  GpuWatch watch = Watch();
  Poll(watch);
  fake_.gpus[0].ecc_errors = 1;
  fake_.gpus[0].remap_failed = true;
  fake_.gpus[7].status = 15;
  const Seen seen = Poll(watch);
  ASSERT_TRUE(seen.health.has_value());
  EXPECT_EQ(seen.health->faulty, 0b10000001U);
  EXPECT_EQ(seen.health->text,
            "device 0 (" + fake_.gpus[0].uuid +
                "): uncorrectable ECC errors (1): reset it, replace it if they return, a faulty "
                "row of memory could not be remapped: replace it; device 7 (" +
                fake_.gpus[7].uuid + "): lost: it does not answer; reset it or the machine");
  fake_.gpus[0].ecc_errors = 2;  // more of the same is no change
  EXPECT_TRUE(Poll(watch).nothing());
}

TEST_F(GpuWatchTest, KeepsTheLastAnswerWhereThereIsNone) {
  GpuWatch watch = Watch();
  fake_.gpus[3].ecc_errors = 3;
  fake_.gpus[3].compute = {static_cast<unsigned>(::getpid())};
  Poll(watch);
  for (const int status : {4, 10, 999}) {
    SCOPED_TRACE(status);
    fake_.gpus[3].status = status;
    EXPECT_TRUE(Poll(watch).nothing());
  }
  // Neither says a failure to look a device up that it is gone.
  fake_.gpus[3] = FakeGpu{.uuid = fake_.gpus[3].uuid};
  fake_.handle_status = 999;
  GpuWatch another = Watch();
  EXPECT_EQ(Poll(another).health->faulty, 0U);
}

TEST_F(GpuWatchTest, TellsForeignProcesses) {
  const auto me = static_cast<unsigned>(::getpid());
  GpuWatch watch = Watch();
  Poll(watch);
  struct Case {
    std::string name;
    std::vector<unsigned> compute;
    std::vector<unsigned> graphics;
    bool foreign;
  };
  const std::vector<Case> cases = {
      {"none", {}, {}, false},
      {"ours", {kOurs}, {}, false},
      {"somebody's", {me}, {}, true},
      {"ours and somebody's", {kOurs, me}, {}, true},
      {"one that has ended", {999'999'999}, {}, false},  // above any number that Linux gives
      {"a display", {}, {me}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    fake_.gpus[5].compute = c.compute;
    fake_.gpus[5].graphics = c.graphics;
    const Seen seen = Poll(watch);
    EXPECT_FALSE(seen.health.has_value());
    EXPECT_EQ(seen.foreign ? seen.foreign->devices : 0U, c.foreign ? 0b100000U : 0U);
    EXPECT_TRUE(Poll(watch).nothing());
    fake_.gpus[5].compute.clear();
    EXPECT_EQ(Poll(watch).foreign.has_value(), c.foreign);
  }
}

TEST_F(GpuWatchTest, WatchesAllOf64Devices) {
  ResetFake(64);
  GpuWatch watch = Watch();
  fake_.gpus[63].status = 15;
  EXPECT_EQ(Poll(watch).health->faulty, std::uint64_t{1} << 63);
}

TEST_F(GpuWatchTest, HasNothingToSayOfNoDevices) {
  GpuWatch watch(nvml_, {.node = "n1"});
  EXPECT_FALSE(Poll(watch).nothing());
  EXPECT_TRUE(Poll(watch).nothing());
}

}  // namespace
}  // namespace muster::driver
