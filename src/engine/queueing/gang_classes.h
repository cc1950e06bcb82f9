// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/id.h"
#include "model/job.h"

namespace muster::engine {

/// What a job asks of placement, as a number: equal for jobs that can stand in for each other.
using GangShapeId = base::Id<struct GangShapeTag>;

/// Numbers requests by what placement looks at (groups, topology, relax steps), not by estimates or
/// restart rules.
class GangShapes {
 public:
  GangShapeId Intern(const model::GangRequestPtr& request);

 private:
  struct Recent {
    model::GangRequestPtr request;  ///< held, so that its address is not given to another request
    GangShapeId id;
  };
  std::unordered_map<std::string, std::uint32_t> ids_;  // look-ups only, never iterated
  std::array<Recent, 256> recent_;  // by address: saves encoding a request that many jobs share
};

}  // namespace muster::engine
