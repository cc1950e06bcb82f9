// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>

namespace muster::base {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, substitute});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view Nearest(std::string_view text, std::span<const std::string_view> candidates) {
  constexpr std::size_t kMaxLength = 64;  // longer names are no typing slips
  if (text.size() > kMaxLength) return {};
  const std::string wanted = Lower(text);
  const std::size_t most_edits = text.size() < 6 ? 1 : 2;
  std::size_t best_distance = std::min(most_edits + 1, std::max<std::size_t>(text.size(), 1));
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    const std::size_t distance = EditDistance(wanted, Lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Quote(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::size_t shown = std::min(kShown, text.size());
  const auto inside_character = [&] {
    return shown < text.size() && shown > kShown - 3 &&
           (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80;
  };
  while (inside_character()) --shown;
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > shown ? "...\"" : "\"";
  return out;
}

}  // namespace muster::base
