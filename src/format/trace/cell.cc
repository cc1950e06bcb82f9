// SPDX-License-Identifier: Apache-2.0
#include "format/trace/cell.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "base/units.h"

namespace muster::format {
namespace {

using base::Duration;
using base::Format;
using base::Quote;

std::string_view TimeHint(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kMicrosecond:
      return "microseconds, such as 90000000";
    case TimeUnit::kMillisecond:
      return "milliseconds, such as 90000";
    case TimeUnit::kSecond:
      break;
  }
  return "seconds, such as 90 or 0.5";
}

Duration BoundedTime(Duration time, const Cell& cell, LineFaults& faults) {
  if (time <= kLongestTraceTime) return time;
  AddFault(faults, cell, Format("{} is more than 100 years; check its unit", Quote(cell.text)));
  return {};
}

/// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March on, so that the
/// leap day is the last of a year and the length of the months before it does not depend on the
/// year.
std::int64_t DaysSince1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t march_year = month > 2 ? year : year - 1;
  const std::int64_t month_from_march = (month + 9) % 12;
  const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
  const std::int64_t leap_days = march_year / 4 - march_year / 100 + march_year / 400;
  constexpr std::int64_t kDaysFromYear0 = 719'468;  // 0000-03-01 to 1970-01-01
  return march_year * 365 + leap_days + day_of_year - kDaysFromYear0;
}

std::int64_t DaysInMonth(std::int64_t year, std::int64_t month) {
  constexpr std::array<std::int64_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

/// The number that the digits of `text` at [start, start + length) make; the caller checked them.
std::int64_t Digits(std::string_view text, std::size_t start, std::size_t length) {
  std::int64_t value = 0;
  for (const char c : text.substr(start, length)) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

Duration ReadTime(const Cell& cell, TimeUnit unit, LineFaults& faults) {
  const auto amount = base::ParseDecimal(cell.text, static_cast<std::int64_t>(unit));
  if (!amount) {
    AddFault(faults, cell, Format("{} ({})", amount.error().message, TimeHint(unit)));
    return {};
  }
  return BoundedTime(Duration::Of(*amount), cell, faults);
}

Duration ReadSecondsOrDuration(const Cell& cell, LineFaults& faults) {
  const bool bare = cell.text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (bare && !cell.text.empty()) return ReadTime(cell, TimeUnit::kSecond, faults);
  return BoundedTime(TakeOrFault(base::ParseDuration(cell.text), cell, faults), cell, faults);
}

base::Instant ReadTimestamp(const Cell& cell, LineFaults& faults) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  const std::string_view text = cell.text;
  const auto same_kind = [](char want, char have) {
    return want == '0' ? have >= '0' && have <= '9' : have == want;
  };
  if (text.size() == kForm.size() && std::ranges::equal(kForm, text, same_kind)) {
    const std::int64_t year = Digits(text, 0, 4);
    const std::int64_t month = Digits(text, 5, 2);
    const std::int64_t day = Digits(text, 8, 2);
    const std::int64_t hour = Digits(text, 11, 2);
    const std::int64_t minute = Digits(text, 14, 2);
    const std::int64_t second = Digits(text, 17, 2);
    if (year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 &&
        day <= DaysInMonth(year, month) && hour < 24 && minute < 60 && second < 60) {
      const std::int64_t days = DaysSince1970(year, month, day);
      return base::Instant{} + base::Seconds(((days * 24 + hour) * 60 + minute) * 60 + second);
    }
  }
  AddFault(faults, cell,
           Format("{} is not a date and time from 1970 to 2199; give it as in "
                  "2017-10-09 07:01:55",
                  Quote(text)));
  return {};
}

std::int64_t ReadCount(const Cell& cell, CellRange range, LineFaults& faults) {
  const auto count = base::ParseDecimal(cell.text, 1);
  if (count && *count >= range.least && *count <= range.most) return *count;
  const std::string wanted = Format("a whole number from {} to {}", range.least, range.most);
  const std::string wrong =
      count ? Format("{} is out of range", Quote(cell.text)) : count.error().message;
  AddFault(faults, cell, Format("{} ({})", wrong, wanted));
  return range.least;
}

}  // namespace muster::format
