// SPDX-License-Identifier: Apache-2.0
// Against a fake library that this program exports; see fake_nvml.h.
#include "driver/local/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/driver/fake_nvml.h"

namespace muster::driver {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A driver of 2015: first versions of all, and nothing that came later.
const std::set<std::string> kOldLibraryLacks = {"nvmlInit_v2",
                                                "nvmlDeviceGetCount_v2",
                                                "nvmlDeviceGetHandleByIndex_v2",
                                                "nvmlDeviceGetHandleByUUID",
                                                "nvmlDeviceGetPciInfo_v3",
                                                "nvmlDeviceGetMinorNumber",
                                                "nvmlDeviceGetMigMode",
                                                "nvmlDeviceGetRemappedRows",
                                                "nvmlDeviceGetNvLinkState",
                                                "nvmlDeviceGetP2PStatus",
                                                "nvmlDeviceGetComputeRunningProcesses_v2",
                                                "nvmlDeviceGetComputeRunningProcesses_v3",
                                                "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                                "nvmlDeviceGetGraphicsRunningProcesses_v3"};

GpuHandle Handle(const Nvml& nvml, int index) {
  const base::Result<GpuHandle> gpu = nvml.ByIndex(index);
  EXPECT_TRUE(gpu.has_value());
  return gpu.value_or(GpuHandle{});
}

TEST(Nvml, SaysWhyItCannotBeOpened) {
  ResetFake(8);
  struct Case {
    std::string name;
    NvmlSource source;
    int init_status;
    ErrorCode code;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"absent",
       {.library = "libno-such-nvml.so.1"},
       0,
       ErrorCode::kNotFound,
       "libno-such-nvml.so.1: cannot open shared object file"},
      {"another library",
       {.library = "libm.so.6"},
       0,
       ErrorCode::kNotFound,
       "libm.so.6 lacks functions that every NVML has"},
      {"no kernel driver", FakeSource(), 9, ErrorCode::kUnavailable,
       "nvmlInit: Driver Not Loaded (NVML error 9)"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Fake().init_status = c.init_status;
    const base::Result<Nvml> nvml = Nvml::Open(c.source);
    ASSERT_FALSE(nvml.has_value());
    EXPECT_EQ(nvml.error().code, c.code);
    EXPECT_THAT(nvml.error().message, HasSubstr(c.text));
  }
}

TEST(Nvml, LoadsALibraryByNameAndShutsItDown) {
  FakeNvml& fake = ResetFake(8);
  {
    base::Result<Nvml> nvml = Nvml::Open({.library = ""});
    ASSERT_TRUE(nvml.has_value()) << nvml.error().ToString();
    const Nvml moved = *std::move(nvml);
    EXPECT_EQ(moved.DeviceCount().value(), 8);
    EXPECT_EQ(moved.DriverVersion(), "550.54.15");
    EXPECT_EQ(fake.initialised, 1);
  }
  EXPECT_EQ(fake.initialised, 0);
}

TEST(Nvml, TellsWhatADeviceIs) {
  ResetFake(8).gpus[2].links_up = 16;
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  const GpuFacts facts = nvml.Facts(Handle(nvml, 2)).value();
  EXPECT_EQ(facts.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(facts.uuid, "GPU-00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(facts.pci_bus_id, "0000:1d:00.0");
  EXPECT_EQ(facts.memory, base::Bytes::Of(std::int64_t{80} << 30));
  EXPECT_EQ(facts.minor, 2);
  EXPECT_FALSE(facts.mig);
  EXPECT_EQ(facts.nvlinks_up, 16);
  EXPECT_EQ(nvml.ByUuid(facts.uuid).value().device, Handle(nvml, 2).device);
  EXPECT_EQ(nvml.ByUuid("GPU-other").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(nvml.ByIndex(8).error().code, ErrorCode::kNotFound);
}

TEST(Nvml, SpellsBusIdsAsTheKernelDoes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"00000000:1B:00.0", "0000:1b:00.0"},
      {"0000:AF:00.0", "0000:af:00.0"},
      {"00010000:07:00.0", "10000:07:00.0"},
      {"0000000A:07:00.1", "000a:07:00.1"},
      {"nonsense", ""},
      {"", ""}};
  for (const auto& [nvmls, kernels] : cases) {
    ResetFake(1).gpus[0].bus_id = nvmls;
    const Nvml nvml = Nvml::Open(FakeSource()).value();
    EXPECT_EQ(nvml.Facts(Handle(nvml, 0)).value().pci_bus_id, kernels) << nvmls;
  }
}

TEST(Nvml, TellsHowADeviceDoes) {
  FakeNvml& fake = ResetFake(4);
  fake.gpus[1].ecc_errors = 3;
  fake.gpus[1].remap_failed = true;
  fake.gpus[1].celsius = 90;
  fake.gpus[2].ecc_supported = false;
  fake.gpus[2].remap_supported = false;
  fake.gpus[2].retired_pending = true;
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  const GpuHealth well = nvml.Health(Handle(nvml, 0));
  EXPECT_FALSE(well.lost);
  EXPECT_EQ(well.uncorrectable_ecc, 0U);
  EXPECT_EQ(well.remap_failed, false);
  EXPECT_EQ(well.remap_pending, false);
  EXPECT_EQ(well.temperature_celsius, 40);
  const GpuHealth ill = nvml.Health(Handle(nvml, 1));
  EXPECT_EQ(ill.uncorrectable_ecc, 3U);
  EXPECT_EQ(ill.remap_failed, true);
  EXPECT_EQ(ill.temperature_celsius, 90);
  const GpuHealth before_ampere = nvml.Health(Handle(nvml, 2));
  EXPECT_EQ(before_ampere.uncorrectable_ecc, std::nullopt);
  EXPECT_EQ(before_ampere.remap_failed, std::nullopt);
  EXPECT_EQ(before_ampere.remap_pending, true);
}

TEST(Nvml, CallsADeviceLostThatFellOffTheBus) {
  FakeNvml& fake = ResetFake(4);
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  const GpuHandle gpu = Handle(nvml, 3);
  for (const int status : {15, 16}) {
    SCOPED_TRACE(status);
    fake.gpus[3].status = status;
    EXPECT_TRUE(nvml.Health(gpu).lost);
    EXPECT_EQ(nvml.Health(gpu).uncorrectable_ecc, std::nullopt);
    EXPECT_EQ(nvml.Facts(gpu).error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(nvml.ByIndex(3).error().message, HasSubstr("GPU 3: device lost"));
    EXPECT_EQ(nvml.ByUuid(fake.gpus[3].uuid).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(nvml.ComputeProcesses(gpu).error().code, ErrorCode::kUnavailable);
  }
  fake.gpus[3].status = 4;
  EXPECT_FALSE(nvml.Health(gpu).lost);
  EXPECT_EQ(nvml.ComputeProcesses(gpu).error().code, ErrorCode::kNotAllowed);
  fake.gpus[3].status = 999;
  EXPECT_FALSE(nvml.Health(gpu).lost);
  EXPECT_EQ(nvml.Facts(gpu).error().code, ErrorCode::kIo);
}

TEST(Nvml, DoesWithoutAnyFunctionThatMayBeMissing) {
  const std::vector<std::string> may_be_missing = {"nvmlShutdown",
                                                   "nvmlErrorString",
                                                   "nvmlSystemGetDriverVersion",
                                                   "nvmlDeviceGetHandleByUUID",
                                                   "nvmlDeviceGetMemoryInfo",
                                                   "nvmlDeviceGetPciInfo_v3",
                                                   "nvmlDeviceGetMinorNumber",
                                                   "nvmlDeviceGetMigMode",
                                                   "nvmlDeviceGetTotalEccErrors",
                                                   "nvmlDeviceGetTemperature",
                                                   "nvmlDeviceGetRemappedRows",
                                                   "nvmlDeviceGetRetiredPagesPendingStatus",
                                                   "nvmlDeviceGetNvLinkState",
                                                   "nvmlDeviceGetP2PStatus",
                                                   "nvmlDeviceGetComputeRunningProcesses_v3"};
  for (const std::string& name : may_be_missing) {
    SCOPED_TRACE(name);
    ResetFake(2).missing = {name};
    const base::Result<Nvml> nvml = Nvml::Open(FakeSource());
    ASSERT_TRUE(nvml.has_value());
    const GpuHandle gpu = nvml->ByUuid(Fake().gpus[1].uuid).value();
    EXPECT_EQ(nvml->Facts(gpu).value().uuid, Fake().gpus[1].uuid);
    EXPECT_FALSE(nvml->Health(gpu).lost);
    EXPECT_TRUE(nvml->ComputeProcesses(gpu).has_value());
    EXPECT_EQ(nvml->ByUuid("GPU-other").error().code, ErrorCode::kNotFound);
  }
  for (const char* name : {"nvmlDeviceGetName", "nvmlDeviceGetUUID"}) {
    ResetFake(2).missing = {name};
    EXPECT_FALSE(Nvml::Open(FakeSource()).has_value()) << name;
  }
}

TEST(Nvml, WorksWithAnOldLibrary) {
  FakeNvml& fake = ResetFake(2);
  fake.missing = kOldLibraryLacks;
  fake.gpus[1].compute = {10, 11};
  fake.gpus[1].graphics = {12};
  fake.gpus[1].ecc_errors = 1;
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  const GpuHandle gpu = nvml.ByUuid(fake.gpus[1].uuid).value();
  const GpuFacts facts = nvml.Facts(gpu).value();
  EXPECT_EQ(facts.pci_bus_id, "");
  EXPECT_EQ(facts.minor, -1);
  EXPECT_EQ(facts.nvlinks_up, 0);
  EXPECT_EQ(nvml.NvlinkBetween(Handle(nvml, 0), gpu), std::nullopt);
  EXPECT_EQ(nvml.Health(gpu).uncorrectable_ecc, 1U);
  EXPECT_THAT(nvml.ComputeProcesses(gpu).value(), ElementsAre(10, 11));
  EXPECT_THAT(nvml.GraphicsProcesses(gpu).value(), ElementsAre(12));
}

TEST(Nvml, ListsProcesses) {
  FakeNvml& fake = ResetFake(2);
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  const GpuHandle gpu = Handle(nvml, 0);
  EXPECT_THAT(nvml.ComputeProcesses(gpu).value(), SizeIs(0));
  fake.gpus[0].compute = {0, 7, 9};  // 0: in another namespace
  EXPECT_THAT(nvml.ComputeProcesses(gpu).value(), ElementsAre(7, 9));
  for (const std::size_t many : {64U, 65U, 1000U, 4096U, 5000U}) {
    fake.gpus[0].compute.assign(many, 7);
    EXPECT_THAT(nvml.ComputeProcesses(gpu).value(), SizeIs(std::min<std::size_t>(many, 4096)));
  }
}

TEST(Nvml, TellsWhichDevicesReachEachOther) {
  FakeNvml& fake = ResetFake(3);
  fake.gpus[2].nvlink_island = 1;
  const Nvml nvml = Nvml::Open(FakeSource()).value();
  EXPECT_EQ(nvml.NvlinkBetween(Handle(nvml, 0), Handle(nvml, 1)), true);
  EXPECT_EQ(nvml.NvlinkBetween(Handle(nvml, 0), Handle(nvml, 2)), false);
}

}  // namespace
}  // namespace muster::driver
