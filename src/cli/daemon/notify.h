// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace muster::cli {

/// Tells systemd how the service is ("READY=1"), by its protocol: one datagram to $NOTIFY_SOCKET.
/// Nobody asked to be told, or cannot be: nothing happens.
void NotifySystemd(std::string_view state);

}  // namespace muster::cli
