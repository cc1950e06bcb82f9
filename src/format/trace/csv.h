// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them, plus comment lines. Views into the text, no copies
// but of values with doubled quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace/cell.h"

namespace muster::format {

/// Records of a CSV text, one after the other. Blank lines and lines that start with `#` are no
/// records. Line ends are LF or CRLF; values without quotes lose blanks at both sides.
class CsvRecords {
 public:
  /// `text` may begin with a byte order mark.
  CsvRecords(std::string_view text, LineFaults& faults);

  /// Goes to the next record; false at the end, or after a fault that hides where records begin.
  bool Next();
  /// Values of the record; they hold until the next call of Next.
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// Line of its first character, from 1.
  std::int64_t line() const { return line_; }

 private:
  void SkipEmptyLines();
  void SkipLine();
  bool ReadQuoted();
  bool ReadPlain();

  std::string_view rest_;
  LineFaults& faults_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  // a deque, since `fields_` has views of the strings
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
};

/// Most rows of a table. Each becomes some hundred bytes: a text cannot ask for all memory.
inline constexpr std::size_t kMostRows = 20'000'000;

struct CsvColumn {
  std::string_view name;
  bool required = false;
};

enum class OtherColumns : std::uint8_t { kIgnored, kFault };

/// Rows of a CSV text with a header, by the reader's own numbering of the columns it knows.
class CsvTable {
 public:
  /// Reads the header. A required column that is missing, and a known one that comes twice, are
  /// faults.
  CsvTable(std::string_view text, std::span<const CsvColumn> columns, OtherColumns others,
           LineFaults& faults);

  /// Goes to the next row with as many values as the header has, each of them text; others are
  /// faults. False at the end and as soon as there are too many faults or rows.
  bool Next();
  /// A value of the row; empty text where the file has no such column.
  Cell operator[](std::size_t column) const;
  bool Has(std::size_t column) const { return places_[column] != kAbsent; }
  std::int64_t line() const { return records_.line(); }

 private:
  static constexpr std::size_t kAbsent = SIZE_MAX;

  bool AllText() const;
  void PlaceColumn(std::size_t place, std::string_view name, OtherColumns others);

  CsvRecords records_;
  std::span<const CsvColumn> columns_;
  LineFaults& faults_;
  std::vector<std::size_t> places_;  // of our columns in a record
  std::size_t width_ = 0;
  std::size_t rows_ = 0;
  bool usable_ = false;
};

/// What keeps `text` from being one, as the end of a message; empty if nothing does.
std::string_view WhyNoText(std::string_view text);

/// `raw` as it is written into a record: in quotes where it needs them, and with U+FFFD for
/// control characters other than blanks, and for what is no UTF-8.
std::string CsvValue(std::string_view raw);

/// Whether the first record of `text` has all these values.
bool HeaderHas(std::string_view text, std::initializer_list<std::string_view> names);

}  // namespace muster::format
