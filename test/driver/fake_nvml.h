// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnvidia-ml.so.1: exports NVML's functions from the program that it is linked
// into (library name ""), or from a shared library of its own, which then has as many GPUs as the
// environment variable FAKE_NVML_GPUS says (8).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "driver/local/nvml.h"

namespace muster::driver {

struct FakeGpu {
  std::string name = "NVIDIA H100 80GB HBM3";
  std::string uuid;
  std::string bus_id;  ///< as NVML writes it: "00000000:1B:00.0"
  unsigned minor = 0;
  unsigned long long memory = 80ULL << 30;
  bool mig = false;
  unsigned links = 18;
  unsigned links_up = 18;
  int nvlink_island = 0;  ///< devices of one island reach each other; -1: none
  int status = 0;         ///< what every call about it answers; 15: lost
  unsigned long long ecc_errors = 0;
  bool ecc_supported = true;
  bool remap_supported = true;
  bool remap_failed = false;
  bool remap_pending = false;
  bool retired_pending = false;
  unsigned celsius = 40;
  std::vector<unsigned> compute;
  std::vector<unsigned> graphics;
};

struct FakeNvml {
  int init_status = 0;
  int count_status = 0;
  int handle_status = 0;  ///< of GetHandleByUUID
  int initialised = 0;    ///< calls of init less those of shutdown
  std::string driver_version = "550.54.15";
  std::vector<FakeGpu> gpus;
  std::set<std::string> missing;  ///< functions that `Source` does not find
};

/// The one that the exported functions speak for.
FakeNvml& Fake();
/// Forgets all and has `count` working GPUs again.
FakeNvml& ResetFake(int count);
/// Looks functions up in this program, but for those in `missing`.
NvmlSource FakeSource();

}  // namespace muster::driver
