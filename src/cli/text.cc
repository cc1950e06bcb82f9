// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "base/utf8.h"

namespace muster::cli {

using base::Format;

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string Shortened(std::string_view text, std::size_t columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (std::size_t width = 1; end < text.size() && width < columns; ++width) {
    end += std::max<std::size_t>(1, base::Utf8Size(text.substr(end)));
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string AlignedTable(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, int indent) {
  std::vector<std::vector<std::string>> all(1);
  for (const Column& column : columns) all.front().push_back(column.header);
  all.insert(all.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(columns.size());
  for (const auto& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string out;
  for (const auto& row : all) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns[i].right ? blanks + row[i] : row[i] + blanks;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows, int indent) {
  std::vector<Column> columns;
  std::size_t most = 0;
  for (const auto& row : rows) most = std::max(most, row.size());
  if (rows.empty()) return "";
  for (std::size_t i = 0; i < most; ++i)
    columns.push_back({i < rows.front().size() ? rows.front()[i] : "", i > 0});
  return AlignedTable(columns, {rows.begin() + 1, rows.end()}, indent);
}

std::string Sparkline(std::span<const double> values, double most) {
  constexpr std::string_view kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (const double value : values) {
    const double part = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0.0;
    out += kLevels[std::min<std::size_t>(7, static_cast<std::size_t>(part * 8))];
  }
  return out;
}

std::string Bar(double part, int width) {
  const auto full = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * width));
  std::string out;
  for (int i = 0; i < width; ++i) out += i < full ? "█" : "░";
  return out;
}

std::vector<double> Resample(std::span<const double> values, std::size_t columns) {
  if (values.size() <= columns) return {values.begin(), values.end()};
  std::vector<double> out;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t from = column * values.size() / columns;
    const std::size_t to = (column + 1) * values.size() / columns;
    double sum = 0;
    for (const double value : values.subspan(from, to - from)) sum += value;
    out.push_back(sum / static_cast<double>(to - from));
  }
  return out;
}

std::string HumanSeconds(double seconds) {
  if (seconds < 59.95) return Format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return Format("{}m{:02}s", whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return Format("{}h{:02}m", minutes / 60, minutes % 60);
  const std::int64_t hours = (whole + 1800) / 3600;
  return Format("{}d{:02}h", hours / 24, hours % 24);
}

std::string WithCommas(std::int64_t number) {
  std::string digits = Format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string HumanBytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  const bool whole = amount >= 100 || amount == std::floor(amount);
  return whole ? Format("{:.0f} {}", amount, kUnits[unit])
               : Format("{:.1f} {}", amount, kUnits[unit]);
}

std::string HumanPercent(double part) { return Format("{:.1f} %", 100 * part); }

std::string Bold(std::string_view text, bool on) {
  return on ? Format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Coloured(std::string_view text, Colour colour, bool on) {
  constexpr std::array<int, 6> kCodes = {0, 31, 32, 33, 34, 90};
  if (!on || colour == Colour::kNone) return std::string(text);
  return Format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(colour)], text);
}

}  // namespace muster::cli
