// SPDX-License-Identifier: Apache-2.0
#include "driver/local/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "base/strings.h"

namespace muster::driver {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

// Our own declarations: Debian has no nvml.h. The names and layouts below are NVML's binary
// interface, which NVIDIA keeps stable; what changed got a new function name.
using Status = int;
constexpr Status kSuccess = 0;
constexpr Status kInvalidArgument = 2;
constexpr Status kNotSupported = 3;
constexpr Status kNoPermission = 4;
constexpr Status kNoSuch = 6;
constexpr Status kInsufficientSize = 7;
constexpr Status kFunctionNotFound = 13;
constexpr Status kGpuIsLost = 15;
constexpr Status kResetRequired = 16;

constexpr int kEnabled = 1;
constexpr int kErrorUncorrected = 1;
constexpr int kCounterVolatile = 0;
constexpr int kSensorGpu = 0;
constexpr int kP2pNvlink = 2;
constexpr int kP2pOk = 0;
constexpr unsigned kMostNvlinks = 18;
constexpr unsigned kMostProcesses = 4096;
constexpr std::size_t kNameBytes = 96;

using Handle = void*;

struct Memory {
  unsigned long long total, free, used;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

/// Of the functions that have `_v2` and `_v3` in their names.
struct Process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(Process) == 24);

/// Of the function without: a driver before 2021.
struct OldProcess {
  unsigned pid;
  unsigned long long used_memory;
};
static_assert(sizeof(OldProcess) == 16);

/// A function of the library, or null where it has none.
template <class... Args>
using Function = Status (*)(Args...);

bool IsLost(Status status) { return status == kGpuIsLost || status == kResetRequired; }

/// What a fixed buffer holds up to its first zero byte; a library may leave it out.
template <std::size_t N>
std::string TextOf(const char (&buffer)[N]) {
  return std::string(buffer, std::find(buffer, buffer + N, '\0'));
}

/// "00000000:1B:00.0" as the kernel spells it: "0000:1b:00.0".
std::string KernelBusId(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find(':', colon + 1) == std::string::npos) return {};
  while (text.size() > 4 && text.find(':') > 4 && text.front() == '0') text.erase(0, 1);
  return text;
}

}  // namespace

struct Nvml::Library {
  void* loaded = nullptr;  ///< null: nothing to close
  bool initialised = false;

  Function<> init = nullptr;
  Function<> shutdown = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Function<char*, unsigned> driver_version = nullptr;
  Function<unsigned*> count = nullptr;
  Function<unsigned, Handle*> by_index = nullptr;
  Function<const char*, Handle*> by_uuid = nullptr;
  Function<Handle, char*, unsigned> name = nullptr;
  Function<Handle, char*, unsigned> uuid = nullptr;
  Function<Handle, Memory*> memory = nullptr;
  Function<Handle, PciInfo*> pci = nullptr;
  Function<Handle, unsigned*> minor = nullptr;
  Function<Handle, unsigned*, unsigned*> mig_mode = nullptr;
  Function<Handle, int, int, unsigned long long*> ecc_errors = nullptr;
  Function<Handle, int, unsigned*> temperature = nullptr;
  Function<Handle, unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows = nullptr;
  Function<Handle, int*> retired_pending = nullptr;
  Function<Handle, unsigned, int*> nvlink_state = nullptr;
  Function<Handle, Handle, int, int*> p2p_status = nullptr;
  Function<Handle, unsigned*, Process*> compute = nullptr;
  Function<Handle, unsigned*, Process*> graphics = nullptr;
  Function<Handle, unsigned*, OldProcess*> old_compute = nullptr;
  Function<Handle, unsigned*, OldProcess*> old_graphics = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (initialised && shutdown != nullptr) shutdown();
    if (loaded != nullptr) ::dlclose(loaded);
  }

  void Bind(const std::function<void*(const char*)>& find);
  Error Fault(std::string_view what, Status status) const;
};

namespace {

/// Sets `function` to the first of `names` that the library has.
template <class F>
void Resolve(const std::function<void*(const char*)>& find, F& function,
             std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* found = find(name); found != nullptr) {
      function = reinterpret_cast<F>(found);
      return;
    }
  }
}

}  // namespace

void Nvml::Library::Bind(const std::function<void*(const char*)>& find) {
  Resolve(find, init, {"nvmlInit_v2", "nvmlInit"});
  Resolve(find, shutdown, {"nvmlShutdown"});
  Resolve(find, error_string, {"nvmlErrorString"});
  Resolve(find, driver_version, {"nvmlSystemGetDriverVersion"});
  Resolve(find, count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  Resolve(find, by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  Resolve(find, by_uuid, {"nvmlDeviceGetHandleByUUID"});
  Resolve(find, name, {"nvmlDeviceGetName"});
  Resolve(find, uuid, {"nvmlDeviceGetUUID"});
  Resolve(find, memory, {"nvmlDeviceGetMemoryInfo"});
  // The older ones have other layouts: without a bus id NUMA nodes are unknown, and that is all.
  Resolve(find, pci, {"nvmlDeviceGetPciInfo_v3"});
  Resolve(find, minor, {"nvmlDeviceGetMinorNumber"});
  Resolve(find, mig_mode, {"nvmlDeviceGetMigMode"});
  Resolve(find, ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  Resolve(find, temperature, {"nvmlDeviceGetTemperature"});
  Resolve(find, remapped_rows, {"nvmlDeviceGetRemappedRows"});
  Resolve(find, retired_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
  Resolve(find, nvlink_state, {"nvmlDeviceGetNvLinkState"});
  Resolve(find, p2p_status, {"nvmlDeviceGetP2PStatus"});
  Resolve(find, compute,
          {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  Resolve(find, graphics,
          {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  Resolve(find, old_compute, {"nvmlDeviceGetComputeRunningProcesses"});
  Resolve(find, old_graphics, {"nvmlDeviceGetGraphicsRunningProcesses"});
}

Error Nvml::Library::Fault(std::string_view what, Status status) const {
  const char* text = error_string != nullptr ? error_string(status) : nullptr;
  ErrorCode code = ErrorCode::kIo;
  if (IsLost(status)) code = ErrorCode::kUnavailable;
  if (status == kNotSupported || status == kNoSuch || status == kFunctionNotFound ||
      status == kInvalidArgument)
    code = ErrorCode::kNotFound;
  if (status == kNoPermission) code = ErrorCode::kNotAllowed;
  return {code,
          Format("{}: {}{} (NVML error {})", what, IsLost(status) ? "device lost: " : "",
                 text != nullptr ? text : "no text", status),
          {}};
}

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

base::Result<Nvml> Nvml::Open(const NvmlSource& source) {
  auto library = std::make_unique<Library>();
  if (source.find) {
    library->Bind(source.find);
  } else {
    const bool self = source.library.empty();
    library->loaded = ::dlopen(self ? nullptr : source.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library->loaded == nullptr) {
      // dlerror names the library itself.
      const char* reason = ::dlerror();
      return Error{ErrorCode::kNotFound, reason != nullptr ? reason : source.library, {}};
    }
    void* loaded = library->loaded;
    library->Bind([loaded](const char* name) { return ::dlsym(loaded, name); });
  }
  if (library->init == nullptr || library->count == nullptr || library->by_index == nullptr ||
      library->name == nullptr || library->uuid == nullptr) {
    return Error{ErrorCode::kNotFound,
                 Format("{} lacks functions that every NVML has (nvmlInit, nvmlDeviceGetCount, "
                        "...GetHandleByIndex, ...GetName, ...GetUUID)",
                        source.library.empty() ? "this program" : source.library),
                 {}};
  }
  if (const Status status = library->init(); status != kSuccess) {
    Error error = library->Fault("nvmlInit", status);
    error.code = ErrorCode::kUnavailable;
    return error;
  }
  library->initialised = true;
  return Nvml(std::move(library));
}

std::string Nvml::DriverVersion() const {
  char text[kNameBytes] = {};
  if (library_->driver_version == nullptr ||
      library_->driver_version(text, sizeof text) != kSuccess)
    return {};
  return TextOf(text);
}

base::Result<std::int32_t> Nvml::DeviceCount() const {
  unsigned count = 0;
  if (const Status status = library_->count(&count); status != kSuccess)
    return library_->Fault("nvmlDeviceGetCount", status);
  return static_cast<std::int32_t>(std::min(count, 1U << 16));
}

base::Result<GpuHandle> Nvml::ByIndex(std::int32_t index) const {
  GpuHandle gpu;
  if (const Status status = library_->by_index(static_cast<unsigned>(index), &gpu.device);
      status != kSuccess)
    return library_->Fault(Format("GPU {}", index), status);
  return gpu;
}

base::Result<GpuHandle> Nvml::ByUuid(const std::string& uuid) const {
  if (library_->by_uuid != nullptr) {
    GpuHandle gpu;
    if (const Status status = library_->by_uuid(uuid.c_str(), &gpu.device); status != kSuccess)
      return library_->Fault(uuid, status);
    return gpu;
  }
  const base::Result<std::int32_t> count = DeviceCount();
  if (!count) return count.error();
  for (std::int32_t index = 0; index < *count; ++index) {
    const base::Result<GpuHandle> gpu = ByIndex(index);
    char text[kNameBytes] = {};
    if (gpu && library_->uuid(gpu->device, text, sizeof text) == kSuccess && TextOf(text) == uuid)
      return gpu;
  }
  return Error{ErrorCode::kNotFound, Format("no device {}", uuid), {}};
}

base::Result<GpuFacts> Nvml::Facts(GpuHandle gpu) const {
  GpuFacts facts;
  char name[kNameBytes] = {};
  char uuid[kNameBytes] = {};
  if (const Status status = library_->name(gpu.device, name, sizeof name); status != kSuccess)
    return library_->Fault("nvmlDeviceGetName", status);
  if (const Status status = library_->uuid(gpu.device, uuid, sizeof uuid); status != kSuccess)
    return library_->Fault("nvmlDeviceGetUUID", status);
  facts.name = TextOf(name);
  facts.uuid = TextOf(uuid);
  if (Memory memory{};
      library_->memory != nullptr && library_->memory(gpu.device, &memory) == kSuccess)
    facts.memory = base::Bytes::Of(static_cast<std::int64_t>(memory.total));
  if (PciInfo pci{}; library_->pci != nullptr && library_->pci(gpu.device, &pci) == kSuccess)
    facts.pci_bus_id = KernelBusId(TextOf(pci.bus_id));
  if (unsigned minor = 0;
      library_->minor != nullptr && library_->minor(gpu.device, &minor) == kSuccess)
    facts.minor = static_cast<std::int32_t>(minor);
  unsigned current = 0;
  unsigned pending = 0;
  facts.mig = library_->mig_mode != nullptr &&
              library_->mig_mode(gpu.device, &current, &pending) == kSuccess &&
              current == static_cast<unsigned>(kEnabled);
  for (unsigned link = 0; library_->nvlink_state != nullptr && link < kMostNvlinks; ++link) {
    int active = 0;
    const Status status = library_->nvlink_state(gpu.device, link, &active);
    if (status == kInvalidArgument || status == kNotSupported) break;  // it has no more links
    facts.nvlinks_up += status == kSuccess && active == kEnabled ? 1 : 0;
  }
  return facts;
}

GpuHealth Nvml::Health(GpuHandle gpu) const {
  GpuHealth health;
  const auto answered = [&health](Status status) {
    health.lost = health.lost || IsLost(status);
    return status == kSuccess;
  };
  if (unsigned long long errors = 0;
      library_->ecc_errors != nullptr &&
      answered(library_->ecc_errors(gpu.device, kErrorUncorrected, kCounterVolatile, &errors)))
    health.uncorrectable_ecc = errors;
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  int retired_pending = 0;
  if (library_->remapped_rows != nullptr &&
      answered(library_->remapped_rows(gpu.device, &corrected, &uncorrected, &pending, &failed))) {
    health.remap_failed = failed != 0;
    health.remap_pending = pending != 0;
  } else if (library_->retired_pending != nullptr &&
             answered(library_->retired_pending(gpu.device, &retired_pending))) {
    health.remap_pending = retired_pending == kEnabled;  // before Ampere, pages are retired instead
  }
  if (unsigned celsius = 0; library_->temperature != nullptr &&
                            answered(library_->temperature(gpu.device, kSensorGpu, &celsius)))
    health.temperature_celsius = static_cast<std::int32_t>(celsius);
  unsigned mig_now = 0;
  unsigned mig_later = 0;
  if (library_->mig_mode != nullptr &&
      answered(library_->mig_mode(gpu.device, &mig_now, &mig_later)))
    health.mig = mig_now == static_cast<unsigned>(kEnabled);
  // A device that supports none of these still says its UUID, unless it is lost.
  char uuid[kNameBytes] = {};
  answered(library_->uuid(gpu.device, uuid, sizeof uuid));
  return health;
}

namespace {

/// Asks for the list with room for more and more processes; it may grow between the calls.
template <class P>
base::Result<std::vector<pid_t>> List(Function<Handle, unsigned*, P*> function, Handle device,
                                      const auto& fault) {
  for (unsigned room = 64; room <= kMostProcesses; room *= 4) {
    std::vector<P> processes(room);
    unsigned count = room;
    const Status status = function(device, &count, processes.data());
    if (status == kInsufficientSize && room * 4 <= kMostProcesses) continue;
    if (status != kSuccess && status != kInsufficientSize) return fault(status);
    std::vector<pid_t> pids;
    for (unsigned i = 0; i < std::min(count, room); ++i) {
      if (processes[i].pid != 0) pids.push_back(static_cast<pid_t>(processes[i].pid));
    }
    return pids;
  }
  return std::vector<pid_t>();
}

}  // namespace

base::Result<std::vector<pid_t>> Nvml::ComputeProcesses(GpuHandle gpu) const {
  const auto fault = [this](Status status) {
    return library_->Fault("nvmlDeviceGetComputeRunningProcesses", status);
  };
  if (library_->compute != nullptr) return List(library_->compute, gpu.device, fault);
  if (library_->old_compute != nullptr) return List(library_->old_compute, gpu.device, fault);
  return fault(kFunctionNotFound);
}

base::Result<std::vector<pid_t>> Nvml::GraphicsProcesses(GpuHandle gpu) const {
  const auto fault = [this](Status status) {
    return library_->Fault("nvmlDeviceGetGraphicsRunningProcesses", status);
  };
  if (library_->graphics != nullptr) return List(library_->graphics, gpu.device, fault);
  if (library_->old_graphics != nullptr) return List(library_->old_graphics, gpu.device, fault);
  return fault(kFunctionNotFound);
}

std::optional<bool> Nvml::NvlinkBetween(GpuHandle a, GpuHandle b) const {
  int status = 0;
  if (library_->p2p_status == nullptr ||
      library_->p2p_status(a.device, b.device, kP2pNvlink, &status) != kSuccess)
    return std::nullopt;
  return status == kP2pOk;
}

}  // namespace muster::driver
