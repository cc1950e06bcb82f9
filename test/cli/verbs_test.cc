// SPDX-License-Identifier: Apache-2.0
// Verbs that ask a server, without one: their command lines, and what they say when nobody answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "test/cli/command.h"

namespace muster::cli::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kNowhere = " --server unix:nowhere.sock";

TEST(Verbs, SayWhatWasTriedWhenNoServerAnswers) {
  Write("job.yaml",
        "apiVersion: muster/v1\nkind: Job\nmetadata: {name: a}\n"
        "spec: {tasks: [{name: t, resources: {cpu: 1}, command: [\"true\"]}]}\n");
  Write("policy.yaml", "apiVersion: muster/v1\nkind: Policy\n");
  for (const char* verb : {"status",
                           "queue",
                           "show 1",
                           "why 1",
                           "logs 1",
                           "update 1 --class high",
                           "cancel 1",
                           "cancel --mine",
                           "hold 1",
                           "release 1 2",
                           "requeue 1",
                           "checkpoint 1",
                           "nodes",
                           "nodes a",
                           "topology",
                           "inventory --level leaf",
                           "cordon a --reason x",
                           "uncordon a",
                           "drain a",
                           "pause starts",
                           "resume starts",
                           "events",
                           "audit",
                           "usage --by user",
                           "token list",
                           "token create a",
                           "token revoke a",
                           "top --once",
                           "support-bundle",
                           "submit job.yaml",
                           "policy apply policy.yaml",
                           "policy active"}) {
    const Output output = Muster(verb + std::string(kNowhere));
    EXPECT_EQ(output.code, 5) << verb << "\n" << output.err;
    EXPECT_THAT(output.err, AllOf(HasSubstr("unix:nowhere.sock"), HasSubstr("--server"))) << verb;
    EXPECT_THAT(output.out, IsEmpty()) << verb;
  }
}

struct Slip {
  const char* arguments;
  int code;
  const char* message;
};

TEST(Verbs, SlipsSayWhatAndWhatWasMeant) {
  Write("ok.yaml",
        "apiVersion: muster/v1\nkind: Job\nmetadata: {name: a}\n"
        "spec: {tasks: [{name: t, resources: {cpu: 1}, command: [\"true\"]}]}\n");
  Write("bad.yaml", "apiVersion: muster/v1\nkind: Job\nmetadata: {nmae: a}\n");
  constexpr Slip kSlips[] = {
      {"show", 2, "job"},
      {"show twelve", 2, "\"twelve\" is no number of a job"},
      {"why 0", 2, "no number of a job"},
      {"logs 1 --rank -1", 2, "--rank"},
      {"logs 1 --attempt 0", 2, "--attempt"},
      {"cancel", 2, "--mine"},
      {"cancel 1 --mine", 2, "not both"},
      {"cancel 1 2 --server unix:none", 5, "unix:none"},
      {"update 1", 2, "give --class"},
      {"cordon", 2, "node"},
      {"cordon 'gpu[1-4'", 1, "gpu[1-4"},
      {"cordon 'gpu[1-4]'", 1, "cordon 4 nodes? Say so with --yes"},
      {"pause", 2, "Usage"},
      {"pause startz", 2, "did you mean starts?"},
      {"queue --format xml", 2, "xml"},
      {"queue --limit 0", 2, "--limit"},
      {"events --format csv", 2, "csv"},
      {"token create a --role king", 2, "king"},
      {"submit", 2, "give a file"},
      {"submit ok.yaml -- true", 2, "not both"},
      {"submit --", 2, "the command is empty"},
      {"submit missing.yaml", 4, "missing.yaml"},
      {"submit bad.yaml", 1, "bad.yaml:3"},
      {"submit ok.yaml --gpus 8", 2, "--gpus"},
      {"submit --gpus many -- true", 2, "--gpus"},
      {"submit --replicas 0 -- true", 2, "--replicas"},
      {"submit --name '' -- true", 2, "--name: the value is empty"},
      {"submit --server gopher://x -- true", 2, "--server"},
      {"status --context lab", 2, "--context"},
      {"up --virtual 4y8 --state-dir s", 2, "--virtual"},
      {"up --ports 5-2 --state-dir s", 2, "--ports"},
      {"up --policy missing.yaml --state-dir s", 1, "missing.yaml"},
      {"up --state-dir ok.yaml", 1, "ok.yaml"},
      {"down --state-dir nowhere", 4, "no server runs on nowhere"},
      {"journal verify nowhere", 4, "nowhere"},
      {"journal", 2, "Usage"},
  };
  for (const Slip& slip : kSlips) {
    const Output output = Muster(slip.arguments);
    EXPECT_EQ(output.code, slip.code) << slip.arguments << "\n" << output.err;
    EXPECT_THAT(output.err, HasSubstr(slip.message)) << slip.arguments;
    EXPECT_THAT(output.out, IsEmpty()) << slip.arguments;
  }
}

// What follows `--` is the user's: empty words, options, whatever.
TEST(Verbs, TheUsersCommandIsNotOurs) {
  for (const char* command :
       {"-- prog ''", "-- prog --help", "-- prog --nmae x", "-- -x", "--gpus 1 -- prog -- more"}) {
    const Output output = Muster("submit --server unix:none " + std::string(command));
    EXPECT_EQ(output.code, 5) << command << "\n" << output.err;
  }
  // Elsewhere it means what it does everywhere: no options from here on.
  EXPECT_EQ(Muster("validate -- --missing.yaml").code, 4);
  EXPECT_EQ(Muster("validate -- ''").code, 2);
}

TEST(Verbs, TheSupervisorIsNobodysCommand) {
  EXPECT_THAT(Muster("--help").out, testing::Not(HasSubstr("supervise")));
  EXPECT_THAT(Muster("reference markdown").out, testing::Not(HasSubstr("supervise")));
  EXPECT_NE(Muster("supervise").code, 0);
}

TEST(Config, FaultsHaveTheirPlaceAndStopEveryVerb) {
  Write("cfg/muster/config.yaml", "current: lab\ncontexts:\n  - {name: la, server: \"unix:x\"}\n");
  setenv("XDG_CONFIG_HOME", (Folder() + "/cfg").c_str(), 1);
  const Output output = Muster("queue");
  unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_THAT(output.err, HasSubstr("config.yaml:1:10"));
}

}  // namespace
}  // namespace muster::cli::test
