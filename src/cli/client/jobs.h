// SPDX-License-Identifier: Apache-2.0
// What several verbs ask about jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/client/connection.h"
#include "cli/verbs.h"
#include "format/document.h"

namespace muster::cli {

struct JobFilter {
  std::string user;
  std::string queue;
  std::string state;  ///< as the API takes it; empty: all that have not ended
  std::string name;
  std::string label;
  std::size_t ended = 0;  ///< so many of those that ended last, too
  std::size_t limit = SIZE_MAX;
};

/// A JobList in the order in which people read it: what waits, as far as known in the order in
/// which it is tried; what runs; what has ended.
base::Checked<format::Value> ListJobs(Connection& server, const JobFilter& filter);

/// Adds the reason to the first few waiting jobs that have none: it costs the server a look at the
/// cluster each.
void AddReasons(Connection& server, format::Value& list);

bool HasEnded(std::string_view state);

/// Waits until the job has ended, also over a restart of the server; its last document.
base::Checked<format::Value> WaitForEnd(Connection& server, std::string_view job);

/// Says how a job ended, on `err`; the code that stands for it.
ExitCode ReportEnd(const format::Value& job, Streams& streams);

/// A number of a job that a person gave; a fault says which text is none.
base::Result<std::string> ParseJobNumber(const std::string& text);

/// Whose output to read.
struct LogChoice {
  std::string job;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> last_lines;
};
/// Copies what a rank has written so far to `out`.
base::Errors CopyLog(Connection& server, const LogChoice& choice, Streams& streams);
/// Copies it as it is written until the attempt has ended.
base::Errors FollowLog(Connection& server, const LogChoice& choice, Streams& streams);

}  // namespace muster::cli
