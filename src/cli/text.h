// SPDX-License-Identifier: Apache-2.0
// Text for people: aligned tables, small pictures, numbers with units.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

/// Rows of cells; the first row is the header. The first column is to the left, the others to the
/// right. Every line begins with `indent` blanks and ends without any.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows, int indent = 0);

/// A table of columns that say by themselves how they stand.
struct Column {
  std::string header;
  bool right = false;  ///< numbers
};
std::string AlignedTable(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows, int indent = 0);

/// Columns of a terminal that the text takes, one for each code point; none for colours.
std::size_t DisplayWidth(std::string_view text);

/// At most `columns` wide, with "…" where something was cut.
std::string Shortened(std::string_view text, std::size_t columns);

/// "▁▄█": one column for each value, as a part of `most`; no picture of what is not a number.
std::string Sparkline(std::span<const double> values, double most);

/// "██████░░░░": `part` of 0..1 in `width` columns.
std::string Bar(double part, int width);

/// At most `columns` values: means of equal runs.
std::vector<double> Resample(std::span<const double> values, std::size_t columns);

/// "12.5 s", "3m20s", "5h08m", "12d06h".
std::string HumanSeconds(double seconds);
/// "188,041".
std::string WithCommas(std::int64_t number);
/// "512 GiB", "1.5 TiB": to one place, as people read it.
std::string HumanBytes(std::int64_t bytes);
/// "81.2 %" of a part of 0..1.
std::string HumanPercent(double part);

/// `text` in bold if `on`.
std::string Bold(std::string_view text, bool on);

enum class Colour { kNone, kRed, kGreen, kYellow, kBlue, kGrey };
/// `text` in a colour if `on`.
std::string Coloured(std::string_view text, Colour colour, bool on);

}  // namespace muster::cli
