// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/explain/explanation.h"
#include "model/reason.h"

namespace muster::sim {

/// The reason to name first, in summaries and answers alike: "too little room in all" says less
/// than what keeps most nodes from taking a replica.
model::ReasonCode MainReason(const engine::Explanation& why);

}  // namespace muster::sim
