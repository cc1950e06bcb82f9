// SPDX-License-Identifier: Apache-2.0
// Reading a trace in a test: either the workload, or its faults as people see them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "format/trace/trace.h"

namespace muster::format {

inline model::Workload MustRead(std::string_view text, const TraceOptions& options = {}) {
  auto workload = ReadTrace(text, "t.csv", options);
  if (workload) return std::move(*workload);
  ADD_FAILURE() << workload.error().front().ToString();
  return {};
}

inline std::vector<std::string> FaultsOf(std::string_view text, const TraceOptions& options = {}) {
  std::vector<std::string> faults;
  const auto workload = ReadTrace(text, "t.csv", options);
  if (workload) return faults;
  for (const base::Error& error : workload.error()) faults.push_back(error.ToString());
  return faults;
}

inline std::vector<std::string> NamesOf(const model::Workload& workload) {
  std::vector<std::string> names;
  for (const model::TraceJob& job : workload.jobs) names.push_back(job.name);
  return names;
}

/// One wrong text and what the reader says about it.
struct FaultCase {
  std::string_view name;
  std::string text;
  std::vector<std::string> faults;
};

inline void ExpectFaults(const std::vector<FaultCase>& cases) {
  for (const FaultCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(FaultsOf(c.text), c.faults);
  }
}

}  // namespace muster::format
