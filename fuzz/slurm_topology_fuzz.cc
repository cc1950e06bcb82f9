// SPDX-License-Identifier: Apache-2.0
// Any bytes as a topology.conf: what is read has every node once, with one domain of each level.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "base/check.h"
#include "format/slurm_topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cluster = format::ReadSlurmTopology(text, "fuzz", model::NodeSpec{});
  if (!cluster) {
    MUSTER_CHECK(!cluster.error().empty());
    return 0;
  }
  MUSTER_CHECK(!cluster->levels.empty());
  std::unordered_set<std::string_view> names;
  for (const model::NodeSpec& node : cluster->nodes) {
    MUSTER_CHECK(names.insert(node.name).second);
    MUSTER_CHECK(node.labels.size() == cluster->levels.size());
    MUSTER_CHECK(std::ranges::is_sorted(node.labels));
  }
  return 0;
}
