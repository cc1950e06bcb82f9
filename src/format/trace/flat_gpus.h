// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "format/trace/cell.h"
#include "format/trace/trace.h"

namespace muster::format {

/// Adds "COUNT rows WHAT" to the notes, if there were any.
void AddRowNote(model::Workload& workload, std::int64_t rows, std::string_view what);

/// Turns the single GPU count that most traces give into replicas, as the schedulers that they were
/// recorded under placed them: inside one node if it fits there, whole nodes otherwise.
class FlatGpus {
 public:
  explicit FlatGpus(const TraceOptions& options) : gpus_per_node_(options.gpus_per_node) {}

  /// Sets replicas and GPUs of `job`; false, and a row counted, for 0 GPUs: such a trace does not
  /// say what else the job needs, so that it cannot be placed.
  bool Read(const Cell& cell, model::TraceJob& job, LineFaults& faults);
  /// Notes what was skipped and what was rounded up.
  void Note(model::Workload& workload) const;

 private:
  std::int64_t gpus_per_node_;
  std::int64_t rows_without_ = 0;
  std::int64_t rounded_jobs_ = 0;
  std::int64_t added_gpus_ = 0;
};

}  // namespace muster::format
