// SPDX-License-Identifier: Apache-2.0
#include "server/names.h"

#include <array>

#include "base/strings.h"

namespace muster::server {

std::string_view Name(engine::JobPhase phase) {
  constexpr std::array<std::string_view, 7> kNames = {"unknown", "held",     "waiting", "starting",
                                                      "running", "stopping", "ended"};
  static_assert(kNames.size() == static_cast<std::size_t>(engine::JobPhase::kLast) + 1);
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view Name(model::JobEnd end) {
  constexpr std::array<std::string_view, 4> kNames = {"completed", "failed", "cancelled",
                                                      "timed-out"};
  static_assert(kNames.size() == static_cast<std::size_t>(model::JobEnd::kLast) + 1);
  return kNames[static_cast<std::size_t>(end)];
}

std::string_view Name(model::NodeState state) {
  constexpr std::array<std::string_view, 6> kNames = {"ready",       "cordoned", "draining",
                                                      "maintenance", "down",     "probation"};
  static_assert(kNames.size() == static_cast<std::size_t>(model::NodeState::kLast) + 1);
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Name(model::DeviceState state) {
  constexpr std::array<std::string_view, 7> kNames = {"idle",   "allocated", "reserved", "draining",
                                                      "faulty", "foreign",   "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(model::kDeviceStates));
  return kNames[static_cast<std::size_t>(state)];
}

std::string JobName(model::JobId job) { return base::Format("job {}", job.value); }

}  // namespace muster::server
