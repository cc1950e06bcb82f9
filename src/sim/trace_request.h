// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/job.h"
#include "model/workload.h"

namespace muster::sim {

/// What a trace does not tell, for all of its jobs.
struct TraceDefaults {
  base::Duration checkpoint_every;  ///< 0 = the jobs do not checkpoint by themselves
  base::Duration stop_grace;    ///< time to checkpoint in when told to stop; 0 = they do not then
  base::Duration restart_cost;  ///< from a start after the first to the first new step
};

/// Gang requests of trace jobs, one object for all jobs that ask for the same. Refers to the
/// strings of the jobs that it has seen: the workload must outlive it.
class RequestCache {
 public:
  explicit RequestCache(const TraceDefaults& defaults) : defaults_(defaults) {}

  struct Entry {
    model::GangRequestPtr request;
    std::string fault;  ///< why the engine would not take it, or empty
  };
  const Entry& For(const model::TraceJob& job);

 private:
  struct Key {
    std::int32_t replicas, min_replicas;
    std::int64_t gpu, cpu, memory, estimate, time_limit, comm;
    std::string_view model, required;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  TraceDefaults defaults_;
  std::unordered_map<Key, Entry, KeyHash> requests_;  ///< only looked up, never walked
};

}  // namespace muster::sim
