// SPDX-License-Identifier: Apache-2.0
// Jobs of SenseTime's Helios clusters, 2020, in the columns of the published Venus slice.
#include <array>
#include <cstddef>
#include <optional>

#include "base/strings.h"
#include "format/trace/csv.h"
#include "format/trace/flat_gpus.h"
#include "format/trace/formats.h"

namespace muster::format {
namespace {

enum Column : std::size_t {
  kJob,
  kUser,
  kTenant,
  kSubmit,
  kChips,
  kChipType,
  kDuration,
  kWalltime,
  kStatus
};
constexpr std::array kColumns = {
    CsvColumn{"job_id"},           CsvColumn{"user"},
    CsvColumn{"tenant"},           CsvColumn{"submit_time", true},
    CsvColumn{"num_chips", true},  CsvColumn{"chip_type"},
    CsvColumn{"duration_s", true}, CsvColumn{"walltime_limit_s"},
    CsvColumn{"final_status"},
};

struct StatusName {
  std::string_view name;
  model::TraceEnd end;
};
constexpr std::array kStatusNames = {
    StatusName{"COMPLETED", model::TraceEnd::kCompleted},
    StatusName{"CANCELED", model::TraceEnd::kCancelled},
    StatusName{"CANCELLED", model::TraceEnd::kCancelled},
    StatusName{"FAILED", model::TraceEnd::kFailed},
    StatusName{"TIMEOUT", model::TraceEnd::kFailed},
    StatusName{"NODE_FAIL", model::TraceEnd::kFailed},
};

model::TraceEnd ReadStatus(const Cell& cell, LineFaults& faults) {
  for (const StatusName& status : kStatusNames) {
    if (cell.text == status.name) return status.end;
  }
  if (!cell.text.empty()) {
    AddFault(faults, cell,
             base::Format("{} is not COMPLETED, CANCELED, FAILED, TIMEOUT or NODE_FAIL",
                          base::Quote(cell.text)));
  }
  return model::TraceEnd::kCompleted;
}

}  // namespace

bool LooksLikeHelios(std::string_view text) {
  return HeaderHas(text, {"submit_time", "num_chips", "duration_s"});
}

model::Workload ReadHelios(std::string_view text, const TraceOptions& options, LineFaults& faults) {
  model::Workload workload;
  FlatGpus gpus(options);
  CsvTable table(text, kColumns, OtherColumns::kIgnored, faults);
  std::int64_t estimates_left_out = 0;
  for (std::int64_t row = 1; table.Next(); ++row) {
    model::TraceJob job;
    job.name = table.Has(kJob) ? std::string(table[kJob].text) : base::Format("{}", row);
    job.user = table[kUser].text;
    job.queue = table[kTenant].text;
    job.model = table[kChipType].text;
    job.submit = base::Instant{} + ReadTime(table[kSubmit], TimeUnit::kMicrosecond, faults);
    job.duration = ReadTime(table[kDuration], TimeUnit::kSecond, faults);
    job.end = ReadStatus(table[kStatus], faults);
    const Cell walltime = table[kWalltime];
    if (!walltime.text.empty()) {
      if (options.copied_estimates) {
        job.estimate = ReadTime(walltime, TimeUnit::kSecond, faults);
      } else {
        ++estimates_left_out;
      }
    }
    if (gpus.Read(table[kChips], job, faults)) workload.jobs.push_back(std::move(job));
  }
  AddRowNote(workload, estimates_left_out,
             "have a wall time that was copied from the run time; it is not taken as an estimate");
  gpus.Note(workload);
  return workload;
}

}  // namespace muster::format
