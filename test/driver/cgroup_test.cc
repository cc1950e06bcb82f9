// SPDX-License-Identifier: Apache-2.0
// What is written where, on folders that stand in for hierarchies; that it holds, on the real ones
// of this machine, where they can be written.
#include "driver/local/cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/local/cgroup_files.h"

namespace muster::driver {
namespace {

using base::ErrorCode;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kNothing[] = "no cgroups: processes are tracked by session and parent";
constexpr base::Bytes kMebibyte = base::Bytes::Of(std::int64_t{1} << 20);

std::string NewFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "muster-XXXXXX").string();
  return ::mkdtemp(pattern.data());
}

/// Folders in place of hierarchies, with "job-1-1" in each whose files are there before it is made.
class StandInTest : public testing::Test {
 protected:
  StandInTest() : root_(NewFolder()) {}
  ~StandInTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string Get(const std::string& path) const {
    std::ifstream file(root_ + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void Mount(const std::string& line) {
    mounts_ += line + "\n";
    Put("/proc/self/mountinfo", mounts_);
  }
  void MountV1(const std::string& controllers) {
    Mount("31 23 0:28 / /cg/" + controllers + " rw - cgroup cgroup rw," + controllers);
    std::filesystem::create_directories(root_ + "/cg/" + controllers);
  }
  /// A v2 hierarchy that hands on what it can.
  void MountV2(const std::string& controllers) {
    Mount("31 23 0:28 / /cg/v2 rw - cgroup2 cgroup2 rw");
    Put("/cg/v2/cgroup.controllers", controllers);
    Put("/cg/v2/cgroup.subtree_control", "");
    Put("/cg/v2/muster/cgroup.subtree_control", "");
  }
  void PutGroup(const std::string& hierarchy, const std::vector<std::string>& files) const {
    for (const std::string& file : files) Put("/cg/" + hierarchy + "/muster/job-1-1/" + file, "");
  }
  CgroupTree Tree() const { return CgroupTree::Find({.root = root_}); }

  std::string root_;
  std::string mounts_;
};

TEST_F(StandInTest, SaysWhatAMachineCanHold) {
  struct Case {
    std::string name;
    std::vector<std::string> v1;
    std::optional<std::string> v2;
    std::string held;
  };
  const std::vector<Case> cases = {
      {"none", {}, std::nullopt, kNothing},
      {"none of use", {"blkio", "name=systemd"}, std::nullopt, kNothing},
      {"v2",
       {},
       "cpuset cpu io memory hugetlb pids\n",
       "cpu share, memory and pids by cgroup v2; devices advisory"},
      {"v2 without controllers", {}, "", "cpu, memory and pids not limited; devices advisory"},
      {"v1",
       {"cpu,cpuacct", "memory", "pids", "devices"},
       std::nullopt,
       "cpu share, memory, pids and devices by cgroup v1"},
      {"v1, some",
       {"memory", "pids"},
       std::nullopt,
       "memory and pids by cgroup v1; cpu not limited; devices advisory"},
      {"hybrid",
       {"cpu,cpuacct", "memory", "devices"},
       "pids",
       "pids by cgroup v2; cpu share, memory and devices by cgroup v1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(root_);
    mounts_.clear();
    for (const std::string& controllers : c.v1) MountV1(controllers);
    if (c.v2) MountV2(*c.v2);
    const CgroupTree tree = Tree();
    EXPECT_EQ(tree.Held(), c.held);
    EXPECT_EQ(tree.usable(), c.held != kNothing);
    EXPECT_EQ(tree.has_v2(), c.v2.has_value());
  }
}

TEST_F(StandInTest, CountsNoControllerThatIsNotHandedOn) {
  MountV2("cpu memory pids\n");
  std::filesystem::remove(root_ + "/cg/v2/muster/cgroup.subtree_control");
  EXPECT_EQ(Tree().Held(), "cpu, memory and pids not limited; devices advisory");
}

TEST_F(StandInTest, TakesItsOwnGroupWhereTheOutermostIsNotItsOwn) {
  Mount("31 23 0:28 /outer /cg/v\\0402 rw - cgroup2 cgroup2 rw");
  Put("/proc/self/cgroup", "0::/outer/mine\n");
  Put("/cg/v 2/muster", "a file in the way");
  std::filesystem::create_directories(root_ + "/cg/v 2/mine");
  const CgroupTree tree = Tree();
  ASSERT_TRUE(tree.usable());
  ASSERT_TRUE(tree.Create("job-1-1", {}).has_value());
  EXPECT_TRUE(std::filesystem::is_directory(root_ + "/cg/v 2/mine/muster/job-1-1"));
}

TEST_F(StandInTest, WritesLimitsOfVersion2) {
  MountV2("cpu memory pids\n");
  PutGroup("v2", {"cpu.weight", "cpu.max", "memory.max", "memory.swap.max", "pids.max"});
  const std::string job = "/cg/v2/muster/job-1-1/";
  const CgroupTree tree = Tree();
  Cgroup group =
      tree.Create("job-1-1",
                  {.cpu = base::MilliCpu::Of(2000), .memory = kMebibyte * 512, .processes = 100})
          .value();
  EXPECT_EQ(Get(job + "cpu.weight"), "79");  // 2048 shares of 262144, on a scale to 10000
  EXPECT_EQ(Get(job + "cpu.max"), "");
  EXPECT_EQ(Get(job + "memory.max"), "536870912");
  EXPECT_EQ(Get(job + "memory.swap.max"), "0");
  EXPECT_EQ(Get(job + "pids.max"), "100");
  EXPECT_GE(group.v2_fd(), 0);
  EXPECT_THAT(group.entry_files(), IsEmpty());
  group = tree.Create("job-1-1", {.cpu = base::MilliCpu::Of(500), .cpu_is_ceiling = true}).value();
  EXPECT_EQ(Get(job + "cpu.max"), "50000 100000");
  EXPECT_EQ(Get(job + "pids.max"), "32768");
  EXPECT_EQ(group.Held(), "cpu, memory and pids by cgroup v2; devices advisory");
}

TEST_F(StandInTest, WritesLimitsOfVersion1) {
  for (const char* controller : {"cpu", "memory", "pids", "devices"}) MountV1(controller);
  PutGroup("cpu", {"cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us"});
  PutGroup("memory", {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"});
  PutGroup("pids", {"pids.max"});
  PutGroup("devices", {"devices.allow", "devices.deny"});
  const auto get = [this](const std::string& controller, const std::string& file) {
    return Get("/cg/" + controller + "/muster/job-1-1/" + file);
  };
  const CgroupTree tree = Tree();
  const Cgroup group = tree.Create("job-1-1", {.cpu = base::MilliCpu::Of(2500),
                                               .cpu_is_ceiling = true,
                                               .memory = kMebibyte,
                                               .denied_gpus = {3}})
                           .value();
  EXPECT_EQ(get("cpu", "cpu.shares"), "2560");
  EXPECT_EQ(get("cpu", "cpu.cfs_quota_us"), "250000");
  EXPECT_EQ(get("cpu", "cpu.cfs_period_us"), "100000");
  EXPECT_EQ(get("memory", "memory.limit_in_bytes"), "1048576");
  EXPECT_EQ(get("memory", "memory.memsw.limit_in_bytes"), "1048576");
  EXPECT_EQ(get("pids", "pids.max"), "32768");
  EXPECT_EQ(get("devices", "devices.deny"), "c 195:3 rwm");
  EXPECT_EQ(group.Held(), "cpu, memory, pids and devices by cgroup v1");
  EXPECT_EQ(group.v2_fd(), -1);
  EXPECT_THAT(group.entry_files(), ElementsAre(root_ + "/cg/cpu/muster/job-1-1/cgroup.procs",
                                               root_ + "/cg/memory/muster/job-1-1/cgroup.procs",
                                               root_ + "/cg/pids/muster/job-1-1/cgroup.procs",
                                               root_ + "/cg/devices/muster/job-1-1/cgroup.procs"));
}

TEST_F(StandInTest, SaysWhatAGroupReallyHolds) {
  for (const char* controller : {"memory", "pids", "devices"}) MountV1(controller);
  // No file can be written: as if the kernel refused every limit.
  const Cgroup none = Tree().Create("job-1-1", {.memory = kMebibyte, .denied_gpus = {3}}).value();
  EXPECT_EQ(none.Held(), "cpu, memory and pids not limited; devices advisory");
  // Limits that were not asked for.
  Put("/cg/memory/muster/job-1-2/memory.limit_in_bytes", "9223372036854771712\n");
  Put("/cg/pids/muster/job-1-2/pids.max", "max\n");
  const Cgroup unasked = Tree().Create("job-1-2", {.processes = 0}).value();
  EXPECT_EQ(unasked.Held(), "devices by cgroup v1; cpu, memory and pids not limited");
  EXPECT_EQ(Tree().Open("job-1-2").value().Held(),
            "cpu, memory and pids not limited; devices advisory");
}

TEST_F(StandInTest, ReadsProcessesAndOomKills) {
  MountV1("memory");
  MountV2("");
  Put("/cg/memory/muster/job-1-1/cgroup.procs", "20\n10\n0\nx\n");
  Put("/cg/v2/muster/job-1-1/cgroup.procs", "20\n30\n");
  Put("/cg/v2/muster/job-1-1/a/b/cgroup.procs", "40\n");
  Put("/cg/memory/muster/job-1-1/memory.oom_control", "oom_kill_disable 0\noom_kill 2\n");
  const Cgroup group = Tree().Open("job-1-1").value();
  EXPECT_THAT(group.Pids(), ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(group.OomKills(), 2);
  Put("/cg/v2/muster/job-1-1/memory.events", "oom 5\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(group.OomKills(), 3);
  Put("/cg/v2/muster/job-1-2/cgroup.procs", "");
  EXPECT_EQ(Tree().Open("job-1-2").value().OomKills(), std::nullopt);
}

TEST_F(StandInTest, NamesGroupsAndRefusesOtherNames) {
  MountV1("memory");
  MountV2("");
  const CgroupTree tree = Tree();
  Put("/cg/memory/muster/job-2-1/cgroup.procs", "");
  ASSERT_TRUE(tree.Create("job-1-1", {}).has_value());
  EXPECT_THAT(tree.Names(), ElementsAre("job-1-1", "job-2-1"));
  EXPECT_EQ(tree.Open("job-2-1").value().name(), "job-2-1");
  EXPECT_EQ(tree.Open("job-3-1").error().code, ErrorCode::kNotFound);
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."),
                                  std::string("a b"), std::string(129, 'a')}) {
    EXPECT_EQ(tree.Create(name, {}).error().code, ErrorCode::kInvalid) << name;
    EXPECT_EQ(tree.Open(name).error().code, ErrorCode::kNotFound) << name;
  }
  std::filesystem::remove_all(root_ + "/cg");
  EXPECT_EQ(tree.Create("job-1-1", {}).error().code, ErrorCode::kIo);
}

TEST_F(StandInTest, GivesUpOnProcessesThatDoNotEnd) {
  MountV2("");
  Put("/cg/v2/muster/job-1-1/cgroup.procs", "999999999\n");  // above any number that Linux gives
  const base::Status status = Tree().Open("job-1-1").value().KillAll(base::Microseconds(5000));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(status.error().message, HasSubstr("1 processes of cgroup job-1-1"));
  EXPECT_THAT(status.error().message, HasSubstr("999999999"));
}

TEST_F(StandInTest, DoesNothingWithoutCgroups) {
  const CgroupTree tree = Tree();
  Cgroup group = tree.Create("job-1-1", {.memory = kMebibyte}).value();
  EXPECT_EQ(group.Held(), kNothing);
  EXPECT_EQ(group.v2_fd(), -1);
  EXPECT_THAT(group.entry_files(), IsEmpty());
  EXPECT_TRUE(group.Enter(::getpid()).has_value());
  EXPECT_THAT(group.Pids(), IsEmpty());
  EXPECT_TRUE(group.KillAll().has_value());
  EXPECT_EQ(group.OomKills(), std::nullopt);
  EXPECT_TRUE(group.Remove().has_value());
  EXPECT_TRUE(tree.Open("job-1-1").has_value());
  EXPECT_THAT(tree.Names(), IsEmpty());
}

/// Says when something has come so far.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void Give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void Await(int times) const {
    char byte = 0;
    for (int i = 0; i < times; ++i) EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

[[noreturn]] void WaitForDeath() {
  while (true) ::pause();
}

/// Starts a process that runs `body`, once it is let go, and ends with what that returns.
pid_t Fork(const std::function<int()>& body, const Pipe* gate = nullptr) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (gate != nullptr) gate->Await(1);
  ::_exit(body());
}

int WaitFor(pid_t pid) {
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

/// Which hierarchies of this machine a test may see.
enum class Use { kAll, kV1, kV2 };

/// The real hierarchies; what is left of a test goes away with it.
class RealTest : public testing::TestWithParam<Use> {
 protected:
  RealTest()
      : root_(NewFolder()),
        folder_("muster-test-" + std::to_string(::getpid())),
        tree_(CgroupTree::Find({.root = Root(), .folder = folder_})) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans come to us
  }
  ~RealTest() override {
    for (const std::string& name : tree_.Names()) {
      Cgroup group = tree_.Open(name).value();
      EXPECT_TRUE(group.KillAll().has_value());
      EXPECT_TRUE(group.Remove().has_value());
    }
    for (const CgroupMount& mount : CgroupMounts("")) {
      ::rmdir((mount.top + "/" + folder_).c_str());
      ::rmdir((mount.own + "/" + folder_).c_str());
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    std::filesystem::remove_all(root_);
  }

  void SetUp() override {
    if (!tree_.usable()) GTEST_SKIP() << "no cgroup of this kind can be written here";
  }
  bool Holds(CgroupKind kind) const {
    return tree_.Create("probe", {.cpu = base::MilliCpu::Of(1000), .memory = kMebibyte * 64})
               .value()
               .backing()[static_cast<std::size_t>(kind)] != 0;
  }

  std::string root_;
  std::string folder_;
  CgroupTree tree_;

 private:
  /// A root below which only some of the hierarchies are mounted.
  std::string Root() const {
    if (GetParam() == Use::kAll) return "";
    std::filesystem::create_directories(root_ + "/proc/self");
    std::filesystem::create_directories(root_ + "/sys/fs");
    std::filesystem::create_symlink("/sys/fs/cgroup", root_ + "/sys/fs/cgroup");
    std::ifstream mounts("/proc/self/mountinfo");
    std::ofstream some(root_ + "/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      if (line.find(" - cgroup2 ") != std::string::npos ? GetParam() == Use::kV2
                                                        : GetParam() == Use::kV1)
        some << line << "\n";
    }
    std::filesystem::copy_file("/proc/self/cgroup", root_ + "/proc/self/cgroup");
    return root_;
  }
};

std::string NameOf(const testing::TestParamInfo<Use>& info) {
  if (info.param == Use::kAll) return "all";
  return info.param == Use::kV1 ? "v1" : "v2";
}
INSTANTIATE_TEST_SUITE_P(Hierarchies, RealTest, testing::Values(Use::kAll, Use::kV1, Use::kV2),
                         NameOf);

TEST_P(RealTest, KillsATreeOfProcesses) {
  Cgroup group = tree_.Create("job-1-1", {}).value();
  const Pipe gate;
  const Pipe ready;
  const auto leaf = [&ready]() -> int {
    ready.Give();
    WaitForDeath();
  };
  const auto branch = [&]() -> int {
    ::setsid();
    for (int i = 0; i < 3; ++i) Fork(leaf);
    return leaf();
  };
  const pid_t top = Fork(
      [&] {
        for (int i = 0; i < 3; ++i) Fork(branch);
        return leaf();
      },
      &gate);
  ASSERT_TRUE(group.Enter(top).has_value());
  gate.Give();
  ready.Await(13);
  EXPECT_THAT(group.Pids(), SizeIs(13));
  EXPECT_THAT(group.Pids(), Contains(top));
  EXPECT_EQ(tree_.Open("job-1-1").value().Pids(), group.Pids());
  EXPECT_EQ(group.Remove().error().code, ErrorCode::kUnavailable);

  const base::Status killed = group.KillAll();
  EXPECT_TRUE(killed.has_value()) << killed.error().ToString();
  EXPECT_THAT(group.Pids(), IsEmpty());
  for (int i = 0; i < 13; ++i) {
    int status = 0;
    ASSERT_GT(::waitpid(-1, &status, 0), 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  EXPECT_TRUE(group.Remove().has_value());
  EXPECT_TRUE(group.Remove().has_value());
  EXPECT_EQ(tree_.Open("job-1-1").error().code, ErrorCode::kNotFound);
}

TEST_P(RealTest, KillsProcessesThatRunAway) {
  const Cgroup group = tree_.Create("job-1-1", {}).value();
  ::signal(SIGCHLD, SIG_IGN);  // the kernel buries them
  const Pipe gate;
  const Pipe ready;
  constexpr int kRunners = 8;
  for (int i = 0; i < kRunners; ++i) {
    const pid_t pid = Fork(
        [&ready]() -> int {
          // Each has ended by the time that anyone has read its number.
          for (int generation = 0;; ++generation) {
            if (generation == 10) ready.Give();
            if (::fork() > 0) return 0;
          }
        },
        &gate);
    ASSERT_TRUE(group.Enter(pid).has_value());
  }
  for (int i = 0; i < kRunners; ++i) gate.Give();
  ready.Await(kRunners);
  const base::Status killed = group.KillAll();
  EXPECT_TRUE(killed.has_value()) << killed.error().ToString();
  EXPECT_EQ(::waitpid(-1, nullptr, 0), -1);  // comes back when the last has ended
  EXPECT_EQ(errno, ECHILD);
  EXPECT_THAT(group.Pids(), IsEmpty());
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_P(RealTest, KillsWhatIsInGroupsBelow) {
  Cgroup group = tree_.Create("job-1-1", {}).value();
  const Pipe gate;
  const pid_t pid = Fork([]() -> int { WaitForDeath(); }, &gate);
  ASSERT_TRUE(group.Enter(pid).has_value());
  std::vector<std::string> folders;
  for (const std::string& file : group.entry_files()) {
    folders.push_back(std::filesystem::path(file).parent_path());
  }
  if (group.v2_fd() >= 0) folders.push_back("/proc/self/fd/" + std::to_string(group.v2_fd()));
  for (const std::string& folder : folders) {
    ASSERT_TRUE(MakeFolder(folder + "/inner").has_value());
    ASSERT_TRUE(WriteSmallFile(folder + "/inner/cgroup.procs", std::to_string(pid)).has_value());
  }
  gate.Give();
  EXPECT_THAT(group.Pids(), ElementsAre(pid));
  EXPECT_TRUE(group.KillAll().has_value());
  EXPECT_TRUE(WIFSIGNALED(WaitFor(pid)));
  EXPECT_TRUE(group.Remove().has_value());
}

TEST_P(RealTest, LetsAProcessEnterByItself) {
  const Cgroup group = tree_.Create("job-1-1", {}).value();
  if (group.entry_files().empty()) GTEST_SKIP() << "no v1 here";
  const Pipe ready;
  const pid_t pid = Fork([&]() -> int {
    for (const std::string& file : group.entry_files()) {
      if (!WriteSmallFile(file, "0")) return 1;
    }
    ready.Give();
    WaitForDeath();
  });
  ready.Await(1);
  EXPECT_THAT(group.Pids(), ElementsAre(pid));
  EXPECT_TRUE(group.KillAll().has_value());
  EXPECT_TRUE(WIFSIGNALED(WaitFor(pid)));
  EXPECT_EQ(group.Enter(pid).error().code, ErrorCode::kNotFound);
}

TEST_P(RealTest, TakesAProcessFromItsStart) {
  const Cgroup group = tree_.Create("job-1-1", {}).value();
  if (group.v2_fd() < 0) GTEST_SKIP() << "no v2 here";
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(group.v2_fd());
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) WaitForDeath();
  ASSERT_GT(pid, 0) << std::generic_category().message(errno);
  EXPECT_THAT(group.Pids(), ElementsAre(pid));
  EXPECT_TRUE(group.KillAll().has_value());
  EXPECT_TRUE(WIFSIGNALED(WaitFor(pid)));
}

TEST_P(RealTest, BoundsMemoryAndCountsOomKills) {
  if (!Holds(CgroupKind::kMemory)) GTEST_SKIP() << "memory is not limited: " << tree_.Held();
  const Cgroup group = tree_.Create("job-1-1", {.memory = kMebibyte * 16}).value();
  EXPECT_EQ(group.OomKills(), 0);
  const Pipe gate;
  const pid_t pid = Fork(
      [] {
        constexpr std::size_t kSize = std::size_t{64} << 20;
        void* memory =
            ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (std::size_t at = 0; at < kSize; at += 4096)
          static_cast<volatile char*>(memory)[at] = 1;
        return 0;
      },
      &gate);
  ASSERT_TRUE(group.Enter(pid).has_value());
  gate.Give();
  const int status = WaitFor(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(group.OomKills(), 1);
}

TEST_P(RealTest, BoundsProcesses) {
  if (!Holds(CgroupKind::kPids)) GTEST_SKIP() << "pids are not limited: " << tree_.Held();
  const Cgroup group = tree_.Create("job-1-1", {.processes = 5}).value();
  const Pipe gate;
  const pid_t pid = Fork(
      [] {
        for (int children = 0;; ++children) {
          const pid_t child = ::fork();
          if (child == 0) WaitForDeath();
          if (child < 0) return children;
        }
      },
      &gate);
  ASSERT_TRUE(group.Enter(pid).has_value());
  gate.Give();
  const int status = WaitFor(pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_TRUE(group.KillAll().has_value());
  for (int i = 0; i < 4; ++i) EXPECT_GT(::waitpid(-1, nullptr, 0), 0);
}

TEST_P(RealTest, DeniesDevices) {
  if (!Holds(CgroupKind::kDevices)) GTEST_SKIP() << "devices are not limited: " << tree_.Held();
  const std::string denied = root_ + "/nvidia3";
  const std::string allowed = root_ + "/nvidia4";
  if (::mknod(denied.c_str(), S_IFCHR | 0600, makedev(195, 3)) != 0 ||
      ::mknod(allowed.c_str(), S_IFCHR | 0600, makedev(195, 4)) != 0 ||
      (::open(denied.c_str(), O_RDWR | O_CLOEXEC) < 0 && errno != ENXIO && errno != ENODEV))
    GTEST_SKIP() << "device files cannot be made here";
  const Cgroup group = tree_.Create("job-1-1", {.denied_gpus = {3}}).value();
  const Pipe gate;
  const pid_t pid = Fork(
      [&] {
        const bool shut = ::open(denied.c_str(), O_RDWR | O_CLOEXEC) < 0 && errno == EPERM;
        const bool open = ::open(allowed.c_str(), O_RDWR | O_CLOEXEC) >= 0 || errno != EPERM;
        return (shut ? 1 : 0) + (open ? 2 : 0);
      },
      &gate);
  ASSERT_TRUE(group.Enter(pid).has_value());
  gate.Give();
  EXPECT_EQ(WEXITSTATUS(WaitFor(pid)), 3);
  // Taken over by a job that may open it.
  ASSERT_TRUE(tree_.Create("job-1-1", {}).has_value());
  const pid_t next =
      Fork([&] { return ::open(denied.c_str(), O_RDWR | O_CLOEXEC) < 0 && errno == EPERM ? 1 : 0; },
           &gate);
  ASSERT_TRUE(group.Enter(next).has_value());
  gate.Give();
  EXPECT_EQ(WEXITSTATUS(WaitFor(next)), 0);
}

}  // namespace
}  // namespace muster::driver
