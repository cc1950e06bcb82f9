// SPDX-License-Identifier: Apache-2.0
#include "sim/site_policy.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace muster::sim {
namespace {

/// Of several queues of one name, the last one is at fault.
base::Errors Check(const model::Policy& policy) {
  base::Errors errors = engine::CheckPolicy(policy);
  base::Errors out;
  for (auto error = errors.begin(); error != errors.end(); ++error) {
    const bool again = error->where.ends_with("].name") &&
                       std::any_of(error + 1, errors.end(), [&](const base::Error& later) {
                         return later.where.ends_with("].name") && later.message == error->message;
                       });
    if (!again) out.push_back(std::move(*error));
  }
  return out;
}

}  // namespace

base::Checked<model::Policy> CompletePolicy(model::Policy policy, const model::Cluster& cluster) {
  policy = model::WithDefaults(std::move(policy));
  model::TopologyPolicy& topology = policy.topology;
  if (topology.levels.empty()) topology.levels = cluster.levels;
  const bool has_level = std::ranges::find(topology.levels, cluster.fabric, &model::Level::name) !=
                         topology.levels.end();
  if (topology.fabric.empty() && has_level) topology.fabric = cluster.fabric;
  if (base::Errors errors = Check(policy); !errors.empty()) return errors;
  return policy;
}

base::Errors CheckPolicyAlone(model::Policy policy) {
  policy = model::WithDefaults(std::move(policy));
  if (policy.topology.levels.empty()) policy.topology.fabric.clear();
  return Check(policy);
}

}  // namespace muster::sim
