// SPDX-License-Identifier: Apache-2.0
#include "test/driver/fake_nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace muster::driver {
namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNoSuch = 6;
constexpr int kInsufficientSize = 7;

FakeGpu& Gpu(void* device) { return *static_cast<FakeGpu*>(device); }

int Put(const std::string& text, char* buffer, unsigned room) {
  if (text.size() + 1 > room) return kInsufficientSize;
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return kSuccess;
}

struct NewProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned instances[2];
};

struct OldProcess {
  unsigned pid;
  unsigned long long memory;
};

template <class P>
int List(const FakeGpu& gpu, const std::vector<unsigned>& pids, unsigned* count, P* out) {
  if (gpu.status != kSuccess) return gpu.status;
  const unsigned room = *count;
  *count = static_cast<unsigned>(pids.size());
  for (unsigned i = 0; i < std::min(room, *count); ++i) {
    out[i] = P{};
    out[i].pid = pids[i];
  }
  return room < *count ? kInsufficientSize : kSuccess;
}

FakeNvml Filled(int count) {
  FakeNvml fake;
  for (int i = 0; i < count; ++i) {
    char uuid[64];
    char bus_id[32];
    std::snprintf(uuid, sizeof uuid, "GPU-00000000-0000-0000-0000-%012d", i);
    std::snprintf(bus_id, sizeof bus_id, "00000000:%02X:00.0", 0x1b + i);
    FakeGpu gpu;
    gpu.uuid = uuid;
    gpu.bus_id = bus_id;
    gpu.minor = static_cast<unsigned>(i);
    fake.gpus.push_back(gpu);
  }
  return fake;
}

}  // namespace

FakeNvml& Fake() {
  const char* count = std::getenv("FAKE_NVML_GPUS");
  static FakeNvml fake = Filled(count != nullptr ? std::atoi(count) : 8);
  return fake;
}

FakeNvml& ResetFake(int count) { return Fake() = Filled(count); }

NvmlSource FakeSource() {
  return {.library = "the fake", .find = [](const char* name) -> void* {
            return Fake().missing.contains(name) ? nullptr : ::dlsym(RTLD_DEFAULT, name);
          }};
}

}  // namespace muster::driver

using muster::driver::Fake;
using muster::driver::FakeGpu;
using muster::driver::Gpu;

extern "C" {

int nvmlInit_v2() {
  if (Fake().init_status == 0) ++Fake().initialised;
  return Fake().init_status;
}
int nvmlInit() { return nvmlInit_v2(); }
int nvmlShutdown() {
  --Fake().initialised;
  return 0;
}
const char* nvmlErrorString(int status) {
  switch (status) {
    case 3:
      return "Not Supported";
    case 6:
      return "Not Found";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* text, unsigned room) {
  return muster::driver::Put(Fake().driver_version, text, room);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Fake().gpus.size());
  return Fake().count_status;
}
int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= Fake().gpus.size()) return muster::driver::kInvalidArgument;
  *device = &Fake().gpus[index];
  return Fake().gpus[index].status;
}
int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (Fake().handle_status != 0) return Fake().handle_status;
  for (FakeGpu& gpu : Fake().gpus) {
    if (gpu.uuid != uuid) continue;
    *device = &gpu;
    return gpu.status;
  }
  return muster::driver::kNoSuch;
}
int nvmlDeviceGetName(void* device, char* text, unsigned room) {
  return Gpu(device).status != 0 ? Gpu(device).status
                                 : muster::driver::Put(Gpu(device).name, text, room);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned room) {
  return Gpu(device).status != 0 ? Gpu(device).status
                                 : muster::driver::Put(Gpu(device).uuid, text, room);
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  total_free_used[0] = Gpu(device).memory;
  return Gpu(device).status;
}
int nvmlDeviceGetPciInfo_v3(void* device, char* info) {
  std::memset(info, 0, 68);
  muster::driver::Put(Gpu(device).bus_id, info + 36, 32);
  return Gpu(device).status;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = Gpu(device).minor;
  return Gpu(device).status;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = Gpu(device).mig ? 1 : 0;
  return Gpu(device).status;
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* errors) {
  if (!Gpu(device).ecc_supported) return muster::driver::kNotSupported;
  *errors = type == 1 && counter == 0 ? Gpu(device).ecc_errors : 0;
  return Gpu(device).status;
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  *celsius = Gpu(device).celsius;
  return Gpu(device).status;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  if (!Gpu(device).remap_supported) return muster::driver::kNotSupported;
  *corrected = *uncorrected = 0;
  *pending = Gpu(device).remap_pending ? 1 : 0;
  *failed = Gpu(device).remap_failed ? 1 : 0;
  return Gpu(device).status;
}
int nvmlDeviceGetRetiredPagesPendingStatus(void* device, int* pending) {
  *pending = Gpu(device).retired_pending ? 1 : 0;
  return Gpu(device).status;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  if (link >= Gpu(device).links) return muster::driver::kInvalidArgument;
  *active = link < Gpu(device).links_up ? 1 : 0;
  return Gpu(device).status;
}
int nvmlDeviceGetP2PStatus(void* a, void* b, int index, int* status) {
  if (index != 2) return muster::driver::kInvalidArgument;
  *status = Gpu(a).nvlink_island >= 0 && Gpu(a).nvlink_island == Gpu(b).nvlink_island ? 0 : 5;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                            muster::driver::NewProcess* out) {
  return muster::driver::List(Gpu(device), Gpu(device).compute, count, out);
}
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count,
                                         muster::driver::OldProcess* out) {
  return muster::driver::List(Gpu(device), Gpu(device).compute, count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count,
                                             muster::driver::NewProcess* out) {
  return muster::driver::List(Gpu(device), Gpu(device).graphics, count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses(void* device, unsigned* count,
                                          muster::driver::OldProcess* out) {
  return muster::driver::List(Gpu(device), Gpu(device).graphics, count, out);
}

}  // extern "C"
