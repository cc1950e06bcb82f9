// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "format/document.h"
#include "format/json.h"
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
  EXPECT_THAT(unknown.out, HasSubstr("utilisation"));  // the report is there all the same
  EXPECT_THAT(unknown.err, HasSubstr("\"nobody\""));
}

TEST(SimRun, DocumentsExplainToo) {
  Write("two.csv", "submit,duration,name,replicas,gpu\n0,1h,first,4,8\n1m,1h,second,3,8\n");
  const std::string command = "sim run --trace two.csv --nodes 4 --explain second --explain first";
  EXPECT_THAT(Muster(command + " --format yaml").out, testing::EndsWith(R"(explained:
  - job: first
    submitted: true
    waiting: false
    reason: placed
  - job: second
    submitted: true
    waiting: true
    outcome: not-now
    reason: devices-busy
    group: 0
    level: any
    bestDomain: any
    wanted: 3
    have: 0
    nodes:
      - reason: devices-busy
        count: 4
    position: 1
)"));
  EXPECT_THAT(Muster(command + " --format json").out, HasSubstr("\"reason\": \"devices-busy\""));
}

/// Paths of all scalars: "usage[].seconds".
void CollectPaths(const format::Value& value, const std::string& path, std::set<std::string>& out) {
  if (value.kind == format::Value::Kind::kScalar) out.insert(path);
  for (const format::Value& item : value.items) CollectPaths(item, path + "[]", out);
  for (const format::Entry& entry : value.entries) {
    const bool any_name =
        path == "neverReasons" || (path.starts_with("sizes[].") && path.ends_with("Seconds"));
    CollectPaths(entry.value, (path.empty() ? "" : path + ".") + (any_name ? "*" : entry.key), out);
  }
}

std::set<std::string> PathsOf(const std::string& json) {
  const auto parsed = format::ParseJson(json, "report");
  EXPECT_TRUE(parsed.has_value());
  std::set<std::string> out;
  if (parsed) CollectPaths(parsed->documents.front(), "", out);
  return out;
}

/// The fields that the reference lists for a document.
std::set<std::string> DescribedFields(const std::string& page, std::string_view heading) {
  std::set<std::string> out;
  std::istringstream lines(page.substr(page.find(heading) + heading.size()));
  for (std::string line; std::getline(lines, line) && !line.starts_with("## ");) {
    if (line.starts_with("| `")) out.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return out;
}

TEST(Reports, TheReferenceListsEveryField) {
  Write("fields.csv",
        "submit,duration,name,replicas,gpu,required\n0,1h,first,4,8,\n1m,1h,second,3,8,leaf\n"
        "1m,1h,third,2,8,leaf\n2m,1h,fourth,9,8,\n");
  const std::string page = Muster("reference reports").out;
  const std::string site = " --trace fields.csv --nodes 4 --levels leaf=2 --format json";
  const auto run = PathsOf(Muster("sim run --explain second --explain third" + site).out);
  auto described = DescribedFields(page, "## muster sim run\n");
  EXPECT_THAT(described, testing::IsSupersetOf(run));
  // Never in one report: a group is named only where there are several.
  std::erase_if(described,
                [](const std::string& path) { return path.starts_with("explained[]."); });
  described.erase("notes[]");
  EXPECT_THAT(run, testing::IsSupersetOf(described));

  EXPECT_EQ(PathsOf(Muster("sim compare --strategy topology,random --seeds 2" + site).out),
            DescribedFields(page, "## muster sim compare\n"));
}

TEST(SimRun, APolicyMayNameAFabricOfTheClusterFile) {
  Write("two.csv", "submit,duration,name,replicas,gpu\n0,1h,first,3,8\n");
  const std::string command =
      "sim run --trace two.csv --nodes 4 --levels leaf=2 --format yaml --set topology.fabric=";
  EXPECT_THAT(Muster(command + "leaf").out, HasSubstr("fabric: 1"));
  const Output wrong = Muster(command + "island");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("topology.fabric"));
  Write("fabric.yaml", "apiVersion: muster/v1\nkind: Policy\ntopology: {fabric: leaf}\n");
  EXPECT_EQ(Muster("validate fabric.yaml").code, 0);
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

TEST(SimCompare, SaysWhatItCountsAndWhenNothingDiffers) {
  Write("cpu.csv", "submit,duration,cpu,replicas\n0,1h,2,2\n0,1h,2,9\n");
  Write("a/p.yaml", "apiVersion: muster/v1\nkind: Policy\n");
  Write("b/p.yaml", "apiVersion: muster/v1\nkind: Policy\n");
  Write("b/q.yaml", "apiVersion: muster/v1\nkind: Policy\n");
  const std::string command = "sim compare --trace cpu.csv --nodes 1x0 --cpus-per-node 4 --policy ";
  const Output output = Muster(command + "a/p.yaml --policy b/p.yaml --policy ./b/q.yaml");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("CPU-hours in use"));
  EXPECT_THAT(output.out, testing::Not(HasSubstr("GPU")));
  EXPECT_THAT(output.out, HasSubstr("the same decisions"));
  EXPECT_THAT(output.out, testing::ContainsRegex("  a/p.yaml .* b/p.yaml .* q.yaml "));
}

TEST(SimRun, NeverIsNotAQuestionOfWhatIsFree) {
  Write("never.csv", "submit,duration,name,replicas,gpu\n0,1h,first,2,8\n0,1h,big,3,8\n");
  const Output output = Muster("sim run --trace never.csv --nodes 2 --explain big");
  EXPECT_THAT(output.out, HasSubstr("never        1 more than the whole cluster has\n"));
  EXPECT_THAT(output.out,
              HasSubstr("job big: never: more than the whole cluster has; 3 replicas wanted\n"));
  EXPECT_THAT(output.out, testing::Not(HasSubstr("free")));
  EXPECT_THAT(output.out, testing::Not(HasSubstr("in its queue")));
  EXPECT_THAT(Muster("sim run --trace never.csv --nodes 2 --format csv").out,
              HasSubstr("big,24,0.000000,,,,never started,"));
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
