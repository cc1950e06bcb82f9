// SPDX-License-Identifier: Apache-2.0
// Words for values of lower rooms, the same in events, audit, errors and API.
#pragma once

#include <string>
#include <string_view>

#include "engine/state/view.h"
#include "model/cluster.h"
#include "model/decision.h"
#include "model/ids.h"

namespace muster::server {

std::string_view Name(engine::JobPhase phase);  ///< "waiting"
std::string_view Name(model::JobEnd end);       ///< "timed-out"
std::string_view Name(model::NodeState state);  ///< "cordoned"
std::string_view Name(model::DeviceState state);
/// "job 12".
std::string JobName(model::JobId job);

}  // namespace muster::server
