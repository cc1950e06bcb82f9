// SPDX-License-Identifier: Apache-2.0
#include "format/trace/flat_gpus.h"

#include "base/strings.h"

namespace muster::format {

using base::Format;

void AddRowNote(model::Workload& workload, std::int64_t rows, std::string_view what) {
  if (rows == 0) return;
  workload.notes.push_back(Format("{} {} {}", rows, rows == 1 ? "row" : "rows", what));
}

bool FlatGpus::Read(const Cell& cell, model::TraceJob& job, LineFaults& faults) {
  const std::int64_t gpus = ReadCount(cell, {}, faults);
  if (gpus == 0) {
    ++rows_without_;
    return false;
  }
  if (gpus <= gpus_per_node_) {
    job.gpu = base::MilliGpu::Of(gpus * 1000);
    return true;
  }
  const std::int64_t nodes = (gpus + gpus_per_node_ - 1) / gpus_per_node_;
  const std::int64_t added = nodes * gpus_per_node_ - gpus;
  rounded_jobs_ += added > 0 ? 1 : 0;
  added_gpus_ += added;
  job.replicas = static_cast<std::int32_t>(nodes);
  job.gpu = base::MilliGpu::Of(gpus_per_node_ * 1000);
  return true;
}

void FlatGpus::Note(model::Workload& workload) const {
  AddRowNote(workload, rows_without_,
             "with 0 GPUs skipped: the trace does not say what else they need");
  if (rounded_jobs_ == 0) return;
  workload.notes.push_back(
      Format("{} {} rounded up to whole nodes of {} GPUs, {} GPUs more than asked for",
             rounded_jobs_, rounded_jobs_ == 1 ? "job" : "jobs", gpus_per_node_, added_gpus_));
}

}  // namespace muster::format
