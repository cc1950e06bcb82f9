// SPDX-License-Identifier: Apache-2.0
// Cluster documents: `apiVersion: muster/v1`, `kind: Cluster`. Nodes are written as groups of equal
// ones.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "format/document.h"
#include "model/cluster.h"

namespace muster::format {

/// The cluster in a YAML or JSON text, or every fault of it with line and column.
base::Checked<model::Cluster> ParseCluster(std::string_view text, std::string_view file);

/// The cluster as a document, equal neighbours folded into groups. Parses back to the same, but
/// that device groups are numbered anew in the order of the devices.
Value EncodeCluster(const model::Cluster& cluster);

/// JSON Schema and Markdown reference of the document.
Value ClusterSchema();
std::string ClusterReference();

}  // namespace muster::format
