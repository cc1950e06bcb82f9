// SPDX-License-Identifier: Apache-2.0
// Standard Workload Format: eighteen numbers a line, -1 = unknown, `;` begins a comment.
//
// A job of p processors becomes p replicas of one CPU: the logged machines placed processors
// anywhere, and a gang of single CPUs may span nodes likewise, whatever size the simulated ones
// have. Where nodes were given out whole, TraceOptions::cpus_per_node says how many processors each
// has.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "base/strings.h"
#include "base/units.h"
#include "format/trace/cell.h"
#include "format/trace/flat_gpus.h"
#include "format/trace/formats.h"

namespace muster::format {
namespace {

enum Column : std::size_t {
  kJob,
  kSubmit,
  kWait,
  kRun,
  kAllocated,
  kCpuTime,
  kUsedMemory,
  kRequested,
  kRequestedTime,
  kRequestedMemory,
  kStatus,
  kUser,
  kGroup,
  kApplication,
  kQueue,
  kPartition,
  kPreceding,
  kThinkTime,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {"job",
                                                           "submit time",
                                                           "wait time",
                                                           "run time",
                                                           "allocated processors",
                                                           "CPU time",
                                                           "used memory",
                                                           "requested processors",
                                                           "requested time",
                                                           "requested memory",
                                                           "status",
                                                           "user",
                                                           "group",
                                                           "application",
                                                           "queue",
                                                           "partition",
                                                           "preceding job",
                                                           "think time"};

constexpr std::string_view kUnknown = "-1";
constexpr std::int64_t kMostKibibytes = std::int64_t{1} << 33;  // 8 TiB for one processor
constexpr std::string_view kBlanks = " \t\r";

/// Values between blanks; only the first `kColumns` are kept, all are counted.
struct Line {
  std::array<std::string_view, kColumns> values;
  std::size_t count = 0;
  std::int64_t number = 0;

  Cell operator[](Column column) const {
    return Cell{.text = values[column], .column = kNames[column], .line = number};
  }
  bool Knows(Column column) const { return values[column] != kUnknown; }
};

Line SplitLine(std::string_view text) {
  Line line;
  while (true) {
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return line;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    if (line.count < kColumns) line.values[line.count] = text.substr(0, end);
    ++line.count;
    text.remove_prefix(end);
  }
}

/// The next line of `rest` without its end.
std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

bool IsComment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos || line[first] == ';';
}

class Reader {
 public:
  Reader(const TraceOptions& options, LineFaults& faults) : options_(options), faults_(faults) {}

  void ReadLine(const Line& line) {
    if (line.count != kColumns) {
      faults_.Add(
          line.number, "",
          base::Format("{} columns; this format has {}", line.count, std::size_t{kColumns}));
      return;
    }
    const std::string_view status = line.values[kStatus];
    if (status == "2" || status == "3" || status == "4") {
      ++parts_;
    } else if (!line.Knows(kRun)) {
      ++without_run_time_;
    } else if (const std::int64_t processors = Processors(line); processors == 0) {
      ++without_processors_;
    } else {
      AddJob(line, processors);
    }
  }

  model::Workload Finish() && {
    AddRowNote(workload_, without_run_time_, "with run time -1 skipped");
    AddRowNote(workload_, without_processors_, "without a number of processors skipped");
    AddRowNote(workload_, parts_,
               "of status 2, 3 or 4 skipped: they are parts of a job that has its own row");
    return std::move(workload_);
  }

 private:
  /// What the user asked for is what a scheduler sees; what the job got stands in for it.
  std::int64_t Processors(const Line& line) {
    for (const Column column : {kRequested, kAllocated}) {
      if (!line.Knows(column)) continue;
      if (const std::int64_t processors = ReadCount(line[column], {}, faults_); processors > 0) {
        return processors;
      }
    }
    return 0;
  }

  void SetShape(std::int64_t processors, model::TraceJob& job) const {
    std::int64_t cpus = 1;
    if (options_.cpus_per_node > 0)
      cpus = std::min<std::int64_t>(processors, options_.cpus_per_node);
    job.replicas = static_cast<std::int32_t>((processors + cpus - 1) / cpus);
    job.cpu = base::MilliCpu::Of(cpus * 1000);
  }

  void AddJob(const Line& line, std::int64_t processors) {
    model::TraceJob job;
    job.name = line.values[kJob];
    job.submit = base::Instant{} + ReadTime(line[kSubmit], TimeUnit::kSecond, faults_);
    job.duration = ReadTime(line[kRun], TimeUnit::kSecond, faults_);
    SetShape(processors, job);
    if (line.Knows(kWait)) {
      job.wait = ReadTime(line[kWait], TimeUnit::kSecond, faults_);
      job.has_wait = true;
    }
    if (line.Knows(kRequestedTime)) {
      job.estimate = ReadTime(line[kRequestedTime], TimeUnit::kSecond, faults_);
      if (options_.requested_time_limits) job.time_limit = job.estimate;
    }
    if (line.Knows(kRequestedMemory)) {  // kibibytes for each processor
      const std::int64_t kibibytes =
          ReadCount(line[kRequestedMemory], {.most = kMostKibibytes}, faults_);
      job.memory = base::Bytes::Of(kibibytes * 1024) * (job.cpu.value() / 1000);
    }
    if (line.Knows(kUser)) job.user = line.values[kUser];
    if (line.Knows(kQueue)) job.queue = line.values[kQueue];
    job.end = End(line[kStatus]);
    workload_.jobs.push_back(std::move(job));
  }

  model::TraceEnd End(const Cell& status) {
    if (status.text == "0") return model::TraceEnd::kFailed;
    if (status.text == "5") return model::TraceEnd::kCancelled;
    if (status.text != "1" && status.text != kUnknown) {
      AddFault(faults_, status,
               base::Format("{} is not a status; give 0 (failed), 1 (completed), 5 (cancelled) "
                            "or -1 (unknown)",
                            base::Quote(status.text)));
    }
    return model::TraceEnd::kCompleted;
  }

  const TraceOptions& options_;
  LineFaults& faults_;
  model::Workload workload_;
  std::int64_t without_run_time_ = 0;
  std::int64_t without_processors_ = 0;
  std::int64_t parts_ = 0;
};

}  // namespace

bool LooksLikeSwf(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    if (IsComment(line)) return true;
    const Line split = SplitLine(line);
    return split.count == kColumns && std::ranges::all_of(split.values, [](std::string_view value) {
             return value.find_first_not_of("-.0123456789") == std::string_view::npos;
           });
  }
  return false;
}

model::Workload ReadSwf(std::string_view text, const TraceOptions& options, LineFaults& faults) {
  Reader reader(options, faults);
  for (std::int64_t number = 1; !text.empty() && !faults.IsFull(); ++number) {
    const std::string_view line = TakeLine(text);
    if (IsComment(line)) continue;
    Line split = SplitLine(line);
    split.number = number;
    reader.ReadLine(split);
  }
  return std::move(reader).Finish();
}

}  // namespace muster::format
