// SPDX-License-Identifier: Apache-2.0
#include "api/resources/shapes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/strings.h"
#include "server/names.h"

namespace muster::api {
namespace {

constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;

struct Date {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
};

// Days and dates of the proleptic Gregorian calendar; years begin in March, so that the leap day is
// a year's last.
constexpr std::int64_t kDaysPerEra = 146'097;  // 400 years
constexpr std::int64_t kEpochFromYear0 = 719'468;

std::int64_t DaysOf(Date date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day;
  const std::int64_t day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year - 1;
  return era * kDaysPerEra + day_of_era - kEpochFromYear0;
}

Date DateOf(std::int64_t days) {
  const std::int64_t shifted = days + kEpochFromYear0;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - kDaysPerEra + 1) / kDaysPerEra;
  const std::int64_t of_era = shifted - era * kDaysPerEra;
  const std::int64_t year_of_era =
      (of_era - of_era / 1460 + of_era / 36'524 - of_era / (kDaysPerEra - 1)) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * of_year + 2) / 153;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  return {.year = year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          .month = month,
          .day = of_year - (153 * shifted_month + 2) / 5 + 1};
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

constexpr std::array<std::string_view, 6> kExitKinds = {"exited",      "signalled", "out-of-memory",
                                                        "not-started", "stopped",   "lost"};
static_assert(kExitKinds.size() == static_cast<std::size_t>(driver::RankExit::Kind::kLast) + 1);

}  // namespace

format::Value Flag(bool value) { return format::Plain(value ? "true" : "false"); }

format::Value TextList(std::vector<std::string> texts) {
  format::Value list = format::List();
  list.items.reserve(texts.size());
  for (std::string& text : texts) list.items.push_back(format::Text(std::move(text)));
  return list;
}

format::Value TimeValue(base::Instant at) { return format::Text(TimeText(at)); }

format::Value ReasonValue(model::Reason reason) {
  format::Value value = format::Map();
  value.Add("code", format::Text(std::string(model::Name(reason.code))));
  value.Add("text", format::Text(std::string(model::Text(reason.code))));
  if (reason.count != 0) value.Add("count", Number(reason.count));
  return value;
}

format::Value DeviceCountsValue(const engine::Inventory& counts) {
  format::Value value = format::Map();
  value.entries.reserve(counts.size() + 1);
  value.Add("total", Number(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  for (std::size_t i = 0; i < counts.size(); ++i)
    value.Add(std::string(server::Name(static_cast<model::DeviceState>(i))), Number(counts[i]));
  return value;
}

std::string DayText(std::int64_t day) {
  const Date date = DateOf(day);
  return base::Format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

std::string TimeText(base::Instant at) {
  const std::int64_t day = FloorDiv(at.us, kDayUs);
  const std::int64_t ms = (at.us - day * kDayUs) / 1000;
  return base::Format("{}T{:02}:{:02}:{:02}.{:03}Z", DayText(day), ms / 3'600'000, ms / 60'000 % 60,
                      ms / 1000 % 60, ms % 1000);
}

base::Result<std::int64_t> ParseDay(std::string_view text) {
  const base::Error fault{base::ErrorCode::kInvalid,
                          base::Format("{} is no day; write it like 2026-01-31", base::Quote(text)),
                          ""};
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return fault;
  std::array<std::int64_t, 3> numbers{};
  const std::array<std::pair<std::size_t, std::size_t>, 3> fields = {{{0, 4}, {5, 2}, {8, 2}}};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const char c : text.substr(fields[i].first, fields[i].second)) {
      if (c < '0' || c > '9') return fault;
      numbers[i] = numbers[i] * 10 + (c - '0');
    }
  }
  const std::int64_t days = DaysOf({numbers[0], numbers[1], numbers[2]});
  if (DayText(days) != text) return fault;  // no 31st of April, no month 13
  return days;
}

std::optional<model::NodeState> ParseNodeState(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(model::NodeState::kLast); ++i) {
    const auto state = static_cast<model::NodeState>(i);
    if (server::Name(state) == name) return state;
  }
  return std::nullopt;
}

std::string_view Name(driver::RankExit::Kind kind) {
  return kExitKinds[static_cast<std::size_t>(kind)];
}

}  // namespace muster::api
