// SPDX-License-Identifier: Apache-2.0
// Completed jobs of the Kalos cluster (AcmeTrace, 2023-24) in a fork's conversion for another
// simulator. The conversion put the real values into columns of other meaning; here they are put
// back.
#include <array>
#include <cstddef>

#include "base/strings.h"
#include "base/units.h"
#include "format/fields.h"
#include "format/trace/csv.h"
#include "format/trace/formats.h"
#include "model/cluster.h"

namespace muster::format {
namespace {

enum Column : std::size_t {
  kJob,
  kArrival,
  kIterations,
  kComputing,
  kNetworking,
  kWorkers,
  kGpus,
  kCpus,
  kMemory
};
constexpr std::array kColumns = {
    CsvColumn{"job_id"},
    CsvColumn{"arrival_time", true},
    CsvColumn{"num_iteration", true},
    CsvColumn{"iteration_computing_time", true},
    CsvColumn{"iteration_networking_time", true},
    CsvColumn{"gpu_workers", true},
    CsvColumn{"gpu_per_worker", true},
    CsvColumn{"cpu_per_gpu_worker", true},
    CsvColumn{"tensorsizes", true},
};

// The converter wrote run time / 0.5 s into `num_iteration`.
constexpr std::int64_t kComputingMs = 500;
// 0.75 stands for pretraining, 0.25 for fine-tuning and the rest.
constexpr std::int64_t kPretrainMs = 750;
constexpr std::int64_t kOtherMs = 250;
// How much of a step is communication that computation does not hide, as long as all is well
// placed. For pretraining over many nodes a fifth: measured steps are 30-50 % communication, of
// which overlap hides a good half. The others mostly stay in a node or reduce gradients only: a
// twentieth.
constexpr base::Permille kPretrainComm = base::Permille::Of(200);
constexpr base::Permille kOtherComm = base::Permille::Of(50);
constexpr std::int64_t kMemoryUnit = 100'000'000'000;  // `tensorsizes` counts hundreds of GB

/// The communication share that the mark in `iteration_networking_time` stands for.
base::Permille ReadKind(const Cell& cell, LineFaults& faults) {
  const auto mark = base::ParseDecimal(cell.text, 1000);
  if (mark == kPretrainMs) return kPretrainComm;
  if (mark != kOtherMs) {
    AddFault(faults, cell,
             base::Format("{} is neither 0.75 (pretraining) nor 0.25 (other); this is not the "
                          "conversion of the Kalos trace",
                          base::Quote(cell.text)));
  }
  return kOtherComm;
}

void CheckComputing(const Cell& cell, LineFaults& faults) {
  if (base::ParseDecimal(cell.text, 1000) == kComputingMs) return;
  AddFault(faults, cell,
           base::Format("{} is not 0.5; this is not the conversion of the Kalos trace",
                        base::Quote(cell.text)));
}

/// Half CPUs occur: 12.5 for each of two GPUs.
base::MilliCpu ReadCpuPerGpu(const Cell& cell, LineFaults& faults) {
  constexpr base::MilliCpu kMost = base::MilliCpu::Of(4096 * 1000);
  const base::MilliCpu cpu = TakeOrFault(base::ParseCpu(cell.text), cell, faults);
  if (cpu <= kMost) return cpu;
  AddFault(faults, cell,
           base::Format("{} CPUs for each GPU; give at most {}", base::Quote(cell.text),
                        base::FormatCpu(kMost)));
  return {};
}

base::Bytes ReadMemory(const Cell& cell, LineFaults& faults) {
  const auto memory =
      base::Bytes::Of(TakeOrFault(base::ParseDecimal(cell.text, kMemoryUnit), cell, faults));
  if (memory <= kMostMemory) return memory;
  AddFault(faults, cell,
           base::Format("{} times 100 GB is too much for one replica; at most {}",
                        base::Quote(cell.text), base::FormatBytes(kMostMemory)));
  return {};
}

}  // namespace

bool LooksLikeAcme(std::string_view text) {
  return HeaderHas(text, {"arrival_time", "num_iteration", "gpu_workers", "gpu_per_worker"});
}

model::Workload ReadAcme(std::string_view text, const TraceOptions&, LineFaults& faults) {
  model::Workload workload;
  CsvTable table(text, kColumns, OtherColumns::kIgnored, faults);
  for (std::int64_t row = 1; table.Next(); ++row) {
    model::TraceJob job;
    job.name = table.Has(kJob) ? std::string(table[kJob].text) : base::Format("{}", row);
    job.submit = base::Instant{} + ReadTime(table[kArrival], TimeUnit::kSecond, faults);
    CheckComputing(table[kComputing], faults);
    job.duration = ReadTime(table[kIterations], TimeUnit::kSecond, faults) / 2;
    job.comm_fraction = ReadKind(table[kNetworking], faults);
    job.replicas = static_cast<std::int32_t>(ReadCount(table[kWorkers], {.least = 1}, faults));
    const std::int64_t gpus =
        ReadCount(table[kGpus], {.least = 1, .most = model::kMaxDevicesPerNode}, faults);
    job.gpu = base::MilliGpu::Of(gpus * 1000);
    job.cpu = ReadCpuPerGpu(table[kCpus], faults) * gpus;
    job.memory = ReadMemory(table[kMemory], faults);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

}  // namespace muster::format
