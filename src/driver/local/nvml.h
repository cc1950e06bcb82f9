// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, loaded when there is one. Only what discovery and the watch of the
// devices ask: every call is checked, and what an older library lacks or a device does not support
// is an empty value, not a fault.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace muster::driver {

/// Where the functions of NVML come from.
struct NvmlSource {
  std::string library = "libnvidia-ml.so.1";  ///< as for dlopen; "": the program itself
  /// In place of a library where set: the function of this name, or null.
  std::function<void*(const char*)> find;
};

/// A device as NVML knows it; holds as long as the `Nvml` that gave it.
struct GpuHandle {
  void* device = nullptr;
};

/// What a device is.
struct GpuFacts {
  std::string name;             ///< "NVIDIA H100 80GB HBM3"
  std::string uuid;             ///< "GPU-..."; what CUDA_VISIBLE_DEVICES takes
  std::string pci_bus_id;       ///< "0000:1b:00.0"; empty: unknown
  base::Bytes memory;           ///< 0: unknown
  std::int32_t minor = -1;      ///< N of /dev/nvidiaN; -1: unknown
  bool mig = false;             ///< split into instances
  std::int32_t nvlinks_up = 0;  ///< NVLink connections that work
};

/// How a device does. Empty: the library or the device cannot tell, or failed to this time.
struct GpuHealth {
  bool lost = false;  ///< fell off the bus or needs a reset: answers nothing
  std::optional<std::uint64_t> uncorrectable_ecc;  ///< errors since the driver was loaded
  std::optional<bool> remap_failed;                ///< a faulty memory row could not be replaced
  std::optional<bool> remap_pending;               ///< a row or page is replaced at the next reset
  std::optional<bool> mig;                         ///< split into instances now
  std::optional<std::int32_t> temperature_celsius;
};

/// The loaded and initialised library. Calls may come from any thread.
///
/// Errors of its methods: `kUnavailable` the device is lost, `kNotFound` no such device or the
/// library has no such function, `kNotAllowed` not permitted, `kIo` anything else.
class Nvml {
 public:
  /// `kNotFound`: no such library, or it is not NVML; `kUnavailable`: it is there, but its driver
  /// does not answer.
  static base::Result<Nvml> Open(const NvmlSource& source);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  /// Version of the kernel driver ("550.54.15"), or empty.
  std::string DriverVersion() const;
  base::Result<std::int32_t> DeviceCount() const;
  base::Result<GpuHandle> ByIndex(std::int32_t index) const;
  base::Result<GpuHandle> ByUuid(const std::string& uuid) const;

  /// Name and UUID must be known, or it is an error; the rest is as far as can be told.
  base::Result<GpuFacts> Facts(GpuHandle gpu) const;
  GpuHealth Health(GpuHandle gpu) const;
  /// Processes that compute on the device, at most 4096, as NVML numbers them.
  base::Result<std::vector<pid_t>> ComputeProcesses(GpuHandle gpu) const;
  /// As `ComputeProcesses`, of those that draw.
  base::Result<std::vector<pid_t>> GraphicsProcesses(GpuHandle gpu) const;
  /// Whether two devices reach each other over NVLink. Empty: cannot be told.
  std::optional<bool> NvlinkBetween(GpuHandle a, GpuHandle b) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace muster::driver
