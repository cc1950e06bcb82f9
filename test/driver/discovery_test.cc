// SPDX-License-Identifier: Apache-2.0
// Machines made of folders that stand in for /proc and /sys, hwloc's synthetic machines, and a fake
// NVML.
#include "driver/local/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "model/labels.h"
#include "test/driver/fake_nvml.h"

namespace muster::driver {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::MilliCpu;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

class DiscoveryTest : public testing::Test {
 protected:
  DiscoveryTest() {
    ResetFake(8);
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    Put("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:        1 kB\n");  // 64 GiB
    Put("/proc/sys/kernel/hostname", "gpu01.example\n");
    Put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  }
  ~DiscoveryTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// A machine with a v2 hierarchy, in which this process is in /a/b.
  void PutCgroup2(const std::string& file, const std::string& outer, const std::string& inner) {
    Put("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    Put("/proc/self/cgroup", "0::/a/b\n");
    Put("/sys/fs/cgroup/a/" + file, outer);
    Put("/sys/fs/cgroup/a/b/" + file, inner);
  }
  DiscoveryOptions Options() const {
    return {.nvml = FakeSource(), .root = root_, .synthetic = "pack:2 numa:2 core:8 pu:2"};
  }
  Machine Discover() const {
    base::Result<Machine> machine = DiscoverMachine(Options());
    EXPECT_TRUE(machine.has_value()) << machine.error().ToString();
    return std::move(machine).value_or(Machine{});
  }
  std::vector<int> Groups() const {
    std::vector<int> groups;
    for (const model::Device& device : Discover().spec.devices) groups.push_back(device.group);
    return groups;
  }

  std::string root_;
};

TEST(ModelToken, MakesNamesThatJobsCanAskFor) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"NVIDIA H100 80GB HBM3", "H100-80GB-HBM3"},
      {"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
      {"Tesla V100-SXM2-32GB", "Tesla-V100-SXM2-32GB"},
      {"NVIDIA GeForce RTX 4090", "RTX-4090"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada-Generation"},
      {"NVIDIA GH200 144G HBM3e", "GH200-144G-HBM3e"},
      {"  NVIDIA   L40S  ", "L40S"},
      {"GRID A100X/4C (dev)", "GRID-A100X-4C-dev"},
      {"NVIDIA", "NVIDIA"},
      {"", "GPU"},
      {"\x01\"\n", "GPU"},
  };
  for (const auto& [name, token] : cases) EXPECT_EQ(ModelToken(name), token) << name;
}

TEST_F(DiscoveryTest, FindsAMachine) {
  const Machine machine = Discover();
  EXPECT_EQ(machine.spec.name, "gpu01.example");
  EXPECT_EQ(machine.spec.cpu, MilliCpu::Of(64'000));
  EXPECT_EQ(machine.spec.memory, Bytes::Of(63 * kGi));
  ASSERT_THAT(machine.spec.devices, SizeIs(8));
  EXPECT_EQ(machine.spec.devices[7],
            (model::Device{.model = "H100-80GB-HBM3", .memory = Bytes::Of(80 * kGi), .group = 0}));
  ASSERT_THAT(machine.gpus, SizeIs(8));
  EXPECT_EQ(machine.gpus[7], (GpuIdentity{.uuid = "GPU-00000000-0000-0000-0000-000000000007",
                                          .pci_bus_id = "0000:22:00.0",
                                          .minor = 7}));
  EXPECT_EQ(*model::FindLabel(machine.spec.labels, "muster.dev/host"), "gpu01.example");
  EXPECT_EQ(*model::FindLabel(machine.spec.labels, "muster.dev/kernel"), "6.1.0-18-amd64");
  EXPECT_EQ(*model::FindLabel(machine.spec.labels, "muster.dev/numa"), "4");
  EXPECT_EQ(*model::FindLabel(machine.spec.labels, "muster.dev/gpu-driver"), "550.54.15");
  EXPECT_NE(model::FindLabel(machine.spec.labels, "muster.dev/arch"), nullptr);
  EXPECT_EQ(machine.note, "");
}

TEST_F(DiscoveryTest, CountsHardwareThreads) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"pack:1 core:1 pu:1", 1}, {"pack:2 core:8 pu:2", 32}, {"numa:2 core:4 pu:1", 8}};
  for (const auto& [synthetic, cpus] : cases) {
    DiscoveryOptions options = Options();
    options.synthetic = synthetic;
    EXPECT_EQ(DiscoverMachine(options).value().spec.cpu, MilliCpu::Of(cpus * 1000)) << synthetic;
  }
}

TEST_F(DiscoveryTest, KeepsMemoryBack) {
  struct Case {
    std::string meminfo;
    std::optional<Bytes> reserve;
    std::int64_t bytes;
  };
  const std::vector<Case> cases = {
      {"MemTotal: 1048576 kB\n", std::nullopt, kGi - kGi / 10},  // a tenth of little
      {"MemTotal: 67108864 kB\n", std::nullopt, 63 * kGi},       // 1 GiB of much
      {"MemTotal: 67108864 kB\n", Bytes::Of(4 * kGi), 60 * kGi},
      {"MemTotal: 67108864 kB\n", Bytes::Of(0), 64 * kGi},
      {"MemTotal: 1048576 kB\n", Bytes::Of(4 * kGi), 0},
      {"MemTotal: 0 kB\n", std::nullopt, 0},
  };
  for (const Case& c : cases) {
    Put("/proc/meminfo", c.meminfo);
    DiscoveryOptions options = Options();
    options.reserve = c.reserve;
    EXPECT_EQ(DiscoverMachine(options).value().spec.memory, Bytes::Of(c.bytes)) << c.meminfo;
  }
}

TEST_F(DiscoveryTest, StaysBelowTheMemoryLimitOfItsCgroups) {
  struct Case {
    std::string outer;
    std::string inner;
    std::int64_t gib;  // less 1 that is kept back
  };
  const std::vector<Case> cases = {{"max\n", "max\n", 64},
                                   {"max\n", "17179869184\n", 16},
                                   {"17179869184\n", "max\n", 16},
                                   {"17179869184\n", "34359738368\n", 16},
                                   {"9999999999999999\n", "\n", 64}};
  for (const Case& c : cases) {
    PutCgroup2("memory.max", c.outer, c.inner);
    EXPECT_EQ(Discover().spec.memory, Bytes::Of((c.gib - 1) * kGi)) << c.outer << c.inner;
  }
}

TEST_F(DiscoveryTest, StaysBelowTheCpuLimitOfItsCgroups) {
  struct Case {
    std::string outer;
    std::string inner;
    std::int64_t milli;
  };
  const std::vector<Case> cases = {{"max 100000\n", "max 100000\n", 64'000},
                                   {"max 100000\n", "150000 100000\n", 1500},
                                   {"25000 50000\n", "150000 100000\n", 500},
                                   {"max 100000\n", "99900000 100000\n", 64'000},
                                   {"nonsense\n", "1 0\n", 64'000}};
  for (const Case& c : cases) {
    PutCgroup2("cpu.max", c.outer, c.inner);
    EXPECT_EQ(Discover().spec.cpu, MilliCpu::Of(c.milli)) << c.outer << c.inner;
  }
}

TEST_F(DiscoveryTest, ReadsTheLimitsOfVersion1) {
  // Seen from inside a container: its own group is what is mounted.
  Put("/proc/self/mountinfo",
      "32 31 0:29 /docker/77 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 /docker/77 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "36 31 0:33 /docker/77 /sys/fs/cgroup/blkio\\040x rw - cgroup cgroup rw,blkio\n"
      "37 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
      "broken line\n");
  Put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/77\n1:cpu,cpuacct:/docker/77/x\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8589934592\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  Put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const Machine machine = Discover();
  EXPECT_EQ(machine.spec.memory, Bytes::Of(8 * kGi - 8 * kGi / 10));
  EXPECT_EQ(machine.spec.cpu, MilliCpu::Of(4000));
}

TEST_F(DiscoveryTest, CountsRdmaCards) {
  EXPECT_EQ(Discover().spec.nics, 0);
  Put("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  Put("/sys/class/infiniband/mlx5_1/node_type", "1: CA\n");
  Put("/sys/class/infiniband/mlx5_2/device/physfn/vendor", "0x15b3\n");  // a virtual function
  EXPECT_EQ(Discover().spec.nics, 2);
}

TEST_F(DiscoveryTest, NamesTheNode) {
  const std::vector<std::pair<std::string, std::string>> hosts = {
      {"n1\n", "n1"}, {"my host\"\n", "my-host-"}, {"", "localhost"}};
  for (const auto& [host, name] : hosts) {
    Put("/proc/sys/kernel/hostname", host);
    EXPECT_EQ(Discover().spec.name, name);
  }
  DiscoveryOptions options = Options();
  options.name = "rack1-n2";
  EXPECT_EQ(DiscoverMachine(options).value().spec.name, "rack1-n2");
  for (const std::string& name : {std::string("a b"), std::string("\n"), std::string(254, 'a')}) {
    options.name = name;
    EXPECT_EQ(DiscoverMachine(options).error().code, ErrorCode::kInvalid) << name;
  }
}

TEST_F(DiscoveryTest, IsACpuNodeWithoutAWorkingDriver) {
  DiscoveryOptions options = Options();
  options.nvml = {.library = "libno-such-nvml.so.1"};
  const Machine absent = DiscoverMachine(options).value();
  EXPECT_THAT(absent.spec.devices, SizeIs(0));
  EXPECT_THAT(absent.note, testing::StartsWith("no NVIDIA driver (libno-such-nvml.so.1: "));
  EXPECT_THAT(absent.note, testing::EndsWith("): CPU node"));
  Fake().init_status = 9;
  EXPECT_EQ(Discover().note,
            "the NVIDIA driver does not answer (nvmlInit: Driver Not Loaded (NVML error 9)): "
            "CPU node");
  Fake().init_status = 0;
  Fake().count_status = 999;
  EXPECT_THAT(Discover().note, HasSubstr("does not tell its devices (nvmlDeviceGetCount: "));
}

TEST_F(DiscoveryTest, LeavesOutDevicesWithMig) {
  Fake().gpus[3].mig = true;
  const Machine machine = Discover();
  EXPECT_THAT(machine.spec.devices, SizeIs(7));
  EXPECT_EQ(machine.gpus[3].minor, 4);
  EXPECT_THAT(machine.left_out_minors, ElementsAre(3));
  EXPECT_EQ(machine.note, "GPU 3 (" + Fake().gpus[3].uuid +
                              ") is left out: MIG is on, and Muster gives whole devices; "
                              "`nvidia-smi -i 3 -mig 0` turns it off");
}

TEST_F(DiscoveryTest, LeavesOutLostDevices) {
  Fake().gpus[0].status = 15;
  const Machine machine = Discover();
  EXPECT_THAT(machine.spec.devices, SizeIs(7));
  EXPECT_THAT(machine.note, HasSubstr("GPU 0 is left out: GPU 0: device lost"));
}

TEST_F(DiscoveryTest, TakesTheFirst64Devices) {
  const std::vector<std::pair<int, std::string>> cases = {
      {64, ""},
      {70, "6 of 70 GPUs are left out: a node has at most 64"},
      {300, "236 of 300 GPUs are left out: a node has at most 64"}};
  for (const auto& [count, note] : cases) {
    ResetFake(count);
    const Machine machine = Discover();
    EXPECT_THAT(machine.spec.devices, SizeIs(64));
    EXPECT_EQ(machine.note, note);
  }
  EXPECT_THAT(Discover().left_out_minors, SizeIs(256 - 64));
}

TEST_F(DiscoveryTest, GroupsByNvlinkElseByNumaNode) {
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  for (std::size_t i = 0; i < 8; ++i) Fake().gpus[i].nvlink_island = static_cast<int>(i / 2);
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  Fake().gpus[7].nvlink_island = -1;  // a lone one
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 1, 1, 2, 2, 3, 4));
  for (FakeGpu& gpu : Fake().gpus) gpu.nvlink_island = -1;
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));  // NUMA nodes unknown
  const std::vector<std::string> nodes = {"1", "1", "0", "0", "1", "1", "0", "0"};
  for (std::size_t i = 0; i < 8; ++i) {
    Put("/sys/bus/pci/devices/" + Discover().gpus[i].pci_bus_id + "/numa_node", nodes[i] + "\n");
  }
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  ResetFake(8).missing = {"nvmlDeviceGetP2PStatus"};
  EXPECT_THAT(Groups(), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
}

TEST_F(DiscoveryTest, NotesMissingNvlinks) {
  Fake().gpus[2].links_up = 16;
  EXPECT_EQ(Discover().note, "GPU 2 (" + Fake().gpus[2].uuid + ") has 16 of 18 NVLink connections");
}

TEST_F(DiscoveryTest, SaysWhatItCannotRead) {
  DiscoveryOptions options = Options();
  options.synthetic = "pack:many";
  EXPECT_EQ(DiscoverMachine(options).error().code, ErrorCode::kInvalid);
  EXPECT_THAT(DiscoverMachine(options).error().message, HasSubstr("\"pack:many\""));
  Put("/proc/meminfo", "MemFree: 1 kB\n");
  EXPECT_EQ(DiscoverMachine(Options()).error().code, ErrorCode::kIo);
  EXPECT_THAT(DiscoverMachine(Options()).error().message, HasSubstr("MemTotal"));
  std::filesystem::remove(root_ + "/proc/meminfo");
  EXPECT_EQ(DiscoverMachine(Options()).error().code, ErrorCode::kIo);
}

TEST_F(DiscoveryTest, KeepsDeviceNumbersOverRestarts) {
  const auto uuids = [](const Machine& machine) {
    std::vector<std::string> ends;
    for (const GpuIdentity& gpu : machine.gpus)
      ends.push_back(gpu.uuid.substr(gpu.uuid.size() - 1));
    return ends;
  };
  for (std::size_t i = 0; i < 8; ++i) Fake().gpus[i].nvlink_island = static_cast<int>(i / 4);
  const Machine before = Discover();
  EXPECT_EQ(KeepDeviceNumbers(before, before), before);
  EXPECT_EQ(KeepDeviceNumbers(Machine{}, before), before);

  // Number 0 to 3 are lost: what was group 1 is now called 0, but keeps its number.
  for (std::size_t i = 0; i < 4; ++i) Fake().gpus[i].status = 15;
  Machine after = KeepDeviceNumbers(before, Discover());
  EXPECT_EQ(after.spec.devices, before.spec.devices);
  EXPECT_EQ(after.gpus, before.gpus);
  EXPECT_THAT(after.note, HasSubstr("device 0 (" + before.gpus[0].uuid + ") is gone and keeps"));

  // One was replaced by another model, which is in another slot of the same island.
  ResetFake(8);
  for (std::size_t i = 0; i < 8; ++i) Fake().gpus[i].nvlink_island = static_cast<int>(i / 4);
  Fake().gpus[5].uuid = "GPU-9";
  Fake().gpus[5].name = "NVIDIA H200";
  after = KeepDeviceNumbers(before, Discover());
  EXPECT_THAT(uuids(after), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "9"));
  EXPECT_EQ(after.spec.devices[8].model, "H200");
  EXPECT_EQ(after.spec.devices[8].group, 1);

  Machine elsewhere = Discover();
  elsewhere.spec.name = "another";
  EXPECT_EQ(KeepDeviceNumbers(before, elsewhere), elsewhere);
}

TEST_F(DiscoveryTest, KeepsAtMost64Numbers) {
  ResetFake(64);
  const Machine before = Discover();
  Fake().gpus[10].uuid = "GPU-new";
  const Machine after = KeepDeviceNumbers(before, Discover());
  EXPECT_THAT(after.spec.devices, SizeIs(64));
  EXPECT_THAT(after.left_out_minors, ElementsAre(10));
  EXPECT_THAT(after.note, HasSubstr("GPU-new is left out"));
}

TEST_F(DiscoveryTest, GoesThroughAnArchive) {
  Machine machine = Discover();
  machine.left_out_minors = {-1, 9};
  base::Writer writer;
  writer(machine);
  base::Reader reader(writer.bytes());
  Machine copy;
  reader(copy);
  EXPECT_TRUE(reader.ok() && reader.AtEnd());
  EXPECT_EQ(copy, machine);
}

TEST(Discovery, FindsThisMachine) {
  const base::Result<Machine> machine = DiscoverMachine({});
  ASSERT_TRUE(machine.has_value()) << machine.error().ToString();
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_GT(machine->spec.cpu, MilliCpu::Of(0));
  EXPECT_LE(machine->spec.cpu, MilliCpu::Of(CPU_COUNT(&mine) * 1000));
  EXPECT_GT(machine->spec.memory, Bytes::Of(0));
  EXPECT_FALSE(machine->spec.name.empty());
  EXPECT_EQ(machine->gpus.size(), machine->spec.devices.size());
}

TEST(Discovery, CountsOnlyCpusThatItMayUse) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const base::Result<Machine> machine = DiscoverMachine({});
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(machine.has_value());
  EXPECT_LE(machine->spec.cpu, MilliCpu::Of(1000));
}

}  // namespace
}  // namespace muster::driver
