// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace muster::cli {

/// "0.1.0+74030e0b1": what journals name as the build that wrote them.
std::string_view Version();
/// "muster 0.1.0+74030e0b1 (release, gcc 12.2.0)".
std::string VersionLine();

}  // namespace muster::cli
