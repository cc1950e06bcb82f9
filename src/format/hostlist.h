// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::format {

/// Most names that one host list may stand for: the largest cluster that a file can describe.
inline constexpr std::size_t kMaxHosts = std::size_t{1} << 20;

/// The names that a host list stands for, in its order: `gpu[0001-1250]`, `rack[1-2]node[1-4,7]`,
/// `login,gpu[1-8]`. A range keeps the width of its first number (`[08-10]` is 08, 09, 10); with
/// several brackets the last varies fastest. Blanks around names are dropped. Duplicates are kept:
/// what they mean is the caller's to say.
base::Result<std::vector<std::string>> ExpandHostlist(std::string_view text);

/// The shortest list that stands for the names in this order: neighbours that count up become a
/// range.
std::string FormatHostlist(std::span<const std::string> names);

}  // namespace muster::format
