// SPDX-License-Identifier: Apache-2.0
#include "cli/client/fields.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "api/resources/shapes.h"
#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/text.h"

namespace muster::cli {

using format::Value;

const Value* ValueAt(const Value& document, std::string_view path) {
  const Value* at = &document;
  for (const std::string_view key : base::Split(path, '.')) {
    at = at->Find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

const std::vector<Value>& ItemsAt(const Value& document, std::string_view path) {
  static const std::vector<Value> kNone;
  const Value* value = ValueAt(document, path);
  return value == nullptr ? kNone : value->items;
}

std::string TextAt(const Value& document, std::string_view path) {
  const Value* value = ValueAt(document, path);
  return value == nullptr ? "" : value->text;
}

std::string ShownAt(const Value& document, std::string_view path) {
  return base::Printable(TextAt(document, path));
}

std::int64_t NumberAt(const Value& document, std::string_view path) {
  const auto number = base::ParseCount(TextAt(document, path));
  return number ? *number : 0;
}

bool FlagAt(const Value& document, std::string_view path) {
  return TextAt(document, path) == "true";
}

std::vector<std::string> ShownTextsAt(const Value& document, std::string_view path) {
  std::vector<std::string> texts;
  for (const Value& item : ItemsAt(document, path)) texts.push_back(base::Printable(item.text));
  return texts;
}

std::optional<base::Instant> ParseMoment(std::string_view text) {
  // As `api::TimeText` writes it.
  if (text.size() != 24 || text[10] != 'T' || text.back() != 'Z') return std::nullopt;
  const auto day = api::ParseDay(text.substr(0, 10));
  const auto part = [&](std::size_t from, std::size_t size) {
    const auto number = base::ParseCount(text.substr(from, size));
    return number ? *number : -1;
  };
  const std::array<std::int64_t, 4> parts = {part(11, 2), part(14, 2), part(17, 2), part(20, 3)};
  if (!day || *std::ranges::min_element(parts) < 0) return std::nullopt;
  const std::int64_t seconds = ((*day * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  return base::Instant{(seconds * 1000 + parts[3]) * 1000};
}

std::optional<base::Instant> MomentAt(const Value& document, std::string_view path) {
  return ParseMoment(TextAt(document, path));
}

std::string LocalTime(base::Instant at) {
  const std::time_t seconds = at.us / 1'000'000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return base::Format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                      parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string LocalTimeAt(const Value& document, std::string_view path) {
  const auto at = MomentAt(document, path);
  return at ? LocalTime(*at) : "";
}

std::string Between(std::optional<base::Instant> from, std::optional<base::Instant> to) {
  if (!from || !to) return "";
  return HumanSeconds(static_cast<double>(std::max<std::int64_t>(0, to->us - from->us)) / 1e6);
}

}  // namespace muster::cli
