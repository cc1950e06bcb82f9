// SPDX-License-Identifier: Apache-2.0
#include "model/check_request.h"

#include <algorithm>
#include <string>

#include "base/strings.h"

namespace muster::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Errors;
using base::Format;

void Add(Errors& errors, std::string where, std::string message) {
  errors.push_back(Error{ErrorCode::kInvalid, std::move(message), std::move(where)});
}

void CheckShape(const ReplicaShape& shape, const std::string& path, Errors& errors) {
  const std::int64_t gpu = shape.gpu.value();
  if (gpu < 0)
    Add(errors, path + ".resources.gpu", "is negative; a replica asks for 0 or more GPUs");
  if (gpu > 1000 && gpu % 1000 != 0) {
    Add(errors, path + ".resources.gpu",
        Format("{} is neither whole nor below 1: a replica gets whole GPUs or a part of one",
               base::FormatGpu(shape.gpu)));
  }
  if (gpu > 0 && gpu < 1000) {
    // The types hold fractions; accounting them inside a device comes with a later version.
    Add(errors, path + ".resources.gpu",
        Format(
            "{} of a GPU: parts of a GPU are not supported by this version yet, ask for whole ones",
            base::FormatGpu(shape.gpu)));
  }
  if (gpu > std::int64_t{1000} * kMaxDevicesPerNode) {
    Add(errors, path + ".resources.gpu",
        Format("{} GPUs for one replica; a node has at most {}, use more replicas",
               base::FormatGpu(shape.gpu), kMaxDevicesPerNode));
  }
  if (shape.models.size() > kMaxModels) {
    Add(errors, path + ".gpu.model",
        Format("{} GPU models; at most {}", shape.models.size(), kMaxModels));
  }
  if (shape.cpu && *shape.cpu < base::MilliCpu{})
    Add(errors, path + ".resources.cpu", "is negative");
  if (shape.memory && *shape.memory < base::Bytes{}) {
    Add(errors, path + ".resources.memory", "is negative");
  }
  if (shape.nics < 0) Add(errors, path + ".resources.rdma", "is negative");
  const auto nothing = [](const auto& amount) { return !amount || amount->IsZero(); };
  if (gpu == 0 && nothing(shape.cpu) && nothing(shape.memory) && shape.nics == 0 &&
      shape.extended.empty()) {
    Add(errors, path + ".resources", "asks for nothing; give at least gpu, cpu or memory");
  }
  for (const NamedAmount& extra : shape.extended) {
    if (extra.amount <= 0) Add(errors, path + ".resources." + extra.name, "must be 1 or more");
  }
}

/// Sizes that an elastic group may have are min + k x step and replicas; each must come in whole
/// segments.
void CheckSegments(const TaskGroup& group, const TopologyRequest& topology, const std::string& path,
                   Errors& errors) {
  for (const Segment& segment : topology.segments) {
    if (segment.size <= 0) continue;  // reported once, below
    const bool rigid = group.min_replicas == group.replicas;
    if (group.replicas < segment.size && rigid) continue;  // one short run
    if (group.replicas % segment.size != 0) {
      Add(errors, path + ".replicas",
          Format("{} is not a multiple of the segment size {}", group.replicas, segment.size));
    } else if (!rigid &&
               (group.min_replicas % segment.size != 0 || group.step % segment.size != 0)) {
      Add(errors, path + ".step",
          Format("minReplicas {} and step {} must be multiples of the segment size {}",
                 group.min_replicas, group.step, segment.size));
    }
  }
}

void CheckGroup(const TaskGroup& group, const std::string& path, Errors& errors) {
  if (group.replicas < 1)
    Add(errors, path + ".replicas", Format("{} replicas; at least 1", group.replicas));
  if (group.replicas > kMaxReplicas) {
    Add(errors, path + ".replicas",
        Format("{} replicas; at most {}", group.replicas, kMaxReplicas));
  }
  if (group.min_replicas < 1 || group.min_replicas > group.replicas) {
    Add(errors, path + ".minReplicas",
        Format("{} is not between 1 and replicas = {}", group.min_replicas, group.replicas));
  }
  if (group.step < 1) Add(errors, path + ".step", Format("{} must be 1 or more", group.step));
  CheckShape(group.shape, path, errors);
}

void CheckTopology(const TopologyRequest& topology, Errors& errors) {
  const Segment* inner = nullptr;
  for (const Segment& segment : topology.segments) {
    if (segment.size < 1) {
      Add(errors, "spec.topology.segment.size", Format("{} must be 1 or more", segment.size));
      return;
    }
    if (inner != nullptr && segment.size % inner->size != 0) {
      Add(errors, "spec.topology.segment.size",
          Format("{} is not a multiple of the inner segment's {}; segments nest", segment.size,
                 inner->size));
    }
    inner = &segment;
  }
  if (topology.spread && topology.spread->max_skew < 1) {
    Add(errors, "spec.topology.spread.maxSkew",
        Format("{} must be 1 or more", topology.spread->max_skew));
  }
  if (topology.spread && !topology.segments.empty()) {
    Add(errors, "spec.topology.spread",
        "cannot be combined with segment: one spreads, the other keeps together");
  }
}

}  // namespace

Errors CheckRequest(const GangRequest& request) {
  Errors errors;
  if (request.groups.size() > kMaxGroups) {
    Add(errors, "spec.tasks",
        Format("{} task groups; at most {}", request.groups.size(), kMaxGroups));
    return errors;
  }
  if (request.groups.empty()) Add(errors, "spec.tasks", "a job needs at least one task group");
  std::int64_t total = 0;
  for (std::size_t i = 0; i < request.groups.size(); ++i) {
    const TaskGroup& group = request.groups[i];
    const std::string path = Format("spec.tasks[{}]", i);
    CheckGroup(group, path, errors);
    CheckSegments(group, request.topology, path, errors);
    total += group.replicas;
    for (std::size_t j = 0; j < i; ++j) {
      if (request.groups[j].name == group.name) {
        Add(errors, path + ".name", Format("{} names two task groups", base::Quote(group.name)));
      }
    }
  }
  if (total > kMaxReplicas) {
    Add(errors, "spec.tasks", Format("{} replicas in all; at most {}", total, kMaxReplicas));
  }
  CheckTopology(request.topology, errors);
  for (std::size_t i = 1; i < request.relax.size(); ++i) {
    if (request.relax[i].after <= request.relax[i - 1].after) {
      Add(errors, Format("spec.relax[{}].after", i), "steps must come at rising times");
    }
  }
  if (request.completion.kind == Completion::Kind::kGroup &&
      std::ranges::find(request.groups, request.completion.group, &TaskGroup::name) ==
          request.groups.end()) {
    Add(errors, "spec.completion",
        Format("{} is no task group of this job", base::Quote(request.completion.group)));
  }
  if (request.restart.limit < 0) Add(errors, "spec.restart.limit", "is negative");
  return errors;
}

}  // namespace muster::model
