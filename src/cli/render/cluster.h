// SPDX-License-Identifier: Apache-2.0
// Nodes, devices and the server for people. The documents are those of `api/resources/shapes.h`.
#pragma once

#include <string>

#include "cli/client/present.h"
#include "format/document.h"

namespace muster::cli {

/// NodeList as a table with a bar of used devices each.
std::string RenderNodes(const format::Value& list, const Look& look);
/// NodeDetail.
std::string RenderNode(const format::Value& node, const Look& look);
/// Topology as a tree; with a NodeList, bars of nodes too.
std::string RenderTopology(const format::Value& topology, const format::Value& nodes,
                           const Look& look);
/// Inventory: devices by state and model, and those of domains where it has some.
std::string RenderInventory(const format::Value& inventory, const Look& look);
/// Status, in a few lines.
std::string RenderStatus(const format::Value& status, const Look& look);
/// "24 of 32 GPUs in use, 6 idle, 2 faulty": DeviceCounts in words.
std::string DevicesText(const format::Value& devices);

}  // namespace muster::cli
