// SPDX-License-Identifier: Apache-2.0
// Jobs of Microsoft's Philly cluster, 2017, as the Pollux, Sia and Titan artifacts carry them. No
// job ids, users or waits; equal rows are separate jobs; rows are in no order.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/strings.h"
#include "format/trace/csv.h"
#include "format/trace/flat_gpus.h"
#include "format/trace/formats.h"

namespace muster::format {
namespace {

enum Column : std::size_t { kTimestamp, kDuration, kGpus, kCluster };
constexpr std::array kColumns = {
    CsvColumn{"timestamp", true},
    CsvColumn{"duration", true},
    CsvColumn{"num_gpus", true},
    CsvColumn{"cluster"},
};

}  // namespace

bool LooksLikePhilly(std::string_view text) {
  return HeaderHas(text, {"timestamp", "duration", "num_gpus"});
}

model::Workload ReadPhilly(std::string_view text, const TraceOptions& options, LineFaults& faults) {
  model::Workload workload;
  FlatGpus gpus(options);
  CsvTable table(text, kColumns, OtherColumns::kIgnored, faults);
  std::string earliest_text;
  base::Instant earliest{INT64_MAX};
  for (std::int64_t row = 1; table.Next(); ++row) {
    model::TraceJob job;
    job.name = base::Format("{}", row);
    job.submit = ReadTimestamp(table[kTimestamp], faults);
    job.duration = ReadTime(table[kDuration], TimeUnit::kSecond, faults);
    job.queue = table[kCluster].text;
    if (job.submit < earliest) {
      earliest = job.submit;
      earliest_text = table[kTimestamp].text;
    }
    if (gpus.Read(table[kGpus], job, faults)) workload.jobs.push_back(std::move(job));
  }
  for (model::TraceJob& job : workload.jobs) {
    job.submit = base::Instant{} + (job.submit - earliest);
  }
  if (!earliest_text.empty()) {
    workload.notes.push_back(base::Format("the trace starts at {}", earliest_text));
  }
  gpus.Note(workload);
  return workload;
}

}  // namespace muster::format
