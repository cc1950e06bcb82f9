// SPDX-License-Identifier: Apache-2.0
// The CSV formats of public traces, on made-up rows.
#include "base/strings.h"
#include "test/format/trace/trace_testing.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;

// ---------------------------------------------------------------------------- philly

constexpr std::string_view kPhilly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2020-03-01 00:00:10,20.5,1,20.5,vc2\n"
    "2020-02-28 23:59:50,100.0,16,1600.0,vc1\n"
    "2020-03-01 00:00:10,20.5,1,20.5,vc2\n"
    "2020-02-29 00:00:00,7.0,12,84.0,vc1\n";

TEST(PhillyTest, TimesCountFromTheEarliestJobAndEqualRowsAreTwoJobs) {
  const model::Workload workload = MustRead(kPhilly);
  EXPECT_THAT(NamesOf(workload), ElementsAre("2", "4", "1", "3"));
  const model::TraceJob first{.name = "2",
                              .queue = "vc1",
                              .duration = base::Seconds(100),
                              .replicas = 2,
                              .gpu = base::MilliGpu::Of(8000)};
  EXPECT_EQ(workload.jobs[0], first);
  EXPECT_EQ(workload.jobs[1].submit.us, 10'000'000);
  EXPECT_EQ(workload.jobs[2].submit.us, 86'420'000'000);  // 2020 has a 29 February
  EXPECT_EQ(workload.jobs[2].duration, base::Microseconds(20'500'000));
  EXPECT_EQ(workload.jobs[3].submit, workload.jobs[2].submit);
  EXPECT_THAT(workload.notes,
              ElementsAre("the trace starts at 2020-02-28 23:59:50",
                          "1 job rounded up to whole nodes of 8 GPUs, 4 GPUs more than asked for",
                          "jobs were not in submit order; sorted"));
}

struct GpuCase {
  std::int64_t gpus;
  std::int32_t gpus_per_node;
  std::int32_t replicas;
  std::int64_t gpus_each;
};

TEST(PhillyTest, GpuCountsBecomeReplicas) {
  const GpuCase cases[] = {
      {1, 8, 1, 1}, {8, 8, 1, 8}, {9, 8, 2, 8}, {128, 8, 16, 8}, {5, 4, 2, 4}, {2, 1, 2, 1},
  };
  for (const GpuCase& c : cases) {
    SCOPED_TRACE(base::Format("{} GPUs, {} a node", c.gpus, c.gpus_per_node));
    const std::string text =
        base::Format("timestamp,duration,num_gpus\n2020-01-01 00:00:00,1,{}\n", c.gpus);
    const model::Workload workload = MustRead(text, {.gpus_per_node = c.gpus_per_node});
    ASSERT_EQ(workload.jobs.size(), 1U);
    EXPECT_EQ(workload.jobs[0].replicas, c.replicas);
    EXPECT_EQ(workload.jobs[0].gpu.value(), c.gpus_each * 1000);
  }
}

TEST(PhillyTest, RowsWithoutGpusAreSkippedAndCounted) {
  const std::string text = "timestamp,duration,num_gpus\n2020-01-01 00:00:00,1,0\n";
  EXPECT_THAT(FaultsOf(text),
              ElementsAre("t.csv: no jobs: the trace starts at 2020-01-01 00:00:00; 1 row with 0 "
                          "GPUs skipped: the trace does not say what else they need"));
  EXPECT_THAT(MustRead(text + "2020-01-01 00:00:00,1,1\n").notes,
              ElementsAre("the trace starts at 2020-01-01 00:00:00",
                          "1 row with 0 GPUs skipped: the trace does not say what else they need"));
}

TEST(PhillyTest, TimestampsFollowTheCalendar) {
  const std::string head = "timestamp,duration,num_gpus\n1970-01-01 00:00:00,1,1\n";
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"1970-01-02 00:00:01", 86'401},
      {"2000-02-29 12:00:00", 951'825'600},
      {"2017-10-09 07:01:55", 1'507'532'515},
      {"2038-01-19 03:14:08", 2'147'483'648},
  };
  for (const auto& [text, seconds] : cases) {
    SCOPED_TRACE(text);
    const model::Workload workload = MustRead(head + std::string(text) + ",1,1\n");
    ASSERT_EQ(workload.jobs.size(), 2U);
    EXPECT_EQ(workload.jobs[1].submit.us, seconds * 1'000'000);
  }
  for (const std::string_view text :
       {"2019-02-29 00:00:00", "2100-02-29 00:00:00", "2020-13-01 00:00:00", "2020-00-01 00:00:00",
        "2020-01-00 00:00:00", "2020-04-31 00:00:00", "2020-01-01 24:00:00", "2020-01-01 00:60:00",
        "2020-01-01 00:00:60", "1969-12-31 23:59:59", "2200-01-01 00:00:00", "2020-01-01", "",
        "2020-01-01T00:00:00", "2020-01-01 00:00:0x"}) {
    EXPECT_THAT(
        FaultsOf(head + std::string(text) + ",1,1\n"),
        ElementsAre(
            "t.csv:3: timestamp: \"" + std::string(text) +
            "\" is not a date and time from 1970 to 2199; give it as in 2017-10-09 07:01:55"));
  }
}

// ---------------------------------------------------------------------------- helios

constexpr std::string_view kHelios =
    "job_id,user,tenant,class,submit_time,num_chips,chip_type,num_nodes,duration_s,"
    "walltime_limit_s,final_status\n"
    "a,ann,vc1,finetune,5000000,16,,2,24.0,24.0,CANCELED\n"
    "b,bob,vc1,finetune,5000000,1,V100,1,0.5,0.5,COMPLETED\n"
    "c,bob,vc1,finetune,6000001,8,,1,3.0,3.0,NODE_FAIL\n";

TEST(HeliosTest, ColumnsOfAJobAndTiesInFileOrder) {
  const model::Workload workload = MustRead(kHelios);
  EXPECT_THAT(NamesOf(workload), ElementsAre("a", "b", "c"));
  const model::TraceJob first{.name = "a",
                              .user = "ann",
                              .queue = "vc1",
                              .submit = base::Instant{5'000'000},
                              .duration = base::Seconds(24),
                              .replicas = 2,
                              .gpu = base::MilliGpu::Of(8000),
                              .end = model::TraceEnd::kCancelled};
  EXPECT_EQ(workload.jobs[0], first);
  EXPECT_EQ(workload.jobs[1].model, "V100");
  EXPECT_EQ(workload.jobs[2].submit.us, 6'000'001);
  EXPECT_EQ(workload.jobs[2].end, model::TraceEnd::kFailed);
  EXPECT_THAT(workload.notes, ElementsAre("3 rows have a wall time that was copied from the run "
                                          "time; it is not taken as an estimate"));
}

TEST(HeliosTest, CopiedWallTimesAreEstimatesOnlyWhenAsked) {
  const model::Workload workload = MustRead(kHelios, {.copied_estimates = true});
  EXPECT_EQ(workload.jobs[0].estimate, base::Seconds(24));
  EXPECT_TRUE(workload.notes.empty());
}

TEST(HeliosTest, WrongValues) {
  ExpectFaults({
      {"status",
       "submit_time,num_chips,duration_s,final_status\n0,1,1,LOST\n",
       {"t.csv:2: final_status: \"LOST\" is not COMPLETED, CANCELED, FAILED, TIMEOUT or "
        "NODE_FAIL"}},
      {"submit in seconds with a point",
       "submit_time,num_chips,duration_s\n0.5,1,1\n",
       {"t.csv:2: submit_time: \"0.5\" has more digits than its unit can hold (microseconds, such "
        "as 90000000)"}},
      {"chips",
       "submit_time,num_chips,duration_s\n0,-8,1\n",
       {"t.csv:2: num_chips: \"-8\" is negative; give 0 or more (a whole number from 0 to "
        "1048576)"}},
  });
}

// ---------------------------------------------------------------------------- muri

TEST(MuriTest, TimesAreMilliseconds) {
  const model::Workload workload = MustRead(
      "job_id,num_gpu,submit_time,duration,iteration_time,priority\n"
      "0,1,0,2500,490,1\n"
      "1,32,201000,60000,509,0\n");
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[0].duration, base::Microseconds(2'500'000));
  const model::TraceJob second{.name = "1",
                               .submit = base::Instant{201'000'000},
                               .duration = base::Minutes(1),
                               .replicas = 4,
                               .gpu = base::MilliGpu::Of(8000)};
  EXPECT_EQ(workload.jobs[1], second);
  ExpectFaults({{"duration",
                 "job_id,num_gpu,submit_time,duration,iteration_time\n0,1,0,x,1\n",
                 {"t.csv:2: duration: \"x\" is not a number (milliseconds, such as 90000)"}}});
}

// ---------------------------------------------------------------------------- acme

constexpr std::string_view kAcmeHead =
    "job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,"
    "gpu_workers,ps,gpu_per_worker,cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,"
    "profiled_network\n";

TEST(AcmeTest, TheConversionIsUndone) {
  const model::Workload workload = MustRead(std::string(kAcmeHead) +
                                            "0,0.0,3,0.5,0.25,1,0,2.0,12.5,15.0,0.5,500\n"
                                            "1,313.5,7200,0.5,0.75,128,0,8.0,15.0,15.0,10.0,500\n");
  ASSERT_EQ(workload.jobs.size(), 2U);
  const model::TraceJob small{.name = "0",
                              .duration = base::Microseconds(1'500'000),
                              .gpu = base::MilliGpu::Of(2000),
                              .cpu = base::MilliCpu::Of(25'000),
                              .memory = base::Bytes::Of(50'000'000'000),
                              .comm_fraction = base::Permille::Of(50)};
  EXPECT_EQ(workload.jobs[0], small);
  const model::TraceJob large{.name = "1",
                              .submit = base::Instant{313'500'000},
                              .duration = base::Hours(1),
                              .replicas = 128,
                              .gpu = base::MilliGpu::Of(8000),
                              .cpu = base::MilliCpu::Of(120'000),
                              .memory = base::Bytes::Of(1'000'000'000'000),
                              .comm_fraction = base::Permille::Of(200)};
  EXPECT_EQ(workload.jobs[1], large);
}

TEST(AcmeTest, WrongValues) {
  const std::string head(kAcmeHead);
  ExpectFaults({
      {"another conversion",
       head + "0,0,3,0.25,0.5,1,0,1,1,1,1,1\n",
       {"t.csv:2: iteration_computing_time: \"0.25\" is not 0.5; this is not the conversion of the "
        "Kalos trace",
        "t.csv:2: iteration_networking_time: \"0.5\" is neither 0.75 (pretraining) nor 0.25 "
        "(other); this is not the conversion of the Kalos trace"}},
      {"sizes",
       head + "0,0,3,0.5,0.25,0,0,65,1m0,1,x,1\n",
       {"t.csv:2: gpu_workers: \"0\" is out of range (a whole number from 1 to 1048576)",
        "t.csv:2: gpu_per_worker: \"65\" is out of range (a whole number from 1 to 64)",
        "t.csv:2: cpu_per_gpu_worker: \"1m0\" is not a number (CPUs, like 96, 0.5 or 500m)",
        "t.csv:2: tensorsizes: \"x\" is not a number"}},
      {"too many CPUs",
       head + "0,0,3,0.5,0.25,1,0,8,5000,1,1,1\n",
       {"t.csv:2: cpu_per_gpu_worker: \"5000\" CPUs for each GPU; give at most 4096"}},
      {"too much memory",
       head + "0,0,3,0.5,0.25,1,0,8,1,1,90000000,1\n",
       {"t.csv:2: tensorsizes: \"90000000\" times 100 GB is too much for one replica; at most "
        "1Pi"}},
  });
}

}  // namespace
}  // namespace muster::format
