// SPDX-License-Identifier: Apache-2.0
#include "driver/local/gpu_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "model/cluster.h"

namespace muster::driver {

using base::Format;

GpuWatch::GpuWatch(const Nvml& nvml, GpuWatchOptions options)
    : nvml_(nvml), node_(std::move(options.node)), root_(std::move(options.root)) {
  MUSTER_CHECK(options.gpus.size() <= static_cast<std::size_t>(model::kMaxDevicesPerNode));
  for (GpuIdentity& identity : options.gpus) gpus_.push_back({.identity = std::move(identity)});
}

std::vector<Observation> GpuWatch::Poll(const IsOurs& is_ours) {
  std::vector<Faults> faults_before;
  for (const Watched& gpu : gpus_) faults_before.push_back(gpu.faults);
  const model::DeviceMask foreign_before = ForeignDevices();
  bool changed = first_;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    LookAtHealth(gpus_[i]);
    LookAtProcesses(gpus_[i], is_ours);
    changed = changed || gpus_[i].faults != faults_before[i];
  }
  std::vector<Observation> seen;
  if (changed) seen.emplace_back(Health());
  const model::DeviceMask foreign = ForeignDevices();
  if (first_ || foreign != foreign_before)
    seen.emplace_back(ForeignSeen{.node = node_, .devices = foreign});
  first_ = false;
  return seen;
}

void GpuWatch::LookAtHealth(Watched& gpu) const {
  if (gpu.handle.device == nullptr) {
    const base::Result<GpuHandle> found = nvml_.ByUuid(gpu.identity.uuid);
    if (!found) {
      // Anything else than these two says nothing about the device.
      if (found.error().code == base::ErrorCode::kNotFound ||
          found.error().code == base::ErrorCode::kUnavailable)
        gpu.faults.lost = true;
      return;
    }
    gpu.handle = *found;
  }
  const GpuHealth health = nvml_.Health(gpu.handle);
  gpu.faults.lost = health.lost;
  if (health.lost) gpu.handle = {};  // after a reset it is another one
  if (health.uncorrectable_ecc) {
    gpu.ecc_errors = *health.uncorrectable_ecc;
    gpu.faults.ecc = gpu.ecc_errors > 0;
  }
  if (health.remap_failed) gpu.faults.remap_failed = *health.remap_failed;
  if (health.mig) gpu.faults.mig = *health.mig;
  if (health.remap_pending) gpu.faults.remap_pending = *health.remap_pending;
}

void GpuWatch::LookAtProcesses(Watched& gpu, const IsOurs& is_ours) const {
  if (gpu.handle.device == nullptr) return;
  const base::Result<std::vector<pid_t>> pids = nvml_.ComputeProcesses(gpu.handle);
  if (!pids) return;
  gpu.foreign = std::ranges::any_of(*pids, [&](pid_t pid) {
    // One that ended since NVML listed it is nobody's any more.
    return !is_ours(pid) && IsAlive(pid);
  });
}

bool GpuWatch::IsAlive(pid_t pid) const {
  return ::access(Format("{}/proc/{}", root_, pid).c_str(), F_OK) == 0;
}

HealthSeen GpuWatch::Health() const {
  HealthSeen seen{.node = node_};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Watched& gpu = gpus_[i];
    std::vector<std::string> reasons;
    if (gpu.faults.lost) reasons.emplace_back("lost: it does not answer; reset it or the machine");
    if (gpu.faults.ecc) {
      reasons.push_back(Format("uncorrectable ECC errors ({}): reset it, replace it if they return",
                               gpu.ecc_errors));
    }
    if (gpu.faults.remap_failed)
      reasons.emplace_back("a faulty row of memory could not be remapped: replace it");
    if (gpu.faults.mig) reasons.emplace_back("MIG is on: turn it off to have whole devices");
    if (!reasons.empty()) seen.faulty |= model::DeviceMask{1} << i;
    if (gpu.faults.remap_pending)
      reasons.emplace_back("a row of memory waits to be remapped: reset it when it is idle");
    if (!reasons.empty()) {
      texts.push_back(
          Format("device {} ({}): {}", i, gpu.identity.uuid, base::Join(reasons, ", ")));
    }
  }
  seen.text = base::Join(texts, "; ");
  return seen;
}

model::DeviceMask GpuWatch::ForeignDevices() const {
  model::DeviceMask devices = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].foreign) devices |= model::DeviceMask{1} << i;
  }
  return devices;
}

}  // namespace muster::driver
