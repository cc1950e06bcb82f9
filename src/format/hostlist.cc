// SPDX-License-Identifier: Apache-2.0
#include "format/hostlist.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Quote;
using base::Result;

constexpr std::size_t kMaxNameLength = 253;  // that of a DNS name
constexpr std::size_t kMaxDigits = 18;       // every such number fits 64 bits

Error Invalid(std::string_view text, std::string_view fault) {
  return Error{ErrorCode::kInvalid, Format("host list {}: {}", Quote(text), fault), ""};
}

Error TooMany(std::string_view text) {
  return Invalid(text, Format("more than {} names", kMaxHosts));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t ToNumber(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Splits at commas that stand outside brackets.
std::vector<std::string_view> SplitItems(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) {
      items.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  items.push_back(text.substr(start));
  return items;
}

/// What stands between brackets: `0001-0003,7` -> 0001 0002 0003 7.
Result<std::vector<std::string>> ExpandRanges(std::string_view ranges, std::string_view whole) {
  std::vector<std::string> numbers;
  for (const std::string_view range : base::Split(ranges, ',')) {
    const std::size_t dash = range.find('-');
    const std::string_view first = base::Trim(range.substr(0, dash));
    const std::string_view last =
        dash == std::string_view::npos ? first : base::Trim(range.substr(dash + 1));
    if (!IsNumber(first) || !IsNumber(last)) {
      return Invalid(whole, Format("{} is no number or range like 1-8", Quote(range)));
    }
    const std::int64_t from = ToNumber(first);
    const std::int64_t to = ToNumber(last);
    if (to < from) return Invalid(whole, Format("range {} runs backwards", Quote(range)));
    if (static_cast<std::uint64_t>(to - from) >= kMaxHosts - numbers.size()) return TooMany(whole);
    for (std::int64_t number = from; number <= to; ++number) {
      numbers.push_back(Format("{:0{}}", number, first.size()));
    }
  }
  return numbers;
}

/// One item without top-level commas: text and brackets in turn.
Result<std::vector<std::string>> ExpandItem(std::string_view item, std::string_view whole) {
  std::vector<std::string> names = {""};
  while (!item.empty()) {
    const std::size_t open = std::min(item.find('['), item.size());
    const std::string_view literal = item.substr(0, open);
    if (literal.find_first_of("] \t\r\n") != std::string_view::npos) {
      return Invalid(whole, Format("{} is no host name", Quote(literal)));
    }
    std::vector<std::string> numbers = {""};
    item.remove_prefix(open);
    if (!item.empty()) {
      const std::size_t close = item.find(']');
      if (close == std::string_view::npos) return Invalid(whole, "'[' without ']'");
      Result<std::vector<std::string>> ranges = ExpandRanges(item.substr(1, close - 1), whole);
      if (!ranges) return ranges;
      numbers = *std::move(ranges);
      item.remove_prefix(close + 1);
    }
    if (names.size() > kMaxHosts / numbers.size()) return TooMany(whole);
    std::vector<std::string> longer;
    longer.reserve(names.size() * numbers.size());
    for (const std::string& name : names) {
      for (const std::string& number : numbers)
        longer.push_back(Format("{}{}{}", name, literal, number));
    }
    names = std::move(longer);
    if (names.front().size() > kMaxNameLength) {
      return Invalid(whole, Format("a name of more than {} characters", kMaxNameLength));
    }
  }
  return names;
}

/// A name as text and the number at its end.
struct NumberedName {
  std::string_view text;
  std::string_view digits;
};

NumberedName SplitNumber(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && name.size() - end < kMaxDigits && name[end - 1] >= '0' && name[end - 1] <= '9')
    --end;
  return {name.substr(0, end), name.substr(end)};
}

/// How many names from `first` on count up by one from it.
std::size_t RunLength(std::span<const std::string> names, std::size_t first) {
  const NumberedName start = SplitNumber(names[first]);
  if (start.digits.empty()) return 1;
  const std::int64_t number = ToNumber(start.digits);
  std::size_t length = 1;
  while (first + length < names.size() &&
         names[first + length] == Format("{}{:0{}}", start.text,
                                         number + static_cast<std::int64_t>(length),
                                         start.digits.size())) {
    ++length;
  }
  return length;
}

}  // namespace

std::string FormatHostlist(std::span<const std::string> names) {
  std::string out;
  std::string_view bracket;  // the text before the bracket that is open
  bool open = false;
  for (std::size_t i = 0; i < names.size();) {
    const std::size_t length = RunLength(names, i);
    const NumberedName first = SplitNumber(names[i]);
    const NumberedName last = SplitNumber(names[i + length - 1]);
    const std::string range =
        length == 1 ? std::string(first.digits) : Format("{}-{}", first.digits, last.digits);
    i += length;
    if (open && !range.empty() && first.text == bracket) {
      out += "," + range;
      continue;
    }
    if (open) out += ']';
    if (!out.empty()) out += ',';
    bracket = first.text;
    // A number alone needs no bracket, unless the next name goes on in it.
    open = !range.empty() &&
           (length > 1 || (i < names.size() && SplitNumber(names[i]).text == bracket &&
                           !SplitNumber(names[i]).digits.empty()));
    out += Format("{}{}{}", bracket, open ? "[" : "", range);
  }
  if (open) out += ']';
  return out;
}

Result<std::vector<std::string>> ExpandHostlist(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : SplitItems(text)) {
    const std::string_view item = base::Trim(part);
    if (item.empty()) return Invalid(text, "an empty name");
    Result<std::vector<std::string>> expanded = ExpandItem(item, text);
    if (!expanded) return expanded;
    if (expanded->size() > kMaxHosts - names.size()) return TooMany(text);
    std::ranges::move(*expanded, std::back_inserter(names));
  }
  return names;
}

}  // namespace muster::format
