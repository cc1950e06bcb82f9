// SPDX-License-Identifier: Apache-2.0
#include "engine/queueing/gang_classes.h"

#include "base/archive.h"

namespace muster::engine {

GangShapeId GangShapes::Intern(const model::GangRequestPtr& request) {
  // Only whether an address was seen before matters, and a miss gives the same number the long way.
  const auto address = reinterpret_cast<std::uintptr_t>(request.get());
  Recent& recent = recent_[(address >> 6) % recent_.size()];
  if (recent.request == request) return recent.id;
  base::Writer writer;
  writer(request->groups, request->topology, request->relax);
  std::string key(reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size());
  const auto [at, fresh] =
      ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(ids_.size()));
  recent = {request, GangShapeId{at->second}};
  return recent.id;
}

}  // namespace muster::engine
