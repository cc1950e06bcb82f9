// SPDX-License-Identifier: Apache-2.0
#include "format/trace/trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "format/trace/cell.h"
#include "format/trace/csv.h"
#include "format/trace/formats.h"
#include "model/cluster.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;
using model::TraceJob;

constexpr std::array kFormats = {
    TraceFormat{"muster", "our own CSV, as `muster sim generate` writes it", LooksLikeMuster,
                ReadMuster},
    TraceFormat{"swf", "Standard Workload Format of the Parallel Workloads Archive", LooksLikeSwf,
                ReadSwf},
    TraceFormat{"philly", "Microsoft Philly jobs, CSV", LooksLikePhilly, ReadPhilly},
    TraceFormat{"helios", "SenseTime Helios jobs, CSV of the Venus slice", LooksLikeHelios,
                ReadHelios},
    TraceFormat{"muri", "Philly virtual clusters of the Muri artifact, CSV", LooksLikeMuri,
                ReadMuri},
    TraceFormat{"acme", "Kalos jobs of AcmeTrace in a fork's conversion, CSV", LooksLikeAcme,
                ReadAcme},
};

std::string KnownFormats() {
  std::vector<std::string> names;
  for (const TraceFormat& format : kFormats) names.emplace_back(format.name);
  return base::Join(names, ", ");
}

base::Result<const TraceFormat*> FindFormat(const std::string& name) {
  const auto found = std::ranges::find(kFormats, name, &TraceFormat::name);
  if (found != kFormats.end()) return &*found;
  std::vector<std::string_view> names;
  for (const TraceFormat& format : kFormats) names.push_back(format.name);
  const std::string_view near = base::Nearest(name, names);
  const std::string help = near.empty() ? "" : Format("; did you mean {}?", near);
  return Error{ErrorCode::kNotFound,
               Format("unknown trace format {}{} The formats are {}", Quote(name),
                      help.empty() ? "." : help, KnownFormats()),
               ""};
}

base::Result<const TraceFormat*> DetectFormat(std::string_view text, std::string_view file) {
  for (const TraceFormat& format : kFormats) {
    if (format.looks_like(text)) return &format;
  }
  if (base::Trim(text).empty()) {
    return Error{ErrorCode::kInvalid, "the file is empty; a trace has at least a header",
                 std::string(file)};
  }
  return Error{ErrorCode::kInvalid,
               Format("the first line does not tell the format; name one of {}", KnownFormats()),
               std::string(file)};
}

base::Errors CheckOptions(const TraceOptions& options) {
  base::Errors errors;
  const auto add = [&](std::string message) {
    errors.push_back({ErrorCode::kInvalid, std::move(message), "trace options"});
  };
  if (options.gpus_per_node < 1 || options.gpus_per_node > model::kMaxDevicesPerNode) {
    add(Format("{} GPUs per node; give 1 to {}", options.gpus_per_node, model::kMaxDevicesPerNode));
  }
  constexpr std::int32_t kMostCpus = 1 << 16;
  if (options.cpus_per_node < 0 || options.cpus_per_node > kMostCpus) {
    add(Format("{} CPUs per node; give 0 to {}", options.cpus_per_node, kMostCpus));
  }
  if (options.until && *options.until <= options.from) {
    add(Format("the window ends at {}, not after its begin {}",
               base::FormatDuration(*options.until), base::FormatDuration(options.from)));
  }
  if (options.limit && *options.limit < 0)
    add(Format("a limit of {} jobs; give 0 or more", *options.limit));
  return errors;
}

/// Stable, so that jobs of one submit time stay in file order: the reverse order moves the mean
/// waits of some traces by a sixth.
void SortBySubmit(model::Workload& workload) {
  if (std::ranges::is_sorted(workload.jobs, {}, &TraceJob::submit)) return;
  std::ranges::stable_sort(workload.jobs, {}, &TraceJob::submit);
  workload.notes.emplace_back("jobs were not in submit order; sorted");
}

void CheckSorted(const model::Workload& workload, LineFaults& faults) {
  for (std::size_t i = 1; i < workload.jobs.size() && !faults.IsFull(); ++i) {
    if (workload.jobs[i].submit >= workload.jobs[i - 1].submit) continue;
    faults.Add(0, "",
               Format("job {}, number {}, was submitted before the one above it; sort the trace",
                      Quote(workload.jobs[i].name), i + 1));
  }
}

/// Of formats that do not come as tables; those look at each value themselves.
void CheckNames(const model::Workload& workload, LineFaults& faults) {
  for (std::size_t i = 0; i < workload.jobs.size() && !faults.IsFull(); ++i) {
    const TraceJob& job = workload.jobs[i];
    for (const std::string* name : {&job.name, &job.user, &job.queue}) {
      const std::string_view why = WhyNoText(*name);
      if (why.empty()) continue;
      faults.Add(0, "", Format("job number {}: {} {}", i + 1, Quote(base::Printable(*name)), why));
    }
  }
}

void KeepQueues(const TraceOptions& options, model::Workload& workload, LineFaults& faults) {
  for (const std::string& queue : options.queues) {
    if (std::ranges::find(workload.jobs, queue, &TraceJob::queue) != workload.jobs.end()) continue;
    std::vector<std::string> known;
    for (const TraceJob& job : workload.jobs) known.push_back(job.queue);
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
    constexpr std::size_t kMostShown = 20;
    const bool more = known.size() > kMostShown;
    if (more) known.resize(kMostShown);
    faults.Add(0, "",
               Format("no job is of queue {}; the queues are {}{}", Quote(queue),
                      base::Join(known, ", "), more ? " and more" : ""));
  }
  if (!options.queues.empty()) {
    const std::size_t all = workload.jobs.size();
    std::erase_if(workload.jobs, [&](const TraceJob& job) {
      return std::ranges::find(options.queues, job.queue) == options.queues.end();
    });
    workload.notes.push_back(
        Format("{} of {} jobs are of the wanted queues", workload.jobs.size(), all));
  }
  if (!options.one_queue) return;
  for (TraceJob& job : workload.jobs) job.queue.clear();
}

void KeepWindow(const TraceOptions& options, model::Workload& workload) {
  const base::Instant from = base::Instant{} + options.from;
  const std::size_t all = workload.jobs.size();
  std::erase_if(workload.jobs, [&](const TraceJob& job) {
    return job.submit < from || (options.until && job.submit >= base::Instant{} + *options.until);
  });
  if (workload.jobs.size() != all) {
    workload.notes.push_back(
        Format("{} of {} jobs are in the time window", workload.jobs.size(), all));
  }
  for (TraceJob& job : workload.jobs) job.submit = base::Instant{} + (job.submit - from);
  if (!options.limit || workload.jobs.size() <= static_cast<std::size_t>(*options.limit)) return;
  workload.notes.push_back(Format("the first {} of {} jobs", *options.limit, workload.jobs.size()));
  workload.jobs.resize(static_cast<std::size_t>(*options.limit));
}

void NoteEqualNames(model::Workload& workload) {
  std::vector<std::string_view> names;
  for (const TraceJob& job : workload.jobs) names.push_back(job.name);
  std::ranges::sort(names);
  const auto again =
      names.size() - static_cast<std::size_t>(std::ranges::unique(names).begin() - names.begin());
  if (again > 0) workload.notes.push_back(Format("{} jobs have the name of another", again));
}

}  // namespace

std::span<const TraceFormat> TraceFormats() { return kFormats; }

base::Checked<model::Workload> ReadTrace(std::string_view text, std::string_view file,
                                         const TraceOptions& options) {
  if (base::Errors errors = CheckOptions(options); !errors.empty()) return errors;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some spreadsheets put it first
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto format =
      options.format.empty() ? DetectFormat(text, file) : FindFormat(options.format);
  if (!format) return format.error();
  LineFaults faults(file);
  if (base::Trim(text).empty())
    faults.Add(0, "", "the file is empty; a trace has at least a header");
  if (static_cast<std::size_t>(std::ranges::count(text, '\n')) > kMostRows)
    faults.Add(0, "", Format("more than {} lines; that is the limit", kMostRows));
  if (!faults.IsEmpty()) return std::move(faults).Take();
  model::Workload workload = (*format)->read(text, options, faults);
  workload.source = base::Printable(file);
  if (faults.IsEmpty() && workload.jobs.empty()) {
    faults.Add(0, "",
               Format("no jobs{}{}", workload.notes.empty() ? "" : ": ",
                      base::Join(workload.notes, "; ")));
  }
  if (faults.IsEmpty()) CheckNames(workload, faults);
  if (faults.IsEmpty()) {
    NoteEqualNames(workload);
    if (options.sort) {
      SortBySubmit(workload);
    } else {
      CheckSorted(workload, faults);
    }
    KeepQueues(options, workload, faults);
  }
  if (!faults.IsEmpty()) return std::move(faults).Take();
  KeepWindow(options, workload);
  if (workload.jobs.empty()) workload.notes.emplace_back("no jobs");
  return workload;
}

}  // namespace muster::format
