// SPDX-License-Identifier: Apache-2.0
// Jobs as a trace or a generator tells them: what was asked, and (known only to the simulator) how
// long it ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/units.h"

namespace muster::model {

enum class TraceEnd : std::uint8_t { kCompleted, kFailed, kCancelled, kLast = kCancelled };

/// One job of a trace. Flat and small: a trace has hundreds of thousands.
struct TraceJob {
  std::string name;  ///< as the trace calls it
  std::string user;
  std::string queue;           ///< empty = default
  std::string priority_class;  ///< empty = default
  base::Instant submit;        ///< from the start of the trace
  base::Duration duration;     ///< run time under the best placement
  base::Duration estimate;     ///< what the user said; 0 = nothing
  base::Duration time_limit;   ///< 0 = none
  std::int32_t replicas = 1;
  std::int32_t min_replicas = 0;  ///< elastic; 0 = rigid
  base::MilliGpu gpu;             ///< of each replica
  base::MilliCpu cpu;             ///< of each replica; 0 with a GPU = the node's share
  base::Bytes memory;             ///< likewise
  std::string model;              ///< wanted GPU model; empty = any
  std::string required;           ///< topology level; empty = any
  base::Permille comm_fraction;   ///< exposed communication under the best placement
  base::Duration wait;            ///< waiting time that the trace recorded, if `has_wait`
  bool has_wait = false;
  TraceEnd end = TraceEnd::kCompleted;
  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Workload {
  std::string source;              ///< file or generator, for the report
  std::vector<TraceJob> jobs;      ///< by submit time; equal times in file order
  std::vector<std::string> notes;  ///< what the reader did to odd rows, for the report
};

}  // namespace muster::model
