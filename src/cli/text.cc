// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace muster::cli {

using base::Format;

std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows, int indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + blanks : blanks + row[i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
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

std::string HumanPercent(double part) { return Format("{:.1f} %", 100 * part); }

std::string Bold(std::string_view text, bool on) {
  return on ? Format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

}  // namespace muster::cli
