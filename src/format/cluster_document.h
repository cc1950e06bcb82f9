// SPDX-License-Identifier: Apache-2.0
// Cluster documents: `apiVersion: muster/v1`, `kind: Cluster`. Nodes are written as groups of equal
// ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "format/document.h"
#include "model/cluster.h"

namespace muster::format {

/// The cluster in a YAML or JSON text, or every fault of it with line and column.
base::Checked<model::Cluster> ParseCluster(std::string_view text, std::string_view file);

/// The cluster as a document, equal neighbours folded into groups. Parses back to the same, but
/// that device groups are numbered anew in the order of the devices.
Value EncodeCluster(const model::Cluster& cluster);

/// What is wrong with the topology levels of a cluster, wherever they come from: too many, a name
/// that is none, is reserved or comes twice, a label that two of them share. Places are
/// "levels[1]".
base::Errors CheckLevels(std::span<const model::Level> levels);

/// Sums over the nodes of a cluster that is being read. Bounds on them keep totals in 64 bits, and
/// a short text from asking for all memory.
class ClusterTotals {
 public:
  /// Counts `count` more nodes, all like `node`. The bound that is exceeded, as a message, or
  /// empty.
  std::string Add(const model::NodeSpec& node, std::size_t count);

 private:
  std::size_t nodes_ = 0;
  std::size_t devices_ = 0;
  std::size_t entries_ = 0;
  std::size_t text_bytes_ = 0;
  base::Bytes memory_;
};

/// JSON Schema and Markdown reference of the document.
Value ClusterSchema();
std::string ClusterReference();

}  // namespace muster::format
