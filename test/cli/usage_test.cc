// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, slips, missing and bad files, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "test/cli/command.h"

namespace muster::cli::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kCluster = R"(apiVersion: muster/v1
kind: Cluster
metadata: {name: small}
nodes:
  - name: n[1-4]
    devices: {model: H100, count: 8, memory: 80Gi}
    cpu: 128
    memory: 1Ti
)";

constexpr std::string_view kTrace =
    "submit,duration,replicas,gpu\n0,100,1,8\n10,50,2,8\n20,30,4,8\n";

TEST(Usage, HelpIsOnStandardOutput) {
  const Output output = Muster("--help");
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.out, HasSubstr("sim"));
  EXPECT_THAT(output.err, IsEmpty());
  EXPECT_EQ(Muster("sim run --help").code, 0);
}

TEST(Usage, NothingToDoShowsHelp) {
  for (const char* arguments : {"", "sim", "policy", "reference"}) {
    const Output output = Muster(arguments);
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_THAT(output.out, IsEmpty()) << arguments;
    EXPECT_THAT(output.err, HasSubstr("Usage")) << arguments;
  }
}

struct Slip {
  const char* arguments;
  int code;
  const char* message;
};

TEST(Usage, SlipsSayWhatAndWhatWasMeant) {
  constexpr Slip kSlips[] = {
      {"simm", 2, "did you mean sim?"},
      {"sim rum", 2, "did you mean run?"},
      {"sim run --trcae x --nodes 1", 2, "did you mean --trace?"},
      {"sim run --trace x --nodes 1 --seeed 3", 2, "did you mean --seed?"},
      {"sim run --trace x --nodes 1 --format xml", 2, "xml"},
      {"sim run --trace x --nodes 1 --seed abc", 2, "abc"},
      {"sim run --trace nowhere.swf --nodes 1", 4, "nowhere.swf"},
      {"sim run --trace nowhere.swf", 2, "--cluster"},
      {"sim run --trace nowhere.swf --nodes 1 --cluster x", 2, "one of"},
      {"sim run --trace nowhere.swf --cluster missing.yaml", 4, "missing.yaml"},
      {"sim run --trace nowhere.swf --nodes 3y", 2, "3y"},
      {"sim run --trace nowhere.swf --nodes 4 --levels leaf", 2, "leaf"},
      {"sim run --trace nowhere.swf --nodes 4 --levels leaf=2 --bandwidth lef=0.5", 2, "lef=0.5"},
      {"sim run --trace nowhere.swf --nodes 4 --policy missing.yaml", 4, "missing.yaml"},
      {"sim run --trace nowhere.swf --nodes 4 --until tomorrow", 2, "tomorrow"},
      {"sim run --trace nowhere.swf --nodes 4 --set placement.strategy", 2, "KEY=VALUE"},
      {"sim run --trace nowhere.swf --nodes 4 --set placement.strategy=fastest", 1, "fastest"},
      {"sim run --trace nowhere.swf --nodes 4 --set placement.startegy=random", 1, "strategy"},
      {"sim compare --trace nowhere.swf --nodes 4", 2, "two policies"},
      {"sim run --trace nowhere.swf --nodes 4 --explain j --format csv", 2, "--explain"},
      {"sim run --trace nowhere.swf --nodes 4 --cpus-per-node 9223372036854775", 2, "at most"},
      {"sim run --trace nowhere.swf --nodes 9999 --memory-per-node 1Pi", 2, "in all"},
      {"sim run --trace nowhere.swf --nodes 4 --set topology.fabric=leaf", 1, "topology.fabric"},
      {"sim generate --nodes 4 --profile filly", 2, "filly"},
      {"sim generate --nodes 4 --load none", 2, "none"},
      {"sim generate --nodes 4x0", 1, "no GPUs"},
      {"policy validate missing.yaml", 4, "missing.yaml"},
      {"validate", 2, "muster: give one or more files"},
      {"policy show --set queues.defalt.blocking=strict", 2,
       "no queue \"defalt\"; did you mean \"default\"?"},
  };
  for (const Slip& slip : kSlips) {
    const Output output = Muster(slip.arguments);
    EXPECT_EQ(output.code, slip.code) << slip.arguments << "\n" << output.err;
    EXPECT_THAT(output.err, HasSubstr(slip.message)) << slip.arguments;
    EXPECT_THAT(output.out, IsEmpty()) << slip.arguments;
  }
}

TEST(Usage, BadFilesAreNamedWithTheirLines) {
  Write("bad.csv", "submit,duration,replicas,gpu\n0,100,1,8\n5,soon,1,8\n");
  const Output trace = Muster("sim run --trace bad.csv --nodes 4");
  EXPECT_EQ(trace.code, 1);
  EXPECT_THAT(trace.err, HasSubstr("bad.csv:3"));

  Write("bad.yaml", "apiVersion: muster/v1\nkind: Policy\nplacement: {startegy: random}\n");
  const Output policy = Muster("policy validate bad.yaml");
  EXPECT_EQ(policy.code, 1);
  EXPECT_THAT(policy.err, HasSubstr("bad.yaml:3"));

  Write("trace.csv", kTrace);
  Write("events.csv", "at,node,event\n1h,node-00001,explodes\n2h,node-00001\n");
  const Output events = Muster("sim run --trace trace.csv --nodes 4 --events events.csv");
  EXPECT_EQ(events.code, 1);
  EXPECT_THAT(events.err, HasSubstr("events.csv:2"));
  EXPECT_THAT(events.err, HasSubstr("events.csv:3"));

  Write("events.csv", "at,node,event\n1h,node-00009,down\n");
  const Output node = Muster("sim run --trace trace.csv --nodes 4 --events events.csv");
  EXPECT_EQ(node.code, 1);
  EXPECT_THAT(node.err, HasSubstr("events.csv:2: node \"node-00009\""));
  Write("header.csv", "submit,duration,gpu\n");
  const Output empty = Muster("sim run --trace header.csv --nodes 4");
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("header.csv: no jobs"));
}

TEST(Policy, FaultsOfTheEngineHaveTheirPlace) {
  Write("rules.yaml",
        "apiVersion: muster/v1\nkind: Policy\nplacement: {strategy: fastest}\nqueues:\n"
        "  - {name: a, order: best}\n  - {name: a, blcking: strict}\n");
  const Output output = Muster("policy validate rules.yaml");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("rules.yaml:3:23: placement.strategy: \"fastest\""));
  EXPECT_THAT(output.err, HasSubstr("rules.yaml:5:22: queues[0].order: \"best\""));
  EXPECT_THAT(output.err, HasSubstr("rules.yaml:6:15: queues[1].blcking"));
  EXPECT_THAT(output.err, HasSubstr("rules.yaml:6:12: queues[1].name: \"a\" is given twice"));
  EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 4) << output.err;
}

TEST(Validate, ShowsTheVersionBesideOtherFaultsAndKnowsTracesAndTabs) {
  Write("old.yaml",
        "apiVersion: muster/v2\nkind: Cluster\nnodes:\n  - {name: \"n[01-4\", cpu: x}\n"
        "  - {name: m, rmda: 2}\n  - {name: o, gpus: 8}\n");
  const Output old = Muster("validate old.yaml");
  EXPECT_THAT(old.err, HasSubstr("old.yaml:1:13: apiVersion"));
  EXPECT_THAT(old.err, HasSubstr("old.yaml:4:12: nodes[0].name"));
  EXPECT_THAT(old.err, HasSubstr("old.yaml:4:27: nodes[0].cpu"));
  EXPECT_THAT(old.err, HasSubstr("did you mean \"rdma\"?"));
  EXPECT_THAT(old.err, HasSubstr("did you mean \"devices\"?"));
  Write("t.swf", "; a log\n1 0 -1 100 2 -1 -1 2 200 -1 1 1 1 1 1 1 -1 -1\n");
  EXPECT_THAT(Muster("validate t.swf").err, HasSubstr("looks like a trace (swf)"));
  Write("tab.yaml", "apiVersion: muster/v1\nkind: Policy\nplacement:\n\tstrategy: random\n");
  EXPECT_THAT(Muster("validate tab.yaml").err, HasSubstr("tab.yaml:4:1: a tab"));
  const Output json = Muster("validate --format json tab.yaml");
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr("\"where\": \"tab.yaml:4:1\""));
  EXPECT_THAT(Muster("validate --schema policy").out, HasSubstr("Muster policy"));
}

TEST(Validate, TellsWhatADocumentIsByItself) {
  Write("cluster.yaml", kCluster);
  Write("policy.yaml", "apiVersion: muster/v1\nkind: Policy\n");
  const Output good = Muster("validate cluster.yaml policy.yaml");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "cluster.yaml: valid\npolicy.yaml: valid\n");
  Write("other.yaml", "apiVersion: muster/v1\nkind: Cake\n");
  const Output other = Muster("validate cluster.yaml other.yaml");
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.out, "cluster.yaml: valid\n");
  EXPECT_THAT(other.err, HasSubstr("Cake"));
}

TEST(Policy, ShowsDefaultsSchemaAndSettings) {
  const Output defaults = Muster("policy show --defaults");
  EXPECT_EQ(defaults.code, 0) << defaults.err;
  EXPECT_THAT(defaults.out, HasSubstr("kind: Policy"));
  EXPECT_THAT(defaults.out, HasSubstr("searchLimit: 64"));
  EXPECT_THAT(defaults.out, HasSubstr("# preemption.minRuntime: 10m   (planned)\n"));
  Write("defaults.yaml", defaults.out);
  EXPECT_EQ(Muster("policy validate defaults.yaml").code, 0);
  EXPECT_EQ(Muster("policy show --policy defaults.yaml").out, Muster("policy show").out);
  EXPECT_THAT(Muster("policy show --schema").out, HasSubstr("json-schema.org"));
  const Output set =
      Muster("policy show --set queues.default.blocking=strict --set placement.strategy=random");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("blocking: strict"));
  EXPECT_THAT(set.out, HasSubstr("strategy: random"));
}

TEST(Reference, ComesInThreeForms) {
  EXPECT_THAT(Muster("reference markdown").out, HasSubstr("## muster sim run"));
  EXPECT_THAT(Muster("reference man").out, HasSubstr(".TH MUSTER 1"));
  EXPECT_THAT(Muster("reference completion").out,
              HasSubstr("complete -o default -F _muster muster"));
}

TEST(Usage, HelpAndVersionAreFoundUnderTheirUsualNames) {
  EXPECT_EQ(Muster("help sim run").out, Muster("sim run --help").out);
  EXPECT_EQ(Muster("help").out, Muster("--help").out);
  EXPECT_EQ(Muster("--version").out, Muster("version").out);
}

TEST(Usage, TheHelpListsEveryStrategy) {
  Write("trace.csv", kTrace);
  const std::string known =
      Muster("sim run --trace trace.csv --nodes 4 --set placement.strategy=none").err;
  std::string names = known.substr(known.find("known: ") + 7);
  for (char& c : names) {
    if (c == ',' || c == '\n') c = ' ';
  }
  const std::string help = Muster("sim compare --help").out;
  std::istringstream each(names);
  for (std::string name; each >> name;) EXPECT_THAT(help, HasSubstr(name));
}

TEST(Version, IsOneLine) {
  const Output output = Muster("version");
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.out, testing::MatchesRegex("muster [0-9.]+(\\+[0-9a-z.-]+)? \\(.*\\)\n"));
}

}  // namespace
}  // namespace muster::cli::test
