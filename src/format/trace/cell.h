// SPDX-License-Identifier: Apache-2.0
// Values of a trace with the place they stand at.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "format/trace/line_faults.h"
#include "model/check_request.h"

namespace muster::format {

/// One value of a trace and where it stands.
struct Cell {
  std::string_view text;
  std::string_view column;
  std::int64_t line = 0;
};

inline void AddFault(LineFaults& faults, const Cell& cell, std::string_view message) {
  faults.Add(cell.line, cell.column, message);
}

/// The value, or a fault at `cell` and a zero: callers go on, since nothing is kept of a wrong
/// file.
template <class T>
T TakeOrFault(const base::Result<T>& result, const Cell& cell, LineFaults& faults) {
  if (result) return *result;
  AddFault(faults, cell, result.error().message);
  return T{};
}

enum class TimeUnit : std::int64_t { kMicrosecond = 1, kMillisecond = 1'000, kSecond = 1'000'000 };

/// Longest time in a trace. Far above any real one, and low enough that sums of thousands fit.
inline constexpr base::Duration kLongestTraceTime = base::Hours(24 * 365 * 100);

/// A number of `unit`s, 0 or more.
base::Duration ReadTime(const Cell& cell, TimeUnit unit, LineFaults& faults);

/// Seconds as a bare number, or a duration with units ("1h30m").
base::Duration ReadSecondsOrDuration(const Cell& cell, LineFaults& faults);

/// `2017-10-09 07:01:55` of no stated time zone, from 1970 to 2199, as microseconds since 1970.
base::Instant ReadTimestamp(const Cell& cell, LineFaults& faults);

struct CellRange {
  std::int64_t least = 0;
  std::int64_t most = model::kMaxReplicas;
};

/// A whole number in `range`; `8.0` is one.
std::int64_t ReadCount(const Cell& cell, CellRange range, LineFaults& faults);

}  // namespace muster::format
