// SPDX-License-Identifier: Apache-2.0
// The local driver over the life of servers: gangs that begin whole or not at all, that go on while
// no server is there, and that leave nothing behind.
#include "driver/local/local_driver.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "driver/local/process_tree.h"
#include "test/driver/local_fixture.h"

namespace muster::driver {
namespace {

using Kind = RankExit::Kind;

/// Waits for `Go`. Two bytes in one read: a shell's `read` takes one at a time, so that two readers
/// would mix theirs.
constexpr const char* kWaitForGo =
    "echo $$ > lines; x=$(dd bs=2 count=1 status=none < go); exit $x";

class LocalDriverLife : public LocalDriverTest {
 protected:
  void SetUp() override {
    lines = std::make_unique<Lines>(folder / "lines");
    go = std::make_unique<Lines>(folder / "go");
    Open();
  }
  void Go(const std::string& status) { std::ofstream(go->path()) << status + "\n" << std::flush; }
  /// Starts a gang that waits for `Go`; its ranks' process numbers.
  std::vector<pid_t> Begin(const Launch& launch) {
    driver->Give(launch);
    std::vector<pid_t> pids;
    for (std::size_t i = 0; i < launch.replicas.size(); ++i) {
      pids.push_back(std::stoi(lines->Next()));
    }
    return pids;
  }
  Launch Waiting(std::uint32_t job, std::size_t ranks = 1) const {
    return MakeLaunch(job, std::vector(ranks, Shell(kWaitForGo)));
  }
  bool HasFolder(GangId gang) const { return std::filesystem::exists(GangFolderPath(gang)); }

  std::unique_ptr<Lines> lines;
  std::unique_ptr<Lines> go;
};

TEST_F(LocalDriverLife, TellsItsNodesAndThoseThatAreNoMore) {
  ASSERT_EQ(seen->nodes().size(), 4U);
  EXPECT_EQ(seen->nodes()[3].spec.name, "virtual-3");
  driver.reset();
  options.virtual_layout->nodes = 2;
  Open();
  EXPECT_EQ(seen->nodes().size(), 2U);
  EXPECT_EQ(seen->missing(), (std::vector<std::string>{"virtual-2", "virtual-3"}));
}

TEST_F(LocalDriverLife, ThisMachineIsANode) {
  driver.reset();
  options.virtual_layout.reset();
  options.discovery.name = "here";
  options.discovery.nvml.find = [](const char*) -> void* { return nullptr; };
  Open();
  ASSERT_EQ(seen->nodes().size(), 1U);
  EXPECT_NE(seen->nodes()[0].note.find("isolation: no cgroups"), std::string::npos);
  Launch launch = Script(1, "exit 0");
  launch.replicas[0] = {.node = "here"};
  EXPECT_EQ(RunToEnd(launch), RankExit{});
}

TEST_F(LocalDriverLife, OneDriverAFolder) {
  LocalDriver second(options);
  const base::Status opened = second.Open([](const Observation&) {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, base::ErrorCode::kRefused);
}

constexpr const char* kReduce = R"(
import os, socket
rank, world = int(os.environ["MUSTER_RANK"]), int(os.environ["MUSTER_WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
  server = socket.create_server(place)
  for _ in range(world - 1): open("port", "a").write("up\n")
  total = 0
  peers = []
  for _ in range(world - 1):
    peer = server.accept()[0]
    peers.append(peer)
    total += int(peer.makefile().readline())
  for peer in peers: peer.sendall(b"%d\n" % total)
  print("sum", total)
else:
  os.read(os.open("port", os.O_RDONLY), 3)
  peer = socket.create_connection(place)
  peer.sendall(b"%d\n" % (rank * 10))
  print("got", peer.makefile().readline().strip())
)";

TEST_F(LocalDriverLife, AGangOfFourReducesANumber) {
  // A pipe on which rank 0 tells that it listens; each reader takes one line.
  const Lines port(folder / "port");
  const Launch launch =
      MakeLaunch(1, std::vector(4, std::vector<std::string>{"python3", "-u", "-c", kReduce}));
  driver->Give(launch);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(WaitForExit(launch.gang, rank), RankExit{}) << Log(launch.gang, rank);
    EXPECT_EQ(Log(launch.gang, rank), rank == 0 ? "sum 60\n" : "got 60\n");
  }
}

TEST_F(LocalDriverLife, ALaunchAgainChangesNothing) {
  const Launch launch = Waiting(1);
  Begin(launch);
  driver->Give(launch);
  driver->Give(launch);
  Go("3");
  EXPECT_EQ(WaitForExit(launch.gang), (RankExit{.kind = Kind::kExited, .code = 3}));
  driver->Give(launch);
  Reopen();
  EXPECT_TRUE(driver->Adopt({{.gang = launch.gang, .started = true}}).empty());
  driver->Give(launch);
  EXPECT_EQ(WaitForExit(launch.gang), (RankExit{.kind = Kind::kExited, .code = 3}));
  EXPECT_EQ(seen->EndsTold(), 1U);
}

TEST_F(LocalDriverLife, WhatRunsIsAdopted) {
  const Launch launch = Waiting(1, 4);
  Begin(launch);
  ASSERT_TRUE(seen->WaitFor(
      [&](const Seen& now) { return now.Started(launch.gang, 0) && now.Started(launch.gang, 3); }));
  Reopen();
  const GangId other{{9}, {2}};
  EXPECT_EQ(driver->Adopt({{.gang = launch.gang, .started = true}, {.gang = other}}),
            std::vector{other});
  EXPECT_TRUE(seen->Started(launch.gang, 0));
  EXPECT_TRUE(seen->Started(launch.gang, 3));
  EXPECT_EQ(seen->EndsTold(), 0U);
  for (int rank = 0; rank < 4; ++rank) Go("6");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(WaitForExit(launch.gang, rank), (RankExit{.kind = Kind::kExited, .code = 6}));
  }
}

TEST_F(LocalDriverLife, ASignalToTheServersGroupDoesNotReachTasks) {
  driver.reset();
  const Launch launch = Waiting(1);
  const pid_t server = fork();
  if (server == 0) {
    setpgid(0, 0);
    Open();
    driver->Give(launch);
    if (WaitForStart(launch.gang)) kill(0, SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(server, &status, 0), server);
  EXPECT_TRUE(WIFSIGNALED(status));
  lines->Next();
  Open();
  EXPECT_TRUE(driver->Adopt({{.gang = launch.gang, .started = true}}).empty());
  Go("4");
  EXPECT_EQ(WaitForExit(launch.gang), (RankExit{.kind = Kind::kExited, .code = 4}));
}

TEST_F(LocalDriverLife, EndsWhileAwayAreTold) {
  const Launch launch = Waiting(1, 2);
  const std::vector<pid_t> pids = Begin(launch);
  const ProcessEnd first(SupervisorOf(launch.gang, 0));
  const ProcessEnd second(SupervisorOf(launch.gang, 1));
  driver.reset();
  Go("0");
  Go("8");
  ASSERT_TRUE(first.Wait() && second.Wait());
  Open();
  EXPECT_TRUE(driver->Adopt({{.gang = launch.gang, .started = true}}).empty());
  std::multiset<std::int32_t> codes;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(seen->Started(launch.gang, rank));
    codes.insert(WaitForExit(launch.gang, rank).code);
  }
  EXPECT_EQ(codes, (std::multiset<std::int32_t>{0, 8}));
}

TEST_F(LocalDriverLife, AVanishedSupervisorLosesItsRanksAndNothingOfThemRuns) {
  const Launch launch = Waiting(1, 2);
  Begin(launch);
  const pid_t supervisor = SupervisorOf(launch.gang, 0);
  std::vector<ProcessFacts> below = Descendants(supervisor);
  std::erase_if(below, [&](const ProcessFacts& process) { return process.parent == supervisor; });
  ASSERT_FALSE(below.empty());
  kill(supervisor, SIGKILL);
  const RankExit exit = WaitForExit(launch.gang, 0);
  EXPECT_EQ(exit, (RankExit{.kind = Kind::kLost, .text = "the supervisor on this node vanished"}));
  for (const ProcessFacts& process : below) {
    const auto now = ReadProcess(process.pid);
    EXPECT_TRUE(!now || now->IsDead() || now->start != process.start);
  }
  Go("0");
  EXPECT_EQ(WaitForExit(launch.gang, 1), RankExit{});
}

TEST_F(LocalDriverLife, SupervisorAndKeeperKilledTogetherLeaveNothing) {
  // The child that would stay: not the main process, in a session of its own.
  const Launch launch = Script(1, "setsid sh -c 'echo $$ > lines; exec sleep 1000' & wait");
  const std::vector<pid_t> pids = Begin(launch);
  const ProcessEnd end(pids[0]);
  const pid_t supervisor = SupervisorOf(launch.gang);
  // Stopped first, so that none can act on the other's end.
  std::vector<pid_t> guards{supervisor};
  for (const ProcessFacts& process : Descendants(supervisor)) {
    if (process.parent == supervisor) guards.push_back(process.pid);
  }
  for (const pid_t guard : guards) kill(guard, SIGSTOP);
  for (const pid_t guard : guards) kill(guard, SIGKILL);
  EXPECT_EQ(WaitForExit(launch.gang).kind, Kind::kLost);
  EXPECT_TRUE(end.Wait());
}

TEST_F(LocalDriverLife, ASupervisorThatVanishedWhileAwayIsLost) {
  const Launch launch = Waiting(1);
  const ProcessEnd task(Begin(launch)[0]);
  const ProcessEnd supervisor(SupervisorOf(launch.gang));
  driver.reset();
  Open();  // only to know its number still
  kill(SupervisorOf(launch.gang), SIGKILL);
  driver.reset();
  ASSERT_TRUE(supervisor.Wait() && task.Wait());
  Open();
  EXPECT_TRUE(driver->Adopt({{.gang = launch.gang, .started = true}}).empty());
  EXPECT_EQ(WaitForExit(launch.gang).kind, Kind::kLost);
}

TEST_F(LocalDriverLife, OrphansAreStoppedBeforeAdoptReturns) {
  const Launch launch = Waiting(1, 2);
  const std::vector<pid_t> pids = Begin(launch);
  std::vector<std::unique_ptr<ProcessEnd>> ends;
  for (const pid_t pid : pids) ends.push_back(std::make_unique<ProcessEnd>(pid));
  Reopen();
  EXPECT_TRUE(driver->Adopt({}).empty());
  for (const auto& end : ends) EXPECT_TRUE(end->Wait());
  EXPECT_FALSE(HasFolder(launch.gang));
  EXPECT_EQ(seen->EndsTold(), 0U);
}

TEST_F(LocalDriverLife, ForgottenIsForgottenButForTheLog) {
  const Launch launch = Script(1, "echo words");
  RunToEnd(launch);
  EXPECT_TRUE(HasFolder(launch.gang));
  driver->Give(Forget{launch.gang});
  driver->Give(Forget{launch.gang});
  RunToEnd(Script(2, "exit 0"));  // orders are taken in turn
  EXPECT_FALSE(HasFolder(launch.gang));
  EXPECT_EQ(Log(launch.gang), "words\n");
  Reopen();
  EXPECT_EQ(driver->Adopt({{.gang = launch.gang}}), std::vector{launch.gang});
}

TEST_F(LocalDriverLife, LogsOfForgottenJobsAreBounded) {
  driver.reset();
  options.log_limit = base::Bytes::Of(300'000);
  Open();
  for (std::uint32_t job = 1; job <= 4; ++job) {
    const Launch launch = Script(job, "head -c 100000 /dev/zero");
    RunToEnd(launch);
    driver->Give(Forget{launch.gang});
  }
  RunToEnd(Script(5, "exit 0"));
  EXPECT_EQ(Log({{1}, {1}}), "");
  EXPECT_EQ(Log({{4}, {1}}).size(), 100'000U);
  const auto gone = driver->ReadLog({.job = {1}, .attempt = {1}});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, base::ErrorCode::kNotFound);
}

TEST_F(LocalDriverLife, PortsAreNotSharedAndOutliveTheDriver) {
  driver.reset();
  options.ports = {.first = 28000, .last = 28001};
  Open();
  const char* script = "echo $MASTER_PORT > lines; exit $(dd bs=2 count=1 status=none < go)";
  driver->Give(Script(1, script));
  driver->Give(Script(2, script));
  std::set<std::string> ports{lines->Next(), lines->Next()};
  EXPECT_EQ(ports, (std::set<std::string>{"28000", "28001"}));
  Reopen();
  driver->Adopt({{.gang = {{1}, {1}}}, {.gang = {{2}, {1}}}});
  const RankExit exit = RunToEnd(Script(3, "exit 0"));
  EXPECT_EQ(exit.kind, Kind::kNotStarted);
  EXPECT_NE(exit.text.find("no port is free"), std::string::npos);
  Go("0");
  Go("0");
  WaitForExit({{1}, {1}});
  WaitForExit({{2}, {1}});
  EXPECT_EQ(RunToEnd(Script(4, "exit 0")), RankExit{});
}

TEST_F(LocalDriverLife, WhereOneSupervisorCannotStartNoneDoes) {
  driver.reset();
  // The second supervisor fails: its own program says so.
  std::ofstream(folder / "some") << "#!/bin/sh\n"
                                    "if [ \"$3\" = 1 ]; then echo no luck >&2; exit 1; fi\n"
                                    "exec \"$MUSTER_TEST_SELF\" \"$@\"\n";
  std::filesystem::permissions(folder / "some", std::filesystem::perms::owner_all);
  setenv("MUSTER_TEST_SELF", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
  options.supervisor_command = {folder / "some", "supervise"};
  Open();
  const Launch launch = MakeLaunch(1, std::vector(3, Shell("touch ran")));
  driver->Give(launch);
  for (int rank = 0; rank < 3; ++rank) {
    const RankExit exit = WaitForExit(launch.gang, rank);
    EXPECT_EQ(exit.kind, Kind::kNotStarted);
    EXPECT_EQ(exit.text,
              "the gang was not started: the supervisor of node \"virtual-1\" ended "
              "before it began: no luck");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
  EXPECT_FALSE(HasFolder(launch.gang));
}

TEST_F(LocalDriverLife, WithoutASupervisorProgramNothingStarts) {
  driver.reset();
  options.supervisor_command = {"/no/such/program"};
  Open();
  const RankExit exit = RunToEnd(Script(1, "exit 0"));
  EXPECT_EQ(exit.kind, Kind::kNotStarted);
  EXPECT_EQ(exit.text,
            "the gang was not started: cannot start the supervisor '/no/such/program': "
            "No such file or directory");
}

TEST_F(LocalDriverLife, WhatCannotBeWrittenDownDoesNotRun) {
  std::ofstream(folder / "state/logs/1") << "in the way";
  const RankExit exit = RunToEnd(Script(1, "touch ran"));
  EXPECT_EQ(exit.kind, Kind::kNotStarted);
  EXPECT_NE(exit.text.find("Not a directory"), std::string::npos) << exit.text;
  EXPECT_FALSE(HasFolder({{1}, {1}}));
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
}

TEST_F(LocalDriverLife, UnknownNodesAndDevicesAreNamed) {
  Launch launch = Script(1, "exit 0");
  launch.replicas[0].node = "virtual-7";
  EXPECT_EQ(RunToEnd(launch).text, "there is no node \"virtual-7\" here");
  launch = Script(2, "exit 0");
  launch.replicas[0].devices = 0b100;
  EXPECT_EQ(RunToEnd(launch).text, "node \"virtual-0\" has no device 2");
}

TEST_F(LocalDriverLife, AGangThatWasStoppedBeforeItBeganNeverRuns) {
  driver.reset();
  // Supervisors begin only when told, so the stop is there first.
  std::ofstream(folder / "later") << "#!/bin/sh\n"
                                     "read x < " +
                                         (folder / "go") +
                                         "\n"
                                         "exec \"$MUSTER_TEST_SELF\" \"$@\"\n";
  std::filesystem::permissions(folder / "later", std::filesystem::perms::owner_all);
  setenv("MUSTER_TEST_SELF", std::filesystem::read_symlink("/proc/self/exe").c_str(), 1);
  options.supervisor_command = {folder / "later", "supervise"};
  Open();
  const Launch launch = MakeLaunch(1, std::vector(2, Shell("touch ran")));
  driver->Give(launch);
  driver->Give(Stop{launch.gang, base::Hours(1)});
  driver->Adopt({{.gang = launch.gang}});  // answered after both orders
  Go("1");
  Go("2");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(WaitForExit(launch.gang, rank),
              (RankExit{.kind = Kind::kStopped, .text = "stopped before it began"}));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
}

TEST_F(LocalDriverLife, AGangThatNeverBeganIsUnknown) {
  driver.reset();
  const GangId gang{{5}, {1}};
  std::filesystem::create_directories(GangFolderPath(gang));
  Open();
  EXPECT_EQ(driver->Adopt({{.gang = gang}}), std::vector{gang});
  EXPECT_FALSE(HasFolder(gang));
}

TEST_F(LocalDriverLife, PlansOfAnotherVersionAreStoppedAndUnknown) {
  const Launch launch = Waiting(1, 2);
  const ProcessEnd task(Begin(launch)[0]);
  driver.reset();
  std::ofstream(GangFolderPath(launch.gang) + "/plan", std::ios::binary) << "MPLN-no-such";
  Open();
  EXPECT_EQ(driver->Adopt({{.gang = launch.gang, .started = true}}), std::vector{launch.gang});
  EXPECT_TRUE(task.Wait());
  EXPECT_FALSE(HasFolder(launch.gang));
}

TEST_F(LocalDriverLife, EventsOfAnotherVersionAreStoppedAndLost) {
  const Launch launch = Waiting(1);
  const ProcessEnd task(Begin(launch)[0]);
  ASSERT_TRUE(WaitForStart(launch.gang));
  driver.reset();
  std::fstream(GangFolderPath(launch.gang) + "/0.events",
               std::ios::binary | std::ios::in | std::ios::out)
      << "MEVT\x63";
  Open();
  EXPECT_TRUE(driver->Adopt({{.gang = launch.gang, .started = true}}).empty());
  const RankExit exit = WaitForExit(launch.gang);
  EXPECT_EQ(exit.kind, Kind::kLost);
  EXPECT_NE(exit.text.find("version 99"), std::string::npos) << exit.text;
  EXPECT_TRUE(task.Wait());
}

/// The same with control groups, where this machine lets us have them.
class LocalDriverGroups : public LocalDriverLife {
 protected:
  void SetUp() override {
    options.cgroups = CgroupOptions{.folder = base::Format("muster-test-{}", getpid())};
    if (!CgroupTree::Find(*options.cgroups).usable()) GTEST_SKIP() << "no control groups here";
    LocalDriverLife::SetUp();
  }
  void TearDown() override {
    driver.reset();
    std::error_code ignored;
    for (const auto& mount : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
      rmdir((mount.path() / options.cgroups->folder).c_str());
    }
    rmdir(("/sys/fs/cgroup/" + options.cgroups->folder).c_str());
  }
};

TEST_F(LocalDriverGroups, RanksRunInGroupsThatGoWithThem) {
  const Launch launch = Waiting(1, 2);
  Begin(launch);
  const CgroupTree groups = CgroupTree::Find(*options.cgroups);
  EXPECT_EQ(groups.Names().size(), 2U);
  driver->Give(Stop{launch.gang, base::Seconds(10)});
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(WaitForExit(launch.gang, rank).kind, Kind::kStopped);
  }
  EXPECT_TRUE(groups.Names().empty());
}

TEST_F(LocalDriverGroups, GroupsOfAVanishedSupervisorAreEmptied) {
  const Launch launch = Script(1, "setsid sh -c 'echo $$ > lines; exec env -i sleep 1000' & wait");
  const ProcessEnd end(Begin(launch)[0]);
  const pid_t supervisor = SupervisorOf(launch.gang);
  std::vector<pid_t> guards{supervisor};
  for (const ProcessFacts& process : Descendants(supervisor)) {
    if (process.parent == supervisor) guards.push_back(process.pid);
  }
  for (const pid_t guard : guards) kill(guard, SIGSTOP);
  for (const pid_t guard : guards) kill(guard, SIGKILL);
  EXPECT_EQ(WaitForExit(launch.gang).kind, Kind::kLost);
  EXPECT_TRUE(end.Wait());
  EXPECT_TRUE(CgroupTree::Find(*options.cgroups).Names().empty());
}

TEST_F(LocalDriverGroups, OutOfMemoryIsToldAsSuch) {
  driver.reset();
  options.virtual_layout.reset();
  options.discovery.name = "here";
  options.discovery.nvml.find = [](const char*) -> void* { return nullptr; };
  Open();
  const CgroupTree groups = CgroupTree::Find(*options.cgroups);
  if (groups.Held().find("memory by") == std::string::npos &&
      groups.Held().find("memory and") == std::string::npos &&
      groups.Held().find("memory,") == std::string::npos) {
    GTEST_SKIP() << "no group bounds memory here: " << groups.Held();
  }
  Launch launch = MakeLaunch(1, {{"python3", "-c", "x = b'x' * (300 << 20)"}});
  launch.replicas[0] = {.node = "here", .memory = base::Bytes::Of(std::int64_t{64} << 20)};
  const RankExit exit = RunToEnd(launch);
  EXPECT_EQ(exit.kind, Kind::kOutOfMemory);
  EXPECT_EQ(exit.text,
            "out of memory: 1 of its processes killed at the limit of 64Mi; the command "
            "ended with signal 9");
}

}  // namespace
}  // namespace muster::driver
