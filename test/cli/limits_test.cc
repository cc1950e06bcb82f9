// SPDX-License-Identifier: Apache-2.0
// What is too much, odd or hostile on the command line, and output that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "test/cli/command.h"

namespace muster::cli::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Limits, AClusterOfOptionsIsBoundedAsOneOfAFile) {
  const struct {
    std::string options;
    const char* message;
  } kCases[] = {
      {"--nodes 100000 --gpus-per-node 64", "more than 4194304 devices in all"},
      {"--nodes 10000 --memory-per-node 1Pi", "more than 4096Pi of memory in all"},
      {"--nodes 4 --levels node=2", "node is no level to define"},
      {"--nodes 4 --levels any=2", "any is no level to define"},
      {"--nodes 4 --levels leaf=4,leaf=2", "\"leaf\" is given twice"},
      {"--nodes 4 --levels 'a leaf=2'", "a leaf"},
      {"--nodes 4 --levels a=65536,b=32768,c=16384,d=8192,e=4096,f=2048,g=1024,h=512,i=256,j=128,"
       "k=64,l=32,m=16,n=8,o=4,p=2,q=1",
       "17 levels; at most 16"},
  };
  for (const auto& test : kCases) {
    const Output output = Muster("sim run --trace none.csv " + test.options);
    EXPECT_EQ(output.code, 2) << test.options << "\n" << output.err;
    EXPECT_THAT(output.err, HasSubstr(test.message)) << test.options;
  }
  Write("topology.conf", "SwitchName=a Nodes=n[1-100000]\n");
  const Output topology =
      Muster("sim run --trace none.csv --topology topology.conf --memory-per-node 1Pi");
  EXPECT_EQ(topology.code, 1) << topology.err;
  EXPECT_THAT(topology.err, HasSubstr("more than 4096Pi of memory in all"));
}

// The way into the policy, and the policy itself, are walked by recursion.
TEST(Limits, SettingsAreNotEndlesslyDeep) {
  const std::string key(20'000, '.');
  const Output set = Muster("policy show --set a" + key + "b=1");
  EXPECT_EQ(set.code, 2) << set.err;
  EXPECT_THAT(set.err, HasSubstr("at most 64"));
  const Output vary = Muster("sim compare --trace none.csv --nodes 1 --vary a" + key + "b=1,2");
  EXPECT_EQ(vary.code, 2) << vary.err;
  EXPECT_THAT(vary.err, HasSubstr("at most 64"));
}

TEST(Limits, OptionsOfTheTrace) {
  Write("trace.csv", "submit,duration,gpu\n0,60,1\n");
  EXPECT_EQ(Muster("sim run --nodes 1 --trace trace.csv --trace-format nope").code, 2);
  EXPECT_EQ(Muster("sim run --nodes 1 --trace trace.csv --trace-format ''").code, 2);
  const Output window = Muster("sim run --nodes 1 --trace trace.csv --from 2h --before 1h");
  EXPECT_EQ(window.code, 2);
  EXPECT_THAT(window.err, HasSubstr("--before: \"1h\" is not after --from 2h"));
  EXPECT_EQ(Muster("sim run --nodes 1 --trace=--x").code, 4) << "a file, whatever its name";
}

TEST(Limits, ValuesOfOptions) {
  Write("trace.csv", "submit,duration,gpu\n0,60,1\n");
  for (const std::string seed : {"-1", "18446744073709551616", "1e3", "''"}) {
    EXPECT_EQ(Muster("sim run --nodes 1 --trace trace.csv --seed " + seed).code, 2) << seed;
    EXPECT_EQ(Muster("sim generate --nodes 1 --jobs 1 --seed " + seed).code, 2) << seed;
  }
  EXPECT_EQ(Muster("sim run --nodes 1 --trace trace.csv --seed 18446744073709551615").code, 0);
  for (const std::string option : {"--until", "--events", "--policy", "-o", "--trace-format"}) {
    const Output output = Muster("sim run --nodes 1 --trace trace.csv " + option + " ''");
    EXPECT_EQ(output.code, 2) << option;
  }
  const Output plain = Muster("sim run --nodes 1 --trace trace.csv");
  EXPECT_EQ(Muster("sim run --nodes 1 --trace trace.csv -o -").out, plain.out);
  const Output load = Muster("sim generate --profile philly --jobs 100000 --load 0.01 --nodes 1x1");
  EXPECT_EQ(load.code, 2) << load.err;
  EXPECT_THAT(load.err, HasSubstr("--load"));
}

TEST(Limits, WhatTheReaderOfATopologyAssumedIsInTheReport) {
  Write("trace.csv", "submit,duration,gpu\n0,60,1\n");
  Write("forest.conf", "SwitchName=a Nodes=n1 LinkSpeed=9\nSwitchName=b Nodes=n2\n");
  const Output output = Muster("sim run --topology forest.conf --trace trace.csv");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("2 switch trees without a common root"));
  EXPECT_THAT(output.out, HasSubstr("LinkSpeed ignored on 1 lines"));
}

TEST(Limits, WhatATerminalWouldObeyIsShown) {
  const Output missing = Muster("sim run --nodes 1 --trace \"$(printf 'a\\033[2Jb')\"");
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("a\\x1b[2Jb: cannot read"));
  Write("bad.csv", "submit,duration,gpu,name\n0,60,1,caf\xE9\n");
  const Output bad = Muster("sim run --nodes 1 --trace bad.csv");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.csv:2: name: \"caf\\xe9\" is not UTF-8 text"));
}

TEST(Limits, OutputThatCannotBeWrittenIsAFailure) {
  for (const std::string arguments : {"version", "--help", "policy show"}) {
    for (const std::string where : {">/dev/full", ">&-"}) {
      const Output output = Muster(arguments + " " + where + " 2> fault; echo $?");
      EXPECT_EQ(output.out, "1\n") << arguments << where;
      EXPECT_THAT(Read("fault"), HasSubstr("muster: cannot write to standard output"))
          << arguments << where;
    }
  }
  const Output none = Muster("sim generate --nodes 1 --jobs 3 -o out.csv >&- 2> fault; echo $?");
  EXPECT_EQ(none.out, "0\n");
  EXPECT_THAT(Read("fault"), IsEmpty()) << "nothing was to be written there";
  EXPECT_THAT(Read("out.csv"), HasSubstr("submit,duration"));
}

}  // namespace
}  // namespace muster::cli::test
