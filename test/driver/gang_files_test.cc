// SPDX-License-Identifier: Apache-2.0
// What is on disk and in pipes between driver and supervisors: there and back, cut off, damaged, of
// another version.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "driver/local/events.h"
#include "driver/local/files.h"
#include "driver/local/orders.h"
#include "driver/local/plan.h"
#include "test/driver/local_fixture.h"

namespace muster::driver {
namespace {

Plan FullPlan() {
  Plan plan{.launch = {.gang = {{12}, {3}},
                       .job_name = "train",
                       .owner = {.uid = 1000, .gid = 1001, .user = "ann"},
                       .groups = {{.name = "worker"}, {.name = "helper"}},
                       .replicas = {{.group = 1,
                                     .node = "n1",
                                     .devices = 0b11,
                                     .cpu = base::MilliCpu::Of(1500),
                                     .memory = base::Bytes::Of(1 << 30)},
                                    {.group = 0, .node = "n2"}},
                       .checkpoint_dir = "/c",
                       .checkpoint_signal = "SIGUSR1",
                       .checkpoint_every = base::Seconds(1),
                       .resume_from = "/r",
                       .api = "unix:/a",
                       .token = "t"},
            .invocation = "00ff",
            .boot_id = "boot",
            .master_address = "127.0.0.1",
            .master_port = 20007,
            .nodes = {"n1", "n2"},
            .ranks = {{.node = 0, .devices = {"GPU-a"}, .denied_gpus = {1, 2}}, {.node = 1}},
            .log_folder = "/logs/12/3",
            .log_bytes_per_rank = 64,
            .cgroups = PlannedCgroups{.root = "/r", .folder = "f", .has_limits = false}};
  plan.launch.groups[0].command = {.launch = model::Launch::kPerGpu,
                                   .command = {"torchrun", "train.py", ""},
                                   .env = {{"A", "b\nc"}},
                                   .secret_env = {{"KEY", "~/.key"}},
                                   .workdir = "/w"};
  return plan;
}

TEST(Plan, ThereAndBack) {
  const TestFolder folder;
  const GangFolder gang{folder.path()};
  ASSERT_TRUE(WritePlan(gang, FullPlan()));
  const auto read = ReadPlan(gang);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(*read, FullPlan());
}

TEST(Plan, CutOffAndDamagedOnesAreFaults) {
  const std::vector<std::uint8_t> whole = EncodePlan(FullPlan());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodePlan({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::uint8_t> damaged = whole;
    damaged[at] ^= 0xff;
    (void)DecodePlan(damaged);  // anything but a crash
  }
}

TEST(Plan, AnotherVersionIsNamed) {
  std::vector<std::uint8_t> bytes = EncodePlan(FullPlan());
  // The magic number takes five bytes; then the version.
  ASSERT_EQ(bytes[5], 1);
  bytes[5] = 9;
  const auto plan = DecodePlan(bytes);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "a plan of version 9; this program knows version 1");
}

TEST(Events, ThereAndBackWhileTheFileGrows) {
  const TestFolder folder;
  EventReader reader(folder / "events");
  EXPECT_TRUE(reader.ReadNew()->empty());
  auto writer = EventWriter::Create(folder / "events", 2);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(reader.ReadNew()->empty());
  const TaskEvent begun{.kind = TaskEvent::Kind::kBegun, .pid = 99};
  const TaskEvent ended{.kind = TaskEvent::Kind::kEnded,
                        .rank = 1,
                        .exit = {.kind = RankExit::Kind::kSignalled, .code = 9, .text = "x"}};
  ASSERT_TRUE(writer->Append(begun));
  EXPECT_EQ(reader.ReadNew().value(), std::vector<TaskEvent>{begun});
  EXPECT_TRUE(reader.ReadNew()->empty());
  ASSERT_TRUE(writer->Append(ended));
  EXPECT_EQ(reader.ReadNew().value(), std::vector<TaskEvent>{ended});
  EXPECT_EQ(EventReader(folder / "events").ReadNew().value(),
            (std::vector<TaskEvent>{begun, ended}));
}

TEST(Events, AHalfRecordWaitsForItsRest) {
  const TestFolder folder;
  auto writer = EventWriter::Create(folder / "events", 1);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Append({.pid = 1}));
  ASSERT_TRUE(writer->Append({.pid = 2}));
  const auto whole = ReadOwnFile(folder / "events", 4096);
  ASSERT_TRUE(whole);
  for (std::size_t size = 0; size <= whole->size(); ++size) {
    const std::string path = folder / "part";
    EventReader reader(path);
    const auto write = [&](std::size_t bytes) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(whole->data()), static_cast<std::streamsize>(bytes));
    };
    write(size);
    const std::size_t first = reader.ReadNew()->size();
    write(whole->size());
    EXPECT_EQ(first + reader.ReadNew()->size(), 2U) << size;
  }
}

TEST(Events, AnotherVersionIsNamed) {
  const TestFolder folder;
  std::ofstream(folder / "events", std::ios::binary) << std::string("MEVT\x07\0\0\0", 8);
  const auto events = EventReader(folder / "events").ReadNew();
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message.find("events of version 7; this program knows version 1"),
            std::string::npos);
}

TEST(Events, LongTextIsCut) {
  const TestFolder folder;
  auto writer = EventWriter::Create(folder / "events", 1);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Append({.exit = {.text = std::string(100'000, 'x')}}));
  const auto events = EventReader(folder / "events").ReadNew();
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().exit.text, std::string(2048, 'x'));
}

RC_GTEST_PROP(Orders, ThereAndBack, (std::int32_t number, std::int64_t grace_us)) {
  for (const auto kind :
       {SupervisorOrder::Kind::kGo, SupervisorOrder::Kind::kStop, SupervisorOrder::Kind::kSignal}) {
    const SupervisorOrder order{.kind = kind, .number = number, .grace_us = grace_us};
    RC_ASSERT(DecodeOrder(EncodeOrder(order)) == order);
  }
}

TEST(Orders, BytesNeverChange) {
  EXPECT_EQ(
      EncodeOrder({.kind = SupervisorOrder::Kind::kStop, .number = 0x01020304, .grace_us = 0x0506}),
      (std::array<std::uint8_t, 16>{2, 0, 0, 0, 4, 3, 2, 1, 6, 5, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace muster::driver
