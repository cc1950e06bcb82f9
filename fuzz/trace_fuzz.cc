// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: the first chooses format and options, the rest is the file. What is read
// must be in submit order, and come back the same from our own format.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/trace/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  const auto formats = format::TraceFormats();
  format::TraceOptions options;
  const std::size_t choice = data[0] % (formats.size() + 1);
  if (choice < formats.size()) options.format = formats[choice].name;
  options.cpus_per_node = data[0] >= 128 ? 16 : 0;
  options.copied_estimates = data[0] >= 64;
  options.requested_time_limits = data[0] >= 64;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto workload = format::ReadTrace(text, "fuzz", options);
  if (!workload) {
    MUSTER_CHECK(!workload.error().empty());
    return 0;
  }
  for (std::size_t i = 0; i < workload->jobs.size(); ++i) {
    const model::TraceJob& job = workload->jobs[i];
    MUSTER_CHECK(job.replicas >= 1);
    MUSTER_CHECK(!job.gpu.IsZero() || !job.cpu.IsZero() || !job.memory.IsZero());
    MUSTER_CHECK(i == 0 || workload->jobs[i - 1].submit <= job.submit);
    if (job.name.empty()) return 0;  // the writer leaves names to the reader then
  }
  const auto again = format::ReadTrace(format::WriteTrace(*workload), "again", {});
  MUSTER_CHECK(again.has_value());
  MUSTER_CHECK(again->jobs == workload->jobs);
  return 0;
}
