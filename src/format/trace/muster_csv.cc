// SPDX-License-Identifier: Apache-2.0
// Our own trace format, read and written: docs/formats/trace.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/strings.h"
#include "base/units.h"
#include "format/fields.h"
#include "format/trace/csv.h"
#include "format/trace/formats.h"
#include "model/cluster.h"

namespace muster::format {
namespace {

using base::Duration;
using base::Format;
using model::TraceJob;

enum Column : std::size_t {
  kSubmit,
  kDuration,
  kName,
  kUser,
  kQueue,
  kClass,
  kReplicas,
  kMinReplicas,
  kGpu,
  kCpu,
  kMemory,
  kModel,
  kRequired,
  kCommFraction,
  kCompute,
  kOverlap,
  kComm,
  kEstimate,
  kTimeLimit,
  kWait,
  kEnd
};
constexpr std::array kColumns = {
    CsvColumn{"submit", true}, CsvColumn{"duration", true}, CsvColumn{"name"},
    CsvColumn{"user"},         CsvColumn{"queue"},          CsvColumn{"class"},
    CsvColumn{"replicas"},     CsvColumn{"min_replicas"},   CsvColumn{"gpu"},
    CsvColumn{"cpu"},          CsvColumn{"memory"},         CsvColumn{"model"},
    CsvColumn{"required"},     CsvColumn{"comm_fraction"},  CsvColumn{"comp"},
    CsvColumn{"overlap"},      CsvColumn{"comm"},           CsvColumn{"estimate"},
    CsvColumn{"time_limit"},   CsvColumn{"wait"},           CsvColumn{"end"},
};

constexpr std::array<std::string_view, 3> kEndNames = {"completed", "failed", "cancelled"};

model::TraceEnd ReadEnd(const Cell& cell, LineFaults& faults) {
  if (cell.text.empty()) return model::TraceEnd::kCompleted;
  const auto found = std::ranges::find(kEndNames, cell.text);
  if (found != kEndNames.end()) return static_cast<model::TraceEnd>(found - kEndNames.begin());
  AddFault(faults, cell,
           Format("{} is not completed, failed or cancelled", base::Quote(cell.text)));
  return model::TraceEnd::kCompleted;
}

Duration ReadOptionalTime(const Cell& cell, LineFaults& faults) {
  return cell.text.empty() ? Duration{} : ReadSecondsOrDuration(cell, faults);
}

std::int32_t ReadReplicas(const Cell& cell, CellRange range, LineFaults& faults) {
  if (cell.text.empty()) return static_cast<std::int32_t>(range.least);
  return static_cast<std::int32_t>(ReadCount(cell, range, faults));
}

/// Exposed communication from the three parts of a step: c = (1-o) comm / (comp + (1-o) comm).
base::Permille ExposedFraction(const CsvTable& table, LineFaults& faults) {
  for (const Column column : {kCompute, kOverlap, kComm}) {
    if (!table[column].text.empty()) continue;
    AddFault(faults, table[column], "is empty; comp, overlap and comm go together");
    return {};
  }
  if (!table[kCommFraction].text.empty()) {
    AddFault(faults, table[kCommFraction], "give either this or comp, overlap and comm, not both");
    return {};
  }
  const Duration compute = ReadSecondsOrDuration(table[kCompute], faults);
  const Duration comm = ReadSecondsOrDuration(table[kComm], faults);
  const auto overlap =
      TakeOrFault(base::ParseFraction(table[kOverlap].text), table[kOverlap], faults);
  __extension__ using Wide = __int128;
  const Wide exposed = Wide{comm.value()} * (1000 - overlap.value());
  const Wide step = Wide{compute.value()} * 1000 + exposed;
  if (step == 0) return {};  // a step of no time spends none of it communicating
  return base::Permille::Of(static_cast<std::int64_t>((exposed * 1000 + step / 2) / step));
}

base::Permille ReadCommFraction(const CsvTable& table, LineFaults& faults) {
  const auto given = [&](Column column) { return !table[column].text.empty(); };
  if (given(kCompute) || given(kOverlap) || given(kComm)) return ExposedFraction(table, faults);
  const Cell cell = table[kCommFraction];
  if (cell.text.empty()) return {};
  return TakeOrFault(base::ParseFraction(cell.text), cell, faults);
}

base::MilliGpu ReadGpu(const Cell& cell, LineFaults& faults) {
  if (cell.text.empty()) return {};
  const base::MilliGpu gpu = TakeOrFault(base::ParseGpu(cell.text), cell, faults);
  const std::int64_t amount = gpu.value();
  if (amount % 1000 != 0) {
    AddFault(faults, cell,
             Format("{} GPUs for each replica: parts of a GPU are not supported by this version "
                    "yet, ask for whole ones",
                    base::Quote(cell.text)));
  } else if (amount > std::int64_t{1000} * model::kMaxDevicesPerNode) {
    AddFault(faults, cell,
             Format("{} GPUs for one replica; a node has at most {}, use more replicas",
                    base::Quote(cell.text), model::kMaxDevicesPerNode));
  }
  return gpu;
}

/// An amount of each replica, bounded so that sums over a whole trace fit.
template <class Amount>
Amount ReadAmount(const Cell& cell, base::Result<Amount> (*parse)(std::string_view), Amount most,
                  std::string (*format)(Amount), LineFaults& faults) {
  if (cell.text.empty()) return {};
  const Amount amount = TakeOrFault(parse(cell.text), cell, faults);
  if (amount <= most) return amount;
  AddFault(
      faults, cell,
      Format("{} is too much for one replica; at most {}", base::Quote(cell.text), format(most)));
  return {};
}

void ReadShape(const CsvTable& table, TraceJob& job, LineFaults& faults) {
  const std::size_t faults_before = faults.count();
  job.replicas = ReadReplicas(table[kReplicas], {.least = 1}, faults);
  job.min_replicas = ReadReplicas(table[kMinReplicas], {}, faults);
  if (job.min_replicas > job.replicas) {
    AddFault(faults, table[kMinReplicas],
             Format("{} is more than the {} replicas", job.min_replicas, job.replicas));
  }
  job.gpu = ReadGpu(table[kGpu], faults);
  job.cpu = ReadAmount(table[kCpu], &base::ParseCpu, kMostCpu, &base::FormatCpu, faults);
  job.memory =
      ReadAmount(table[kMemory], &base::ParseBytes, kMostMemory, &base::FormatBytes, faults);
  if (job.gpu.IsZero() && job.cpu.IsZero() && job.memory.IsZero() &&
      faults.count() == faults_before) {
    faults.Add(table.line(), "", "the job asks for nothing; fill gpu, cpu or memory");
  }
}

// ---------------------------------------------------------------------------- writing

/// A column of the written trace and whether a job needs it.
struct OutputColumn {
  std::string_view name;
  bool (*used)(const TraceJob& job);
  std::string (*text)(const TraceJob& job);
};

bool Always(const TraceJob&) { return true; }

std::string OptionalTime(Duration time) { return time.IsZero() ? "" : base::FormatDuration(time); }

constexpr std::array kOutput = {
    OutputColumn{
        "submit", Always,
        [](const TraceJob& job) { return base::FormatDuration(job.submit - base::Instant{}); }},
    OutputColumn{"duration", Always,
                 [](const TraceJob& job) { return base::FormatDuration(job.duration); }},
    OutputColumn{"replicas", Always,
                 [](const TraceJob& job) { return Format("{}", job.replicas); }},
    OutputColumn{"gpu", Always, [](const TraceJob& job) { return base::FormatGpu(job.gpu); }},
    OutputColumn{"name", [](const TraceJob& job) { return !job.name.empty(); },
                 [](const TraceJob& job) { return job.name; }},
    OutputColumn{"user", [](const TraceJob& job) { return !job.user.empty(); },
                 [](const TraceJob& job) { return job.user; }},
    OutputColumn{"queue", [](const TraceJob& job) { return !job.queue.empty(); },
                 [](const TraceJob& job) { return job.queue; }},
    OutputColumn{"class", [](const TraceJob& job) { return !job.priority_class.empty(); },
                 [](const TraceJob& job) { return job.priority_class; }},
    OutputColumn{"min_replicas", [](const TraceJob& job) { return job.min_replicas != 0; },
                 [](const TraceJob& job) { return Format("{}", job.min_replicas); }},
    OutputColumn{"cpu", [](const TraceJob& job) { return !job.cpu.IsZero(); },
                 [](const TraceJob& job) { return base::FormatCpu(job.cpu); }},
    OutputColumn{"memory", [](const TraceJob& job) { return !job.memory.IsZero(); },
                 [](const TraceJob& job) { return base::FormatBytes(job.memory); }},
    OutputColumn{"model", [](const TraceJob& job) { return !job.model.empty(); },
                 [](const TraceJob& job) { return job.model; }},
    OutputColumn{"required", [](const TraceJob& job) { return !job.required.empty(); },
                 [](const TraceJob& job) { return job.required; }},
    OutputColumn{"comm_fraction", [](const TraceJob& job) { return !job.comm_fraction.IsZero(); },
                 [](const TraceJob& job) { return base::FormatFraction(job.comm_fraction); }},
    OutputColumn{"estimate", [](const TraceJob& job) { return !job.estimate.IsZero(); },
                 [](const TraceJob& job) { return OptionalTime(job.estimate); }},
    OutputColumn{"time_limit", [](const TraceJob& job) { return !job.time_limit.IsZero(); },
                 [](const TraceJob& job) { return OptionalTime(job.time_limit); }},
    OutputColumn{
        "wait", [](const TraceJob& job) { return job.has_wait; },
        [](const TraceJob& job) { return job.has_wait ? base::FormatDuration(job.wait) : ""; }},
    OutputColumn{"end", [](const TraceJob& job) { return job.end != model::TraceEnd::kCompleted; },
                 [](const TraceJob& job) {
                   return std::string(kEndNames[static_cast<std::size_t>(job.end)]);
                 }},
};

}  // namespace

bool LooksLikeMuster(std::string_view text) { return HeaderHas(text, {"submit", "duration"}); }

model::Workload ReadMuster(std::string_view text, const TraceOptions&, LineFaults& faults) {
  model::Workload workload;
  CsvTable table(text, kColumns, OtherColumns::kFault, faults);
  for (std::int64_t row = 1; table.Next(); ++row) {
    TraceJob job;
    job.submit = base::Instant{} + ReadSecondsOrDuration(table[kSubmit], faults);
    job.duration = ReadSecondsOrDuration(table[kDuration], faults);
    job.name = table[kName].text.empty() ? Format("{}", row) : std::string(table[kName].text);
    job.user = table[kUser].text;
    job.queue = table[kQueue].text;
    job.priority_class = table[kClass].text;
    ReadShape(table, job, faults);
    job.model = table[kModel].text;
    job.required = table[kRequired].text;
    job.comm_fraction = ReadCommFraction(table, faults);
    job.estimate = ReadOptionalTime(table[kEstimate], faults);
    job.time_limit = ReadOptionalTime(table[kTimeLimit], faults);
    job.has_wait = !table[kWait].text.empty();
    job.wait = ReadOptionalTime(table[kWait], faults);
    job.end = ReadEnd(table[kEnd], faults);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

std::string WriteTrace(const model::Workload& workload) {
  std::vector<const OutputColumn*> columns;
  for (const OutputColumn& column : kOutput) {
    if (column.used == &Always || std::ranges::any_of(workload.jobs, column.used))
      columns.push_back(&column);
  }
  std::string out;
  for (const OutputColumn* column : columns) {
    if (column != columns.front()) out += ',';
    out += column->name;
  }
  out += '\n';
  for (const TraceJob& job : workload.jobs) {
    for (const OutputColumn* column : columns) {
      if (column != columns.front()) out += ',';
      out += CsvValue(column->text(job));
    }
    out += '\n';
  }
  return out;
}

}  // namespace muster::format
