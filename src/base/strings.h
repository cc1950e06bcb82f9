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

/// The candidate that a person most likely meant by `text` (edit distance at most 2 and at most a third of its
/// length, or a letter-case difference), or empty. Ties go to the earlier candidate.
std::string_view Nearest(std::string_view text, std::span<const std::string_view> candidates);

/// `text` in quotes for messages: cut after 40 bytes, control characters shown as `\xNN`.
std::string Quote(std::string_view text);

}  // namespace muster::base
