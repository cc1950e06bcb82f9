// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "test/format/trace/trace_testing.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kLog =
    "; Version: 2.2\n"
    ";\n"
    "  1     0    10    60  4 -1 -1  -1  120 -1  1  3 1 -1  2 -1 -1 -1\n"
    "  2     5    -1    30  4 -1 -1   8   -1 -1  0 -1 1 -1 -1 -1 -1 -1\n"
    "; a comment between jobs\n"
    "\t3     5     0  0.25 -1 -1 -1   1   -1 64  5  4 1 -1  0 -1 -1 -1   \n";

TEST(SwfTest, ColumnsOfAJob) {
  const model::Workload workload = MustRead(kLog);
  ASSERT_EQ(workload.jobs.size(), 3U);
  const model::TraceJob first{
      .name = "1",
      .user = "3",
      .queue = "2",
      .duration = base::Minutes(1),
      .estimate = base::Minutes(2),
      .replicas = 4,
      .cpu = base::MilliCpu::Of(1000),
      .wait = base::Seconds(10),
      .has_wait = true,
  };
  EXPECT_EQ(workload.jobs[0], first);
  const model::TraceJob second{
      .name = "2",
      .submit = base::Instant{5'000'000},
      .duration = base::Seconds(30),
      .replicas = 8,  // requested goes before allocated
      .cpu = base::MilliCpu::Of(1000),
      .end = model::TraceEnd::kFailed,
  };
  EXPECT_EQ(workload.jobs[1], second);
  const model::TraceJob third{
      .name = "3",
      .user = "4",
      .queue = "0",
      .submit = base::Instant{5'000'000},
      .duration = base::Microseconds(250'000),
      .cpu = base::MilliCpu::Of(1000),
      .memory = base::Bytes::Of(64 * 1024),
      .has_wait = true,
      .end = model::TraceEnd::kCancelled,
  };
  EXPECT_EQ(workload.jobs[2], third);
}

TEST(SwfTest, RequestedTimesAreLimitsOnlyWhenAsked) {
  const model::Workload workload = MustRead(kLog, {.requested_time_limits = true});
  EXPECT_EQ(workload.jobs[0].time_limit, base::Minutes(2));
  EXPECT_TRUE(workload.jobs[1].time_limit.IsZero());
}

struct ShapeCase {
  std::int64_t processors;
  std::int32_t cpus_per_node;
  std::int32_t replicas;
  std::int64_t cpus;
};

TEST(SwfTest, ProcessorsBecomeReplicas) {
  const ShapeCase cases[] = {
      {1, 0, 1, 1}, {240, 0, 240, 1}, {3, 8, 1, 3}, {8, 8, 1, 8}, {9, 8, 2, 8}, {24, 8, 3, 8},
  };
  for (const ShapeCase& c : cases) {
    SCOPED_TRACE(base::Format("{} processors, {} a node", c.processors, c.cpus_per_node));
    const std::string text =
        base::Format("1 0 -1 1 {} -1 -1 -1 -1 1024 1 -1 -1 -1 -1 -1 -1 -1\n", c.processors);
    const model::Workload workload = MustRead(text, {.cpus_per_node = c.cpus_per_node});
    ASSERT_EQ(workload.jobs.size(), 1U);
    EXPECT_EQ(workload.jobs[0].replicas, c.replicas);
    EXPECT_EQ(workload.jobs[0].cpu.value(), c.cpus * 1000);
    EXPECT_EQ(workload.jobs[0].memory.value(), c.cpus << 20);
  }
}

TEST(SwfTest, OddRowsAreSkippedAndCounted) {
  const model::Workload workload = MustRead(
      "1 0 -1 -1 4 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n"
      "2 0 -1 -1 4 -1 -1 -1 -1 -1  5 1 1 -1 -1 -1 -1 -1\n"
      "3 0 -1 10 0 -1 -1 -1 -1 -1  1 1 1 -1 -1 -1 -1 -1\n"
      "4 0 -1 10 4 -1 -1 -1 -1 -1  2 1 1 -1 -1 -1 -1 -1\n"
      "4 0 -1 10 4 -1 -1 -1 -1 -1  4 1 1 -1 -1 -1 -1 -1\n"
      "5 0 -1  0 4 -1 -1  0 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n");
  EXPECT_THAT(NamesOf(workload), ElementsAre("5"));
  EXPECT_EQ(workload.jobs[0].replicas, 4);
  EXPECT_THAT(
      workload.notes,
      ElementsAre(
          "2 rows with run time -1 skipped", "1 row without a number of processors skipped",
          "2 rows of status 2, 3 or 4 skipped: they are parts of a job that has its own row"));
}

TEST(SwfTest, WrongValues) {
  const std::string head = "; log\n";
  ExpectFaults({
      {"columns", head + "1 0 -1\n", {"t.csv:2: 3 columns; this format has 18"}},
      {"too many columns",
       head + "1 0 -1 1 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 0\n",
       {"t.csv:2: 19 columns; this format has 18"}},
      {"submit unknown",
       head + "1 -1 -1 1 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
       {"t.csv:2: submit time: \"-1\" is negative; give 0 or more (seconds, such as 90 or 0.5)"}},
      {"run time",
       head + "1 0 -1 -5 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
       {"t.csv:2: run time: \"-5\" is negative; give 0 or more (seconds, such as 90 or 0.5)"}},
      {"beyond 64 bits",
       head + "1 0 -1 92233720368547758080 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
       {"t.csv:2: run time: \"92233720368547758080\" is too large (seconds, such as 90 or 0.5)"}},
      {"processors",
       head + "1 0 -1 1 nan -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
       {"t.csv:2: allocated processors: \"nan\" is not a number (a whole number from 0 to "
        "1048576)"}},
      {"status",
       head + "1 0 -1 1 1 -1 -1 -1 -1 -1 7 -1 -1 -1 -1 -1 -1 -1\n",
       {"t.csv:2: status: \"7\" is not a status; give 0 (failed), 1 (completed), 5 (cancelled) or "
        "-1 (unknown)"}},
  });
}

}  // namespace
}  // namespace muster::format
