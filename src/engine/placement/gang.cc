// SPDX-License-Identifier: Apache-2.0
#include "engine/placement/gang.h"

#include <algorithm>

namespace muster::engine {
namespace {

using model::ReasonCode;

/// Device models of the cluster in order of first appearance.
std::vector<std::string> ModelsOf(const Tables& tables) {
  std::vector<std::string> models;
  for (std::size_t i = 0; i < tables.hardware.size(); ++i) {
    for (const model::Device& device : tables.hardware[i].devices) {
      if (std::ranges::find(models, device.model) == models.end()) models.push_back(device.model);
    }
  }
  return models;
}

/// Shapes that each name a single device model, in the order in which they are to be tried.
std::vector<model::ReplicaShape> SingleModelShapes(const model::ReplicaShape& shape,
                                                   const Tables& tables) {
  if (shape.mixed_models || shape.gpu.IsZero()) return {shape};
  const std::vector<std::string> models = shape.models.empty() ? ModelsOf(tables) : shape.models;
  if (models.empty()) return {shape};
  model::ReplicaShape single = shape;
  single.models.clear();
  std::vector<model::ReplicaShape> shapes;
  for (const std::string& name : models) {
    shapes.push_back(single);
    shapes.back().models = {name};
  }
  return shapes;
}

/// Level indices of a request's names; notes the first that does not exist.
class LevelNames {
 public:
  LevelNames(const Topology& topology, std::optional<model::Reason>& fault)
      : topology_(topology), fault_(fault) {}

  LevelIndex Find(const std::string& name) {
    const LevelIndex level = topology_.FindLevel(name);
    if (level >= 0) return level;
    fault_ = model::Reason{ReasonCode::kUnknownLevel, 0};
    return topology_.top();
  }

 private:
  const Topology& topology_;
  std::optional<model::Reason>& fault_;
};

/// A group smaller than a segment is one short run: all of it in one domain.
LevelRules RulesOf(const model::TopologyRequest& topology, std::int32_t replicas,
                   LevelNames& names) {
  LevelRules rules;
  const auto at = [&](const std::string& name) -> LevelRule& {
    const auto level = static_cast<std::size_t>(names.Find(name));
    if (rules.size() <= level) rules.resize(level + 1);
    return rules[level];
  };
  for (const model::Segment& segment : topology.segments)
    at(segment.level).multiple = std::min(segment.size, replicas);
  if (!topology.anti_affinity.empty()) {
    // Of the levels below too: a domain that is not the whole of the named one must not take two
    // either.
    at(topology.anti_affinity);
    const auto level = static_cast<std::size_t>(names.Find(topology.anti_affinity));
    for (std::size_t below = 0; below <= level; ++below) rules[below].limit = 1;
  }
  return rules;
}

}  // namespace

LevelIndex GangPlan::RequiredAfter(base::Duration waited) const {
  LevelIndex level = required;
  for (const RelaxPlan& step : relax) {
    if (waited >= step.after) level = std::max(level, step.required);  // weaker, never stricter
  }
  return std::min(level, fabric);
}

GangPlan PlanGang(const model::GangRequest& request, const State& state, CapacityIndex& index) {
  const Tables& tables = state.tables();
  const Topology& topology = *tables.topology;
  GangPlan plan;
  LevelNames names(topology, plan.fault);
  plan.required = names.Find(request.topology.required);
  plan.fabric = names.Find(tables.policy->topology.fabric);
  for (const model::RelaxStep& step : request.relax) {
    plan.relax.push_back({step.after, names.Find(step.topology)});
  }
  if (request.topology.spread) {
    plan.spread_level = names.Find(request.topology.spread->level);
    plan.max_skew = request.topology.spread->max_skew;
  }
  if (!request.topology.preferred.empty()) names.Find(request.topology.preferred);
  for (const model::TaskGroup& group : request.groups) {
    const LevelRules rules = RulesOf(request.topology, group.replicas, names);
    GroupPlan part{
        .replicas = group.replicas, .min_replicas = group.min_replicas, .step = group.step};
    for (const model::ReplicaShape& shape : SingleModelShapes(group.shape, tables)) {
      part.variants.push_back(index.Intern(shape, tables.policy->defaults.resources, rules));
    }
    plan.groups.push_back(std::move(part));
  }
  return plan;
}

}  // namespace muster::engine
