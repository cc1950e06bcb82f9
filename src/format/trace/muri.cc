// SPDX-License-Identifier: Apache-2.0
// Three virtual clusters of Philly, nearly whole, as the Muri artifact carries them. All times are
// in milliseconds. Model names and iteration times were assigned by its authors; we do not read
// them.
#include <array>
#include <cstddef>

#include "base/strings.h"
#include "format/trace/csv.h"
#include "format/trace/flat_gpus.h"
#include "format/trace/formats.h"

namespace muster::format {
namespace {

enum Column : std::size_t { kJob, kGpus, kSubmit, kDuration };
constexpr std::array kColumns = {
    CsvColumn{"job_id", true},
    CsvColumn{"num_gpu", true},
    CsvColumn{"submit_time", true},
    CsvColumn{"duration", true},
};

}  // namespace

bool LooksLikeMuri(std::string_view text) {
  // `iteration_time` tells it from lists with the same names in other units.
  return HeaderHas(text, {"job_id", "num_gpu", "submit_time", "duration", "iteration_time"});
}

model::Workload ReadMuri(std::string_view text, const TraceOptions& options, LineFaults& faults) {
  model::Workload workload;
  FlatGpus gpus(options);
  CsvTable table(text, kColumns, OtherColumns::kIgnored, faults);
  while (table.Next()) {
    model::TraceJob job;
    job.name = table[kJob].text;
    job.submit = base::Instant{} + ReadTime(table[kSubmit], TimeUnit::kMillisecond, faults);
    job.duration = ReadTime(table[kDuration], TimeUnit::kMillisecond, faults);
    if (gpus.Read(table[kGpus], job, faults)) workload.jobs.push_back(std::move(job));
  }
  gpus.Note(workload);
  return workload;
}

}  // namespace muster::format
