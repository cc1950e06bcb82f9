// SPDX-License-Identifier: Apache-2.0
// Counts over the whole cluster that several resources show.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "engine/engine.h"
#include "format/document.h"
#include "model/cluster.h"

namespace muster::api {

/// Models of the devices of all nodes that are there, sorted.
std::set<std::string, std::less<>> ModelsOf(const engine::View& view);

/// How many nodes are in each state, by `model::NodeState`.
using NodeCounts = std::array<std::int64_t, static_cast<std::size_t>(model::NodeState::kLast) + 1>;
NodeCounts CountNodes(const engine::View& view);
format::Value NodeCountsValue(const NodeCounts& counts);

}  // namespace muster::api
