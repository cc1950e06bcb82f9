// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "model/cluster.h"
#include "model/cluster_event.h"

namespace muster::sim {

using model::ClusterEvent;
using model::ClusterEventKind;
using model::ClusterEvents;

/// Every event names a node of the cluster, nodes are added before anything else happens to them,
/// and what was removed does not come back.
base::Errors CheckClusterEvents(const model::Cluster& cluster, const ClusterEvents& events);

}  // namespace muster::sim
