// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace muster::api {

/// Of this program: "0.1.0+74030e0b1".
std::string_view Version();

}  // namespace muster::api
