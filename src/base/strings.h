// SPDX-License-Identifier: Apache-2.0
// Text helpers. The only place that includes fmt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace muster::base {

/// `Format("{} of {}", 3, 8)`; the format is checked at compile time.
template <class... Args>
std::string Format(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

/// Parts between `separator`, empty ones included; "" gives one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);

/// Without blanks, tabs and line ends at both sides.
std::string_view Trim(std::string_view text);

std::string Join(std::span<const std::string> parts, std::string_view separator);

/// The candidate that a person most likely meant by `text`, or empty: letter case aside, one edit
/// away (two from 6 letters on), and sharing a letter with it. Ties go to the earlier candidate.
std::string_view Nearest(std::string_view text, std::span<const std::string_view> candidates);

/// `text` in quotes for messages: cut after 40 bytes (never inside a UTF-8 character), control
/// characters shown as `\xNN`.
std::string Quote(std::string_view text);

}  // namespace muster::base
