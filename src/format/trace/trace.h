// SPDX-License-Identifier: Apache-2.0
// Traces: lists of jobs with their times, in our own format or one of those that public logs come
// in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/workload.h"

namespace muster::format {

class LineFaults;

/// How to read a trace. Every default keeps what the file says.
struct TraceOptions {
  /// Name of a format, or empty: recognise it by its first lines.
  std::string format;
  /// Where a trace gives one GPU count: up to this many GPUs are one replica, more are replicas of
  /// a whole node each, as many as needed (the last one is rounded up). 1 to 64.
  std::int32_t gpus_per_node = 8;
  /// `swf`: 0 makes every processor a replica of one CPU; otherwise a job wider than a node of this
  /// many CPUs takes whole nodes, a narrower one is a single replica.
  std::int32_t cpus_per_node = 0;
  /// Keep only the jobs of these queues (virtual clusters, tenants), or all.
  std::vector<std::string> queues;
  /// Put every job into the default queue, after `queues` has chosen.
  bool one_queue = false;
  /// Keep only jobs submitted at `from` or later and before `until`, both counted from the start of
  /// the trace; `from` becomes the new start.
  base::Duration from;
  std::optional<base::Duration> until;
  /// Keep only the first jobs by submit time.
  std::optional<std::int64_t> limit;
  /// Bring the jobs into submit order; when false, a job out of order is a fault.
  bool sort = true;
  /// `swf`: the requested time also ends a job. Off, since cleaned logs hold jobs that ran longer.
  bool requested_time_limits = false;
  /// `helios`: take the wall-time column as the user's estimate, although its converter filled it
  /// with the run time: every policy that looks at estimates then knows the future.
  bool copied_estimates = false;
};

/// A row of the table of formats. Adding one is a file, a declaration in formats.h and a row.
struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// Whether the beginning of `text` is of this format. At most one format says yes.
  bool (*looks_like)(std::string_view text);
  /// The jobs in file order with notes about odd rows; what is wrong goes to `faults`.
  model::Workload (*read)(std::string_view text, const TraceOptions& options, LineFaults& faults);
};

/// All formats, for help and documentation.
std::span<const TraceFormat> TraceFormats();

/// Reads a trace. `file` is its name for messages. Faults carry `FILE:LINE: COLUMN`; after twenty
/// the reader gives up and says so. Rows that a format's documentation calls odd are no faults:
/// they are handled as described there and counted in `Workload::notes`.
base::Checked<model::Workload> ReadTrace(std::string_view text, std::string_view file,
                                         const TraceOptions& options);

/// The jobs in the format `muster`, with the columns that they use. `ReadTrace` gives the same jobs
/// back if they are in submit order, have names and ask for something.
std::string WriteTrace(const model::Workload& workload);

}  // namespace muster::format
