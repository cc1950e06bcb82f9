// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/cli/command.h"

namespace muster::cli::test {
namespace {

using testing::HasSubstr;

/// A trace, made by the program itself, and where to run it.
constexpr const char* kSite = "--nodes 16 --levels spine=8,leaf=4";

void MakeTrace() {
  const Output output =
      Muster(std::string("sim generate --profile demo --jobs 300 --seed 5 --load 1.1 ") + kSite +
             " -o demo.csv");
  ASSERT_EQ(output.code, 0) << output.err;
}

TEST(SimRun, TextForPeople) {
  MakeTrace();
  const Output output = Muster(std::string("sim run --trace demo.csv ") + kSite);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  ExpectGolden("sim_run.txt", output.out);
}

TEST(SimRun, DocumentsForPrograms) {
  MakeTrace();
  const std::string command = std::string("sim run --trace demo.csv ") + kSite;
  const Output json = Muster(command + " --format json");
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"kind\": \"SimulationReport\""));
  EXPECT_THAT(json.out, HasSubstr("\"decisionHash\": \""));
  EXPECT_THAT(Muster(command + " --format yaml").out, HasSubstr("kind: SimulationReport"));
  const Output csv = Muster(command + " --format csv");
  EXPECT_THAT(csv.out, testing::StartsWith(
                           "name,size,submit_s,start_s,end_s,wait_s,fate,restarts,slowdown\n"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 301);
  const Output file = Muster(command + " --format json --output report.json");
  EXPECT_EQ(file.out, "");
  EXPECT_EQ(Read("report.json"), json.out);
}

TEST(SimRun, FaultsCheckpointsAndExplanations) {
  MakeTrace();
  Write("events.csv",
        "at,node,event\n30h,node-00003,down\n33h,node-00003,up\n"
        "40h,node-00007,drain\n44h,node-00007,up\n");
  const Output output =
      Muster(std::string("sim run --trace demo.csv ") + kSite +
             " --events events.csv --checkpoint-every 10m --restart-cost 2m --explain demo-00055");
  EXPECT_EQ(output.code, 0) << output.err;
  ExpectGolden("sim_run_faults.txt", output.out);
  const Output unknown =
      Muster(std::string("sim run --trace demo.csv ") + kSite + " --explain nobody");
  EXPECT_EQ(unknown.code, 4);
}

TEST(SimRun, CpuClustersAreCountedInCpus) {
  Write("small.swf",
        "; a comment\n1 0 -1 100 2 -1 -1 2 200 -1 1 1 1 1 1 1 -1 -1\n"
        "2 5 -1 50 4 -1 -1 4 60 -1 0 2 1 1 1 1 -1 -1\n");
  const Output output = Muster("sim run --trace small.swf --nodes 1x0 --cpus-per-node 4");
  EXPECT_EQ(output.code, 0) << output.err;
  ExpectGolden("sim_run_swf.txt", output.out);
}

TEST(SimCompare, StrategiesSideBySide) {
  MakeTrace();
  const std::string command = std::string("sim compare --trace demo.csv ") + kSite +
                              " --strategy topology,random --seeds 2";
  const Output output = Muster(command);
  EXPECT_EQ(output.code, 0) << output.err;
  ExpectGolden("sim_compare.txt", output.out);
  EXPECT_THAT(Muster(command + " --format json").out,
              HasSubstr("\"kind\": \"SimulationComparison\""));
  EXPECT_THAT(Muster(command + " --format csv").out, HasSubstr("completion_mean_s,random,"));
}

TEST(SimCompare, AnyKeyCanVary) {
  MakeTrace();
  const Output output = Muster(std::string("sim compare --trace demo.csv ") + kSite +
                               " --vary queues.default.blocking=bypass,strict");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("strict"));
}

TEST(SimImport, TurnsATraceIntoOurs) {
  Write("small.swf", "1 0 -1 100 2 -1 -1 2 200 -1 1 1 1 1 1 1 -1 -1\n");
  const Output output = Muster("sim import --trace small.swf -o small.csv");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("small.csv: 1 jobs"));
  EXPECT_THAT(Read("small.csv"), testing::StartsWith("submit,duration,"));
  EXPECT_EQ(Muster("sim import --trace small.csv").out, Read("small.csv"));
}

}  // namespace
}  // namespace muster::cli::test
