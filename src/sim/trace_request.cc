// SPDX-License-Identifier: Apache-2.0
#include "sim/trace_request.h"

#include <memory>

#include "base/strings.h"
#include "model/check_request.h"

namespace muster::sim {
namespace {

model::GangRequest MakeRequest(const model::TraceJob& job, const TraceDefaults& defaults) {
  model::GangRequest request;
  model::TaskGroup& group = request.groups.emplace_back();
  group.name = "worker";
  group.replicas = job.replicas;
  group.min_replicas = job.min_replicas > 0 ? job.min_replicas : job.replicas;
  group.shape.gpu = job.gpu;
  // 0 beside a GPU means that the trace says nothing; the policy's default then applies.
  const bool has_gpu = !job.gpu.IsZero();
  if (!has_gpu || !job.cpu.IsZero()) group.shape.cpu = job.cpu;
  if (!has_gpu || !job.memory.IsZero()) group.shape.memory = job.memory;
  if (!job.model.empty()) {
    for (const std::string_view model : base::Split(job.model, '|'))
      group.shape.models.emplace_back(model);
  }
  request.topology.required = job.required;
  request.topology.comm_fraction = job.comm_fraction;
  const bool on_stop = !defaults.stop_grace.IsZero();
  if (on_stop || !defaults.checkpoint_every.IsZero() || !defaults.restart_cost.IsZero()) {
    request.checkpoint = model::CheckpointSpec{.every = defaults.checkpoint_every,
                                               .on_signal = on_stop ? "SIGUSR1" : "",
                                               .grace = defaults.stop_grace,
                                               .restart = defaults.restart_cost};
  }
  request.estimate = job.estimate;
  request.time_limit = job.time_limit;
  return request;
}

}  // namespace

std::size_t RequestCache::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash =
      std::hash<std::string_view>{}(key.model) ^ (std::hash<std::string_view>{}(key.required) << 1);
  for (const std::int64_t part :
       {std::int64_t{key.replicas}, std::int64_t{key.min_replicas}, key.gpu, key.cpu, key.memory,
        key.estimate, key.time_limit, key.comm}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

const RequestCache::Entry& RequestCache::For(const model::TraceJob& job) {
  const Key key{
      job.replicas,       job.min_replicas,     job.gpu.value(),        job.cpu.value(),
      job.memory.value(), job.estimate.value(), job.time_limit.value(), job.comm_fraction.value(),
      job.model,          job.required};
  const auto [at, is_new] = requests_.try_emplace(key);
  if (is_new) {
    at->second.request = std::make_shared<const model::GangRequest>(MakeRequest(job, defaults_));
    const base::Errors faults = model::CheckRequest(*at->second.request);
    if (!faults.empty()) at->second.fault = faults.front().ToString();
  }
  return at->second;
}

}  // namespace muster::sim
