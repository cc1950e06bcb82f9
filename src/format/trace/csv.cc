// SPDX-License-Identifier: Apache-2.0
#include "format/trace/csv.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"

namespace muster::format {
namespace {

using base::Format;
using base::Quote;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Whether a value may hold the control character at the start of `text`.
bool IsBlank(std::string_view text) {
  return text.starts_with('\t') || text.starts_with('\n') || text.starts_with('\r');
}

}  // namespace

std::string_view WhyNoText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = base::Utf8Size(text);
    if (size == 0) return "is not UTF-8 text";
    if (base::ControlSize(text) != 0 && !IsBlank(text)) return "has a control character";
    text.remove_prefix(size);
  }
  return {};
}

CsvRecords::CsvRecords(std::string_view text, LineFaults& faults) : rest_(text), faults_(faults) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some spreadsheets put it first
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

void CsvRecords::SkipLine() {
  const std::size_t end = rest_.find('\n');
  rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
  ++next_line_;
}

void CsvRecords::SkipEmptyLines() {
  while (!rest_.empty()) {
    const std::size_t first = rest_.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && rest_[first] != '\n' && rest_[first] != '#') return;
    SkipLine();
  }
}

bool CsvRecords::ReadPlain() {
  const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
  fields_.push_back(base::Trim(rest_.substr(0, end)));
  rest_.remove_prefix(end);
  return true;
}

bool CsvRecords::ReadQuoted() {
  const std::int64_t opened = next_line_;
  rest_.remove_prefix(1);
  std::size_t end = rest_.find('"');
  bool doubled = false;
  while (end != std::string_view::npos && rest_.substr(end + 1).starts_with('"')) {
    doubled = true;
    end = rest_.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    faults_.Add(opened, "",
                "a value opens with a quote that is never closed; add the second quote");
    return false;
  }
  std::string_view value = rest_.substr(0, end);
  next_line_ += std::ranges::count(value, '\n');
  if (doubled) {
    std::string& plain = unescaped_.emplace_back();
    while (true) {
      const std::size_t quote = value.find('"');
      plain.append(value.substr(0, quote));
      if (quote == std::string_view::npos) break;
      plain += '"';
      value.remove_prefix(quote + 2);
    }
    value = plain;
  }
  fields_.push_back(value);
  rest_.remove_prefix(end + 1);
  const std::size_t next = std::min(rest_.find_first_of(",\n"), rest_.size());
  if (!base::Trim(rest_.substr(0, next)).empty()) {
    faults_.Add(next_line_, "",
                "text follows a closing quote; write a quote inside a value as \"\"");
    return false;
  }
  rest_.remove_prefix(next);
  return true;
}

bool CsvRecords::Next() {
  SkipEmptyLines();
  if (rest_.empty()) return false;
  line_ = next_line_;
  fields_.clear();
  unescaped_.clear();
  while (true) {
    const std::size_t first = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    const bool quoted = rest_.substr(first).starts_with('"');
    if (quoted) rest_.remove_prefix(first);
    if (!(quoted ? ReadQuoted() : ReadPlain())) {
      rest_ = {};
      return false;
    }
    if (!rest_.starts_with(',')) break;
    rest_.remove_prefix(1);
  }
  SkipLine();
  return true;
}

CsvTable::CsvTable(std::string_view text, std::span<const CsvColumn> columns, OtherColumns others,
                   LineFaults& faults)
    : records_(text, faults), columns_(columns), faults_(faults), places_(columns.size(), kAbsent) {
  if (!records_.Next()) return;
  width_ = records_.fields().size();
  for (std::size_t place = 0; place < width_; ++place) {
    PlaceColumn(place, records_.fields()[place], others);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].required && !Has(i)) {
      faults.Add(records_.line(), columns[i].name,
                 "the header has no such column, and it is needed");
    }
  }
  usable_ = faults.IsEmpty();
}

void CsvTable::PlaceColumn(std::size_t place, std::string_view name, OtherColumns others) {
  const auto found = std::ranges::find(columns_, name, &CsvColumn::name);
  if (found != columns_.end()) {
    std::size_t& known = places_[static_cast<std::size_t>(found - columns_.begin())];
    if (known != kAbsent) faults_.Add(records_.line(), name, "the header has this column twice");
    known = place;
    return;
  }
  if (others == OtherColumns::kIgnored) return;
  std::vector<std::string_view> names;
  std::vector<std::string> listed;
  for (const CsvColumn& column : columns_) {
    names.push_back(column.name);
    listed.emplace_back(column.name);
  }
  const std::string_view near = base::Nearest(name, names);
  const std::string help = near.empty() ? Format("the columns are {}", base::Join(listed, ", "))
                                        : Format("did you mean {}?", near);
  faults_.Add(records_.line(), "", Format("unknown column {}; {}", Quote(name), help));
}

bool CsvTable::Next() {
  while (usable_ && !faults_.IsFull() && records_.Next()) {
    if (++rows_ > kMostRows) {
      faults_.Add(line(), "", Format("more than {} rows; that is the limit", kMostRows));
      return false;
    }
    if (records_.fields().size() != width_) {
      faults_.Add(
          line(), "",
          Format("{} values, but the header has {} columns", records_.fields().size(), width_));
    } else if (AllText()) {
      return true;
    }
  }
  return false;
}

bool CsvTable::AllText() const {
  bool all = true;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell cell = (*this)[i];
    const std::string_view why = WhyNoText(cell.text);
    if (why.empty()) continue;
    AddFault(faults_, cell, Format("{} {}", Quote(base::Printable(cell.text)), why));
    all = false;
  }
  return all;
}

Cell CsvTable::operator[](std::size_t column) const {
  const std::string_view text =
      Has(column) ? records_.fields()[places_[column]] : std::string_view{};
  return Cell{.text = text, .column = columns_[column].name, .line = line()};
}

std::string CsvValue(std::string_view raw) {
  std::string value;
  for (std::string_view rest = raw; !rest.empty();) {
    const std::size_t size = base::Utf8Size(rest);
    const bool shown = size != 0 && (base::ControlSize(rest) == 0 || IsBlank(rest));
    value += shown ? rest.substr(0, size) : kReplacement;
    rest.remove_prefix(std::max<std::size_t>(1, size));
  }
  const bool plain = value.find_first_of(",\"\r\n") == std::string_view::npos &&
                     !value.starts_with('#') && base::Trim(value) == value;
  if (plain) return value;
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

bool HeaderHas(std::string_view text, std::initializer_list<std::string_view> names) {
  LineFaults ignored("");
  CsvRecords records(text, ignored);
  if (!records.Next()) return false;
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::find(records.fields(), name) != records.fields().end();
  });
}

}  // namespace muster::format
