// SPDX-License-Identifier: Apache-2.0
// Node events as CSV with the columns at, node and event: "2h,node-00017,down".
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/cluster_event.h"

namespace muster::format {

/// The events in the order of the text, or its faults with lines. `file` is its name in messages.
base::Checked<model::ClusterEvents> ReadEvents(std::string_view text, std::string_view file);

}  // namespace muster::format
