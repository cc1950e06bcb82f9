// SPDX-License-Identifier: Apache-2.0
// Small random clusters with prior load, and random requests, drawn from rapidcheck so that they
// shrink.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "test/engine/builders.h"

namespace muster::test {

/// A number in [0, bound).
inline int Draw(int bound) { return *rc::gen::inRange(0, bound); }
inline bool DrawOneIn(int n) { return Draw(n) == n - 1; }

struct RandomCase {
  World world;
  std::vector<std::string> levels;  ///< outermost first
  std::string fabric;
};

inline model::ReplicaShape DrawShape() {
  model::ReplicaShape shape;
  shape.gpu = base::MilliGpu::Of(Draw(5) * 1000LL);
  if (DrawOneIn(3) || shape.gpu.IsZero()) shape.cpu = base::MilliCpu::Of(1 + Draw(40));
  if (DrawOneIn(4)) shape.memory = base::Bytes::Of(Draw(40));
  if (DrawOneIn(4)) shape.nics = 1;
  if (DrawOneIn(4)) shape.models = {"H100"};
  if (DrawOneIn(8)) shape.models = {"A100", "H100"};
  if (DrawOneIn(5)) shape.tolerations = {{.key = ""}};
  if (DrawOneIn(6)) shape.mixed_models = true;
  if (DrawOneIn(6)) shape.selector = {{"disk", model::LabelRequirement::Operator::kExists, {}}};
  return shape;
}

/// Up to 6 leaves of up to 6 nodes in 1 to 3 levels; uneven, some of another model, tainted, faulty
/// or cordoned, and some jobs that run already.
inline RandomCase DrawCase(const std::string& strategy = "topology") {
  std::vector<std::string> levels = {"zone", "spine", "leaf"};
  levels.erase(levels.begin(), levels.begin() + Draw(3));
  model::Policy policy = LevelsPolicy(levels);
  policy.placement.strategy = strategy;
  RandomCase out{World(policy), levels, ""};
  if (levels.size() > 1 && DrawOneIn(4)) {
    out.fabric = policy.topology.fabric = levels.front();
    out.world = World(policy);
  }
  World& world = out.world;
  const int leaves = 1 + Draw(6);
  int nodes = 0;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int count = 1 + Draw(6); count > 0; --count) {
      model::NodeSpec spec = GpuNode(base::Format("n{}", nodes++), Draw(7) == 0 ? Draw(5) : 4);
      const bool old = DrawOneIn(4);
      for (model::Device& device : spec.devices) device.model = old ? "A100" : "H100";
      spec.cpu = base::MilliCpu::Of(40);
      spec.memory = base::Bytes::Of(40);
      spec.nics = 4;
      if (DrawOneIn(2)) spec.labels.emplace_back("disk", "nvme");
      spec.labels.emplace_back("leaf", std::to_string(leaf));
      spec.labels.emplace_back("spine", std::to_string(leaf / 2));
      spec.labels.emplace_back("zone", std::to_string(leaf / 4));
      if (DrawOneIn(8)) spec.taints = {{"team", "red"}};
      world.Add({spec});
    }
  }
  for (int loads = Draw(8); loads > 0; --loads) {
    model::GangRequest request = Gang(1 + Draw(3), 1);
    request.groups[0].shape = DrawShape();
    world.Submit(request);
  }
  world.Decide();
  for (int n = 0; n < nodes; ++n) {
    const std::string name = base::Format("n{}", n);
    if (DrawOneIn(9))
      world.Tell(model::HealthReported{name, static_cast<std::uint64_t>(1 + Draw(15))});
    if (DrawOneIn(12)) world.Tell(model::NodeStateChanged{name, model::NodeState::kCordoned});
  }
  world.Decide();
  return out;
}

/// "", or the name of a level of the case ("node" and "any" among them).
inline std::string DrawLevel(const RandomCase& c) {
  std::vector<std::string> names = c.levels;
  names.insert(names.end(), {"node", "any", ""});
  return names[static_cast<std::size_t>(Draw(static_cast<int>(names.size())))];
}

}  // namespace muster::test
