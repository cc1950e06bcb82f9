// SPDX-License-Identifier: Apache-2.0
// Slow, obvious answers to compare the engine's with. Nothing here uses the capacity index, the
// placement or the fit predicate; everything is counted from what jobs hold in a view.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/strings.h"
#include "engine/engine.h"

namespace muster::test {

/// What a node has left, or has in all.
struct Left {
  model::DeviceMask devices = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t nics = 0;
};

inline model::DeviceMask AllOf(const model::NodeSpec& spec) {
  model::DeviceMask all = 0;
  for (std::size_t i = 0; i < spec.devices.size(); ++i) all |= model::DeviceMask{1} << i;
  return all;
}

inline std::size_t GroupOf(const model::GangPlacement& placement, std::size_t rank) {
  std::size_t group = 0;
  for (auto left = static_cast<std::int64_t>(rank); left >= placement.group_sizes[group]; ++group) {
    left -= placement.group_sizes[group];
  }
  return group;
}

/// What is left on each node beside the jobs of the view (`except` not counted). Named devices;
/// whole gangs only.
inline std::vector<Left> LeftNow(const engine::View& view, model::JobId except) {
  std::vector<Left> left;
  for (std::uint32_t n = 0; n < view.node_count(); ++n) {
    const engine::NodeView node = view.Node({n});
    const bool open = !node.gone && node.state == model::NodeState::kReady;
    left.push_back({open ? AllOf(*node.spec) & ~node.faulty & ~node.foreign : 0,
                    open ? node.spec->cpu.value() : -1, open ? node.spec->memory.value() : -1,
                    open ? node.spec->nics : -1});
  }
  for (std::uint32_t j = 0; j < view.job_count(); ++j) {
    const engine::JobView job = view.Job({j});
    if (job.placement == nullptr || model::JobId{j} == except) continue;
    for (std::size_t rank = 0; rank < job.placement->ranks.size(); ++rank) {
      const model::ReplicaPlacement& at = job.placement->ranks[rank];
      Left& node = left[at.node.value];
      node.devices &= ~at.devices;
      node.cpu -= at.cpu.value();
      node.memory -= at.memory.value();
      node.nics -= job.request->groups[GroupOf(*job.placement, rank)].shape.nics;
    }
  }
  return left;
}

/// Everything idle, healthy and ready.
inline std::vector<Left> LeftWhenEmpty(const engine::View& view) {
  std::vector<Left> left;
  for (std::uint32_t n = 0; n < view.node_count(); ++n) {
    const engine::NodeView node = view.Node({n});
    left.push_back(node.gone ? Left{0, -1, -1, -1}
                             : Left{AllOf(*node.spec), node.spec->cpu.value(),
                                    node.spec->memory.value(), node.spec->nics});
  }
  return left;
}

/// What one replica takes of a node: CPU and memory as asked, else the devices' share, floored.
struct Take {
  int devices = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t nics = 0;
};
inline Take TakeOf(const model::ReplicaShape& shape, const model::NodeSpec& spec) {
  Take take{static_cast<int>(shape.gpu.value() / 1000), 0, 0, shape.nics};
  const auto total = static_cast<std::int64_t>(spec.devices.size());
  const auto share = [&](std::int64_t amount) {
    return take.devices == 0 || total == 0 ? 0 : amount * take.devices / total;
  };
  take.cpu = shape.cpu ? shape.cpu->value() : share(spec.cpu.value());
  take.memory = shape.memory ? shape.memory->value() : share(spec.memory.value());
  return take;
}

/// May replicas of the shape, all of `model` ("" = any), run on the node at all?
inline bool Allowed(const model::ReplicaShape& shape, const model::NodeSpec& spec) {
  for (const model::Taint& taint : spec.taints) {
    bool tolerated = false;
    for (const model::Toleration& t : shape.tolerations) {
      tolerated |= t.key.empty() || (t.key == taint.key && (t.any_value || t.value == taint.value));
    }
    if (!tolerated) return false;
  }
  for (const model::LabelRequirement& rule : shape.selector) {
    bool present = false;
    bool among = false;
    for (const auto& [key, value] : spec.labels) {
      if (key != rule.key) continue;
      present = true;
      among = std::ranges::count(rule.values, value) > 0;
    }
    using enum model::LabelRequirement::Operator;
    if (rule.op == kIn && !among) return false;
    if (rule.op == kNotIn && among) return false;
    if (rule.op == kExists && !present) return false;
  }
  return true;
}

/// Devices of the node that a replica may use.
inline model::DeviceMask Usable(const model::ReplicaShape& shape, const model::NodeSpec& spec,
                                const std::string& model) {
  model::DeviceMask mask = 0;
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const model::Device& device = spec.devices[i];
    const bool wanted = shape.models.empty() || std::ranges::count(shape.models, device.model) > 0;
    if (wanted && (model.empty() || device.model == model) &&
        device.memory >= shape.device_memory) {
      mask |= model::DeviceMask{1} << i;
    }
  }
  return mask;
}

/// Device models that a gang of this shape is tried with, in order; "" where it does not matter.
inline std::vector<std::string> ModelsTried(const engine::View& view,
                                            const model::ReplicaShape& shape) {
  if (shape.mixed_models || shape.gpu.IsZero()) return {""};
  if (!shape.models.empty()) return shape.models;
  std::vector<std::string> models;
  for (std::uint32_t n = 0; n < view.node_count(); ++n) {
    for (const model::Device& device : view.Node({n}).spec->devices) {
      if (std::ranges::count(models, device.model) == 0) models.push_back(device.model);
    }
  }
  return models.empty() ? std::vector<std::string>{""} : models;
}

/// Replicas that fit the node, by adding one after the other.
inline std::int64_t RoomOn(const engine::View& view, model::NodeId id, const Left& left,
                           const model::ReplicaShape& shape, const std::string& model) {
  const engine::NodeView node = view.Node(id);
  if (node.gone || !Allowed(shape, *node.spec)) return 0;
  const Take take = TakeOf(shape, *node.spec);
  const int devices = std::popcount(left.devices & Usable(shape, *node.spec, model));
  std::int64_t room = 0;
  constexpr std::int64_t kPlenty = 64;  // more than any test asks of one node
  while (room < kPlenty && (room + 1) * take.devices <= devices &&
         ((room + 1) * take.cpu <= left.cpu || (take.cpu == 0 && left.cpu >= 0)) &&
         ((room + 1) * take.memory <= left.memory || (take.memory == 0 && left.memory >= 0)) &&
         ((room + 1) * take.nics <= left.nics || (take.nics == 0 && left.nics >= 0))) {
    ++room;
  }
  return room;
}

inline int LevelNamed(const engine::View& view, const std::string& name) {
  for (int level = 0; level < view.level_count(); ++level) {
    if (view.LevelName(level) == name) return level;
  }
  return view.level_count() - 1;
}

/// The first segment of a group's ranks that is not inside one domain, or empty.
inline std::string CheckSegments(const engine::View& view, const model::GangRequest& request,
                                 std::span<const model::ReplicaPlacement> ranks) {
  for (const model::Segment& segment : request.topology.segments) {
    const int level = LevelNamed(view, segment.level);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::size_t lead = i - i % static_cast<std::size_t>(segment.size);
      if (view.DomainOf(ranks[i].node, level) != view.DomainOf(ranks[lead].node, level)) {
        return base::Format("segment of {} torn", segment.size);
      }
    }
  }
  return {};
}

/// The level that a placement breaks, or says wrongly, or empty.
inline std::string CheckLevels(const engine::View& view, const model::GangPlacement& placement,
                               const std::string& required, const std::string& fabric) {
  const auto domains_at = [&](int level) {
    std::set<std::uint32_t> domains;
    for (const model::ReplicaPlacement& at : placement.ranks)
      domains.insert(view.DomainOf(at.node, level));
    return domains.size();
  };
  if (!required.empty() && domains_at(LevelNamed(view, required)) > 1)
    return "required level broken";
  if (!fabric.empty() && domains_at(LevelNamed(view, fabric)) > 1) return "fabric broken";
  int level = 0;
  while (domains_at(level) > 1) ++level;
  if (level != placement.level) return base::Format("says level {}, is {}", placement.level, level);
  return {};
}

/// The first rule of the request that a placement breaks, or empty. `left` is what was there before
/// it.
inline std::string CheckPlacement(const engine::View& view, const model::GangRequest& request,
                                  const model::GangPlacement& placement, std::vector<Left> left,
                                  const std::string& required, const std::string& fabric) {
  using base::Format;
  if (placement.group_sizes.size() != request.groups.size()) return "other groups";
  std::size_t rank = 0;
  for (std::size_t g = 0; g < request.groups.size(); ++g) {
    const model::TaskGroup& group = request.groups[g];
    const std::int32_t size = placement.group_sizes[g];
    if (size != group.replicas && (size < group.min_replicas || size > group.replicas ||
                                   (size - group.min_replicas) % group.step != 0)) {
      return Format("group {} has {} replicas", g, size);
    }
    std::set<std::string> models;
    std::map<std::uint32_t, int> in_anti_domain;
    std::optional<std::uint32_t> before;
    for (std::int32_t i = 0; i < size; ++i, ++rank) {
      if (rank >= placement.ranks.size()) return "too few ranks";
      const model::ReplicaPlacement& at = placement.ranks[rank];
      const engine::NodeView node = view.Node(at.node);
      if (!Allowed(group.shape, *node.spec)) return Format("rank {} on a forbidden node", rank);
      const Take take = TakeOf(group.shape, *node.spec);
      if (std::popcount(at.devices) != take.devices)
        return Format("rank {} has other devices", rank);
      if ((at.devices & ~(left[at.node.value].devices & Usable(group.shape, *node.spec, ""))) !=
          0) {
        return Format("rank {} took a device that is not free", rank);
      }
      if (at.cpu.value() != take.cpu || at.memory.value() != take.memory) return "other amounts";
      Left& rest = left[at.node.value];
      rest.devices &= ~at.devices;
      rest.cpu -= take.cpu;
      rest.memory -= take.memory;
      rest.nics -= take.nics;
      if (rest.cpu < 0 || rest.memory < 0 || rest.nics < 0)
        return Format("rank {} overfills", rank);
      for (std::size_t d = 0; d < node.spec->devices.size(); ++d) {
        if ((at.devices >> d & 1) != 0) models.insert(node.spec->devices[d].model);
      }
      const std::uint32_t position = view.DomainOf(at.node, 0);
      if (before && position < *before) return Format("rank {} not in topology order", rank);
      before = position;
      if (!request.topology.anti_affinity.empty() &&
          ++in_anti_domain[view.DomainOf(at.node,
                                         LevelNamed(view, request.topology.anti_affinity))] > 1) {
        return Format("rank {} not apart", rank);
      }
    }
    if (models.size() > 1 && !group.shape.mixed_models) return Format("group {} mixes models", g);
    const std::span ranks =
        std::span(placement.ranks).first(rank).last(static_cast<std::size_t>(size));
    if (std::string torn = CheckSegments(view, request, ranks); !torn.empty()) return torn;
  }
  if (rank != placement.ranks.size()) return "too many ranks";
  return CheckLevels(view, placement, required, fabric);
}

}  // namespace muster::test
