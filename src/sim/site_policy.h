// SPDX-License-Identifier: Apache-2.0
// A policy and the cluster that it is to run on: what one leaves out, the other gives.
#pragma once

#include "base/result.h"
#include "model/cluster.h"
#include "model/policy.h"

namespace muster::sim {

/// `policy` as it runs on `cluster`, or every fault that it has there. Levels are the policy's, or,
/// where it names none, the cluster's. So is the fabric; the cluster's holds beside the policy's
/// own levels only if it is one of them. Doing it twice changes nothing.
base::Checked<model::Policy> CompletePolicy(model::Policy policy, const model::Cluster& cluster);

/// The faults that `policy` has on every cluster: a fabric is left out where levels are yet to
/// come.
base::Errors CheckPolicyAlone(model::Policy policy);

}  // namespace muster::sim
