// SPDX-License-Identifier: Apache-2.0
// Real processes, each under a supervisor and keeper of its own: how they begin, what they are
// given, and that nothing of them is left. Everything through the driver's face.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/strings.h"
#include "driver/local/environment.h"
#include "driver/local/plan.h"
#include "driver/local/process_tree.h"
#include "test/driver/local_fixture.h"

namespace muster::driver {
namespace {

using testing::Test;
using Kind = RankExit::Kind;

class SupervisorTest : public LocalDriverTest {
 protected:
  void SetUp() override { Open(); }
  std::int32_t StoppedAfter(const Launch& launch, base::Duration grace) {
    driver->Give(Stop{launch.gang, grace});
    return static_cast<std::int32_t>(WaitForExit(launch.gang).kind);
  }
};

TEST_F(SupervisorTest, EndsAreToldAsTheyWere) {
  struct Case {
    std::string name;
    std::string script;
    RankExit exit;
  };
  const std::vector<Case> cases{
      {"well", "exit 0", {.kind = Kind::kExited, .code = 0}},
      {"exit status", "exit 7", {.kind = Kind::kExited, .code = 7}},
      {"highest status", "exit 255", {.kind = Kind::kExited, .code = 255}},
      {"signal", "kill -USR1 $$", {.kind = Kind::kSignalled, .code = SIGUSR1}},
      {"killed", "kill -KILL $$", {.kind = Kind::kSignalled, .code = SIGKILL}},
  };
  std::uint32_t job = 0;
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const Launch launch = Script(++job, test.script);
    EXPECT_EQ(RunToEnd(launch), test.exit);
    EXPECT_TRUE(seen->Started(launch.gang));
  }
}

TEST_F(SupervisorTest, WhatCannotBeRunSaysWhy) {
  std::ofstream(folder / "plain") << "exit 0\n";
  std::ofstream(folder / "no-head") << "exit 0\n";
  std::filesystem::permissions(folder / "no-head", std::filesystem::perms::owner_all);
  struct Case {
    std::string name;
    model::TaskCommand command;
    std::string text;
  };
  const std::string here = folder.path();
  const std::vector<Case> cases{
      {"no such command",
       {.command = {"no-such-command"}, .workdir = here},
       "cannot run 'no-such-command': no such command in PATH (/usr/local/sbin:"},
      {"no such path",
       {.command = {"/no/such/path"}, .workdir = here},
       "cannot run '/no/such/path': No such file or directory"},
      {"not executable",
       {.command = {"./plain"}, .workdir = here},
       "cannot run './plain': Permission denied"},
      {"no program",
       {.command = {"./no-head"}, .workdir = here},
       "cannot run './no-head': Exec format error; a script needs a first line such as #!/bin/sh"},
      {"nothing", {.workdir = here}, "there is no command to run"},
      {"no workdir",
       {.command = {"true"}, .workdir = here + "/missing"},
       "cannot enter the working directory '" + here + "/missing': No such file or directory"},
      {"workdir is a file",
       {.command = {"true"}, .workdir = here + "/plain"},
       "cannot enter the working directory '" + here + "/plain': Not a directory"},
      {"no secret",
       {.command = {"true"}, .secret_env = {{"KEY", here + "/secret"}}, .workdir = here},
       "cannot read '" + here +
           "/secret' for the secret variable 'KEY': No such file or directory"},
      {"a NUL", {.command = {"echo", std::string("a\0b", 3)}, .workdir = here}, "has a NUL byte"},
      {"bad name",
       {.command = {"true"}, .env = {{"A=B", "c"}}, .workdir = here},
       "\"A=B\" is no name of an environment variable"},
      {"too large",
       {.command = {"true", std::string(200'000, 'x')}, .workdir = here},
       "cannot run '/usr/bin/true': Argument list too long; arguments and environment together"},
  };
  std::uint32_t job = 0;
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Launch launch = MakeLaunch(++job, {{}});
    launch.groups[0].command = test.command;
    const RankExit exit = RunToEnd(launch);
    EXPECT_EQ(exit.kind, Kind::kNotStarted);
    EXPECT_NE(exit.text.find(test.text), std::string::npos) << exit.text;
    EXPECT_FALSE(seen->Started(launch.gang));
  }
}

TEST_F(SupervisorTest, ArgumentsArriveAsTheyAre) {
  const std::string odd = "two\nlines $HOME `id` \"quotes' \xff\x01 end";
  const Launch launch = MakeLaunch(1, {{"/usr/bin/env", "printf", "%s|", odd, "", "*"}});
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang), odd + "||*|");
}

TEST_F(SupervisorTest, AMegabyteOfEnvironmentArrives) {
  Launch launch = Script(1, "env | wc -c; echo $V7 | wc -c");
  for (int i = 0; i < 10; ++i) {
    launch.groups[0].command.env.emplace_back(base::Format("V{}", i), std::string(100'000, 'x'));
  }
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  std::istringstream log(Log(launch.gang));
  int all = 0;
  int one = 0;
  log >> all >> one;
  EXPECT_GT(all, 1'000'000);
  EXPECT_EQ(one, 100'001);
}

TEST_F(SupervisorTest, ATaskStartsClean) {
  const Launch launch = Script(1,
                               "umask; ls /proc/self/fd | tr '\\n' ' '; grep -E "
                               "'NoNewPrivs|SigBlk|SigIgn' /proc/self/status;"
                               "ps -o sid= -p $$ | tr -d ' ' > sid; echo $$ > pid; cat");
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang),
            "0022\n0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nNoNewPrivs:\t1\n");
  std::string session;
  std::string pid;
  std::ifstream(folder / "sid") >> session;
  std::ifstream(folder / "pid") >> pid;
  EXPECT_EQ(session, pid);
}

TEST_F(SupervisorTest, OutputAndErrorsAreOneStream) {
  const Launch launch = Script(1, "echo one; echo two >&2; printf three");
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang), "one\ntwo\nthree");
}

/// Not a shell's trap: a shell that forks while it is told loses what its child was told.
constexpr const char* kSavesOnTerm =
    "import signal\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    "open(\"lines\",\"w\").write(\"ready\\n\")\n"
    "signal.sigwait([signal.SIGTERM])\n"
    "print(\"saved\")";

TEST_F(SupervisorTest, StopIsPoliteFirst) {
  Lines lines(folder / "lines");
  const Launch launch = MakeLaunch(1, {{"python3", "-c", kSavesOnTerm + std::string("; exit(3)")}});
  driver->Give(launch);
  EXPECT_EQ(lines.Next(), "ready");
  driver->Give(Stop{launch.gang, base::Hours(1)});
  const RankExit exit = WaitForExit(launch.gang);
  EXPECT_EQ(exit, (RankExit{.kind = Kind::kStopped, .text = "exit status 3"}));
  EXPECT_EQ(Log(launch.gang), "saved\n");
}

TEST_F(SupervisorTest, WhatAShellLeavesBehindMayUseItsGrace) {
  Lines lines(folder / "lines");
  const Launch launch = Script(1, "python3 -c '" + std::string(kSavesOnTerm) + "'; echo over");
  driver->Give(launch);
  EXPECT_EQ(lines.Next(), "ready");
  driver->Give(Stop{launch.gang, base::Hours(1)});
  EXPECT_EQ(WaitForExit(launch.gang).kind, Kind::kStopped);
  EXPECT_EQ(Log(launch.gang), "saved\n");
}

TEST_F(SupervisorTest, WhoDoesNotObeyIsKilledAfterItsGrace) {
  Lines lines(folder / "lines");
  const Launch launch = Script(1, "trap '' TERM; echo $$ > lines; sleep 1000");
  driver->Give(launch);
  const ProcessEnd end(std::stoi(lines.Next()));
  driver->Give(Stop{launch.gang, base::Hours(1)});
  driver->Give(Stop{launch.gang, base::Microseconds(1000)});  // the shorter holds
  driver->Give(Stop{launch.gang, base::Hours(1)});
  EXPECT_EQ(WaitForExit(launch.gang),
            (RankExit{.kind = Kind::kStopped, .text = "killed after its grace: signal 9"}));
  EXPECT_TRUE(end.Wait());
}

TEST_F(SupervisorTest, WhatATaskLeavesBehindIsKilledWithIt) {
  Lines lines(folder / "lines");
  // In a session of its own, orphaned, deaf to polite signals.
  const Launch launch = Script(
      1, "setsid sh -c 'trap \"\" TERM HUP; (echo $$ > lines; exec sleep 1000)' & read x < go");
  ASSERT_EQ(mkfifo((folder / "go").c_str(), 0666), 0);
  driver->Give(launch);
  const ProcessEnd end(std::stoi(lines.Next()));
  std::ofstream(folder / "go") << "go\n";
  EXPECT_EQ(WaitForExit(launch.gang), RankExit{});
  EXPECT_TRUE(end.Wait());
}

constexpr const char* kForks = R"(
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(os.open("lines", os.O_WRONLY), b"ready\n")
# Each process of the chain starts the next in a new session and ends, and keeps others going.
for _ in range(4):
  if os.fork() == 0:
    while True:
      if os.fork() == 0:
        os.setsid()
      else:
        os._exit(0)
signal.pause()
)";

TEST_F(SupervisorTest, WhatForksWithoutEndIsKilledWhole) {
  Lines lines(folder / "lines");
  const Launch launch = MakeLaunch(1, {{"python3", "-c", kForks}});
  driver->Give(launch);
  EXPECT_EQ(lines.Next(), "ready");
  driver->Give(Stop{launch.gang, base::Microseconds(0)});
  EXPECT_EQ(WaitForExit(launch.gang).kind, Kind::kStopped);
  const auto plan = ReadPlan({GangFolderPath(launch.gang)});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(ProcessesWithVariable(InvocationVariable(*plan, 0)).empty());
}

TEST_F(SupervisorTest, AFloodOfOutputIsBounded) {
  driver.reset();
  options.log_limit_per_rank = base::Bytes::Of(1 << 20);
  Open();
  const Launch launch = Script(1, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last");
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  const auto chunk = driver->ReadLog({.job = {1}, .attempt = {1}, .offset = 0});
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->end, 20'000'006U);
  EXPECT_GE(chunk->offset, 20'000'006U - (1 << 20));
  const auto tail = driver->ReadLog({.job = {1}, .attempt = {1}, .offset = 20'000'000});
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->bytes, "\nlast\n");
  std::uintmax_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "state/logs/1/1")) {
    kept += entry.file_size();
  }
  EXPECT_LE(kept, 1U << 20);
}

TEST_F(SupervisorTest, SignalsGoToMainProcessesOnly) {
  Lines lines(folder / "lines");
  const Launch launch = Script(1,
                               "trap 'echo main > lines; exit 5' USR1;"
                               "sh -c 'trap \"echo child > lines\" USR1; echo ready > lines;"
                               "sleep 1000 & wait; wait' & wait");
  driver->Give(launch);
  EXPECT_EQ(lines.Next(), "ready");
  driver->Give(Signal{launch.gang, "SIGNONE"});
  driver->Give(Signal{launch.gang, "SIGUSR1"});
  EXPECT_EQ(lines.Next(), "main");
  EXPECT_EQ(WaitForExit(launch.gang), (RankExit{.kind = Kind::kExited, .code = 5}));
}

TEST_F(SupervisorTest, SecretsAreReadAtStartAndWrittenNowhere) {
  std::ofstream(folder / "secret") << "very-hidden\n";
  Launch launch = Script(1, "echo ${#KEY} $KEY | tr a-z n-za-m");
  launch.groups[0].command.secret_env = {{"KEY", folder / "secret"}};
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang), "11 irel-uvqqra\n");
  std::ifstream plan(GangFolderPath(launch.gang) + "/plan", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(plan), {});
  EXPECT_NE(bytes.find("KEY"), std::string::npos);
  EXPECT_EQ(bytes.find("very-hidden"), std::string::npos);
}

TEST_F(SupervisorTest, PerGpuRunsOneProcessADevice) {
  Launch launch =
      Script(1, "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE > lines; read x < go");
  launch.groups[0].command.launch = model::Launch::kPerGpu;
  launch.replicas.push_back(launch.replicas[0]);
  launch.replicas[1].node = "virtual-1";
  Lines lines(folder / "lines");
  Lines go(folder / "go");
  driver->Give(launch);
  std::set<std::string> seen_lines;
  for (int i = 0; i < 4; ++i) seen_lines.insert(lines.Next());
  EXPECT_EQ(seen_lines, (std::set<std::string>{"0/4 0/2", "1/4 1/2", "2/4 0/2", "3/4 1/2"}));
  ASSERT_TRUE(WaitForStart(launch.gang, 1));
  EXPECT_FALSE(seen->Exit(launch.gang, 0).has_value());
  std::ofstream(folder / "go") << "1\n2\n3\n4\n" << std::flush;
  EXPECT_EQ(WaitForExit(launch.gang, 0), RankExit{});
  EXPECT_EQ(WaitForExit(launch.gang, 1), RankExit{});
}

TEST_F(SupervisorTest, OneFailedProcessEndsItsReplica) {
  Lines lines(folder / "lines");
  Launch launch = Script(1,
                         "if [ $LOCAL_RANK = 1 ]; then read x < go; exit 9; fi;"
                         "trap 'echo told > lines; exit 0' TERM; echo ready > lines;"
                         "sleep 1000 & wait; wait");
  launch.groups[0].command.launch = model::Launch::kPerGpu;
  Lines go(folder / "go");
  driver->Give(launch);
  EXPECT_EQ(lines.Next(), "ready");
  std::ofstream(go.path()) << "go\n" << std::flush;
  EXPECT_EQ(lines.Next(), "told");
  EXPECT_EQ(WaitForExit(launch.gang), (RankExit{.kind = Kind::kExited, .code = 9}));
}

TEST_F(SupervisorTest, CheckpointFolderIsMadeForTheAttempt) {
  Launch launch = Script(1, "echo $MUSTER_CHECKPOINT_DIR; cd $MUSTER_CHECKPOINT_DIR && touch here");
  launch.checkpoint_dir = folder / "a/b";
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang), folder / "a/b/1\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "a/b/1/here"));
}

TEST_F(SupervisorTest, ALinkInTheLogFolderIsNotFollowed) {
  std::filesystem::create_directories(folder / "state/logs/1/1");
  std::ofstream(folder / "target") << "untouched";
  std::filesystem::create_symlink(folder / "target", folder / "state/logs/1/1/0.0.log");
  const Launch launch = Script(1, "echo mine");
  EXPECT_EQ(RunToEnd(launch), RankExit{});
  EXPECT_EQ(Log(launch.gang), "mine\n");
  std::string text;
  std::getline(std::ifstream(folder / "target"), text);
  EXPECT_EQ(text, "untouched");
}

TEST_F(SupervisorTest, JobsRunAsTheirOwner) {
  if (!IsRoot()) GTEST_SKIP() << "needs root";
  const std::string hidden = folder / "hidden";
  std::ofstream(hidden) << "x";
  std::filesystem::permissions(hidden, std::filesystem::perms::owner_read);
  Launch launch =
      Script(1, "id -u; id -G; echo $HOME; echo $USER; cat hidden; touch made; kill -9 $PPID");
  launch.owner = Nobody();
  EXPECT_EQ(RunToEnd(launch).kind, Kind::kExited);
  const std::string log = Log(launch.gang);
  EXPECT_EQ(log.find(base::Format("{}\n{}", launch.owner.uid, launch.owner.gid)), 0U) << log;
  EXPECT_NE(log.find("nobody"), std::string::npos);
  EXPECT_NE(log.find("Permission denied"), std::string::npos);
  struct stat facts {};
  ASSERT_EQ(stat((folder / "made").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, launch.owner.uid);
  EXPECT_EQ(facts.st_mode & 0777U, 0644U);
  // Nor does anyone read the logs but through the driver.
  struct stat logs {};
  ASSERT_EQ(stat((folder / "state/logs").c_str(), &logs), 0);
  EXPECT_EQ(logs.st_mode & 0777U, 0700U);
}

TEST_F(SupervisorTest, SecretsAndWorkdirsAreOpenedAsTheOwner) {
  if (!IsRoot()) GTEST_SKIP() << "needs root";
  std::filesystem::create_directory(folder / "own");
  std::filesystem::permissions(folder / "own", std::filesystem::perms::owner_all);
  std::ofstream(folder / "own/secret") << "x";
  Launch secret = Script(1, "exit 0");
  secret.owner = Nobody();
  secret.groups[0].command.secret_env = {{"KEY", folder / "own/secret"}};
  EXPECT_NE(RunToEnd(secret).text.find("Permission denied"), std::string::npos);
  Launch workdir = Script(2, "exit 0");
  workdir.owner = Nobody();
  workdir.groups[0].command.workdir = folder / "own";
  EXPECT_NE(RunToEnd(workdir).text.find("Permission denied"), std::string::npos);
}

TEST_F(SupervisorTest, RootsJobsAreRefusedUnlessAllowed) {
  if (!IsRoot()) GTEST_SKIP() << "needs root";
  driver.reset();
  options.allow_root = false;
  Open();
  const RankExit exit = RunToEnd(Script(1, "exit 0"));
  EXPECT_EQ(exit.kind, Kind::kNotStarted);
  EXPECT_NE(exit.text.find("a job of root is not run"), std::string::npos);
  Launch other = Script(2, "exit 0");
  other.owner = Nobody();
  other.groups[0].command.workdir = "/";
  EXPECT_EQ(RunToEnd(other), RankExit{});
}

TEST_F(SupervisorTest, OthersJobsAreRefusedWhereTheServerIsNotRoot) {
  if (IsRoot()) GTEST_SKIP() << "needs another account than root";
  Launch launch = Script(1, "exit 0");
  launch.owner = {.uid = geteuid() + 1, .gid = getegid(), .user = "other"};
  const RankExit exit = RunToEnd(launch);
  EXPECT_EQ(exit.kind, Kind::kNotStarted);
  EXPECT_NE(exit.text.find("runs jobs of that account only"), std::string::npos) << exit.text;
}

TEST_F(SupervisorTest, AKeeperThatVanishesCostsOnlyItsRank) {
  Lines lines(folder / "lines");
  const std::string script =
      "sh -c 'trap \"\" TERM; echo $$ > lines; sleep 1000' & "
      "echo $PPID > lines; wait";
  Launch launch = MakeLaunch(1, {Shell(script), Shell("read x < go; exit 4")});
  launch.replicas[1].node = launch.replicas[0].node;
  Lines go(folder / "go");
  driver->Give(launch);
  pid_t keeper = 0;
  std::vector<pid_t> numbers{std::stoi(lines.Next()), std::stoi(lines.Next())};
  const pid_t supervisor = SupervisorOf(launch.gang);
  for (const pid_t number : numbers) {
    if (ReadProcess(number)->parent == supervisor) keeper = number;
  }
  const pid_t child = numbers[0] == keeper ? numbers[1] : numbers[0];
  const ProcessEnd end(child);
  ASSERT_NE(keeper, 0);
  kill(keeper, SIGKILL);
  const RankExit exit = WaitForExit(launch.gang, 0);
  EXPECT_EQ(exit.kind, Kind::kLost);
  EXPECT_EQ(exit.text, "the process that kept this rank was killed by signal 9");
  EXPECT_TRUE(end.Wait());
  std::ofstream(go.path()) << "go\n" << std::flush;
  EXPECT_EQ(WaitForExit(launch.gang, 1), (RankExit{.kind = Kind::kExited, .code = 4}));
}

}  // namespace
}  // namespace muster::driver
