// SPDX-License-Identifier: Apache-2.0
// Short ways to say "8 workers with 8 GPUs each".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/job.h"

namespace muster::model::test {

inline base::MilliGpu Gpus(std::int64_t count) { return base::MilliGpu::Of(count * 1000); }

inline TaskGroup Worker(std::int64_t replicas, std::int64_t gpus) {
  const auto count = static_cast<std::int32_t>(replicas);
  return {.name = "worker", .replicas = count, .min_replicas = count, .shape = {.gpu = Gpus(gpus)}};
}

inline TaskGroup Named(std::string name, TaskGroup group) {
  group.name = std::move(name);
  return group;
}

inline GangRequest Groups(std::vector<TaskGroup> groups) { return {.groups = std::move(groups)}; }

}  // namespace muster::model::test
