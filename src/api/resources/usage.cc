// SPDX-License-Identifier: Apache-2.0
// GET /v1/usage, /v1/audit: what was used, and who did what.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/shapes.h"

namespace muster::api {
namespace {

using format::Map;
using format::Text;
using format::Value;

/// What rows can be summed by, in the order in which they are written.
constexpr std::array<std::string_view, 4> kBy = {"day", "queue", "user", "model"};
using Group = std::array<std::string, kBy.size()>;
using Chosen = std::array<bool, kBy.size()>;

base::Result<Chosen> ReadBy(const HttpRequest& request) {
  const auto names = QueryNames(request, "by", kBy);
  if (!names) return names.error();
  Chosen chosen = {false, true, true, true};
  if (!names->empty()) chosen.fill(false);
  for (const std::size_t name : *names) chosen[name] = true;
  return chosen;
}

/// Days, both included.
struct Days {
  std::int64_t from = INT64_MIN;
  std::int64_t to = INT64_MAX;
};

base::Result<Days> ReadDays(const HttpRequest& request) {
  Days days;
  for (const auto& [name, into] : {std::pair{"from", &days.from}, std::pair{"to", &days.to}}) {
    const std::string_view text = QueryText(request, name);
    if (text.empty()) continue;
    const base::Result<std::int64_t> day = ParseDay(text);
    if (!day) return Invalid(base::Format("query parameter {}: {}", name, day.error().message));
    *into = *day;
  }
  return days;
}

std::map<Group, server::UsageRow> Sum(const server::UsageDays& usage, const Days& days,
                                      const Chosen& chosen) {
  std::map<Group, server::UsageRow> sums;
  for (auto day = usage.lower_bound(days.from); day != usage.end() && day->first <= days.to;
       ++day) {
    for (const auto& [key, row] : *day->second) {
      Group group;
      if (chosen[0]) group[0] = DayText(key.day);
      if (chosen[1]) group[1] = key.queue;
      if (chosen[2]) group[2] = key.user;
      if (chosen[3]) group[3] = key.model;
      server::UsageRow& sum = sums[group];
      sum.allocated_us += row.allocated_us;
      sum.lost_us += row.lost_us;
      sum.cpu_us += row.cpu_us;
    }
  }
  return sums;
}

Value RowValue(const Group& group, const Chosen& chosen, const server::UsageRow& row) {
  Value value = Map();
  value.entries.reserve(7);
  for (std::size_t i = 0; i < kBy.size(); ++i) {
    if (chosen[i]) value.Add(std::string(kBy[i]), Text(group[i]));
  }
  value.Add("allocatedGpuSeconds", format::Plain(SecondsText(row.allocated_us)));
  value.Add("lostGpuSeconds", format::Plain(SecondsText(row.lost_us)));
  value.Add("cpuSeconds", format::Plain(SecondsText(row.cpu_us)));
  return value;
}

Value AuditValue(std::size_t id, const server::AuditRecord& record) {
  Value value = Map();
  value.entries.reserve(8);
  value.Add("id", Number(id));
  value.Add("at", TimeValue(record.at));
  value.Add("user", Text(record.act.user));
  value.Add("from", Text(record.act.from));
  value.Add("action", Text(record.act.action));
  value.Add("target", Text(record.act.target));
  value.Add("detail", Text(record.act.detail));
  value.Add("allowed", Flag(record.act.allowed));
  return value;
}

}  // namespace

HttpResponse GetUsage(server::Front& front, const HttpRequest& request) {
  const base::Result<Chosen> chosen = ReadBy(request);
  if (!chosen) return Problem(chosen.error());
  const base::Result<Days> days = ReadDays(request);
  if (!days) return Problem(days.error());
  const server::PicturePtr picture = front.Look();
  Value value = Map();
  if (days->from != INT64_MIN) value.Add("from", Text(DayText(days->from)));
  if (days->to != INT64_MAX) value.Add("to", Text(DayText(days->to)));
  Value by = format::List();
  for (std::size_t i = 0; i < kBy.size(); ++i) {
    if ((*chosen)[i]) by.items.push_back(Text(std::string(kBy[i])));
  }
  value.Add("by", std::move(by));
  Value rows = format::List();
  for (const auto& [group, row] : Sum(*picture->tables.usage, *days, *chosen))
    rows.items.push_back(RowValue(group, *chosen, row));
  value.Add("rows", std::move(rows));
  return Json(value);
}

HttpResponse ListAudit(server::Front& front, const HttpRequest& request) {
  const auto limit = QueryCount(request, "limit", {.fallback = 100, .min = 1, .max = 1000});
  const auto cursor = QueryCount(request, "cursor", {.fallback = INT64_MAX});
  for (const auto* count : {&limit, &cursor}) {
    if (!*count) return Problem(count->error());
  }
  const server::PicturePtr picture = front.Look();
  const auto& audit = picture->tables.audit;
  Value entries = format::List();
  std::int64_t row = std::min(*cursor, static_cast<std::int64_t>(audit.size()) - 1);
  for (; row >= 0 && std::ssize(entries.items) < *limit; --row) {
    if (audit.IsDropped(static_cast<std::size_t>(row))) {
      row = -1;  // only the oldest are dropped
      break;
    }
    const auto id = static_cast<std::size_t>(row);
    entries.items.push_back(AuditValue(id, audit[id]));
  }
  Value list = Map();
  list.Add("entries", std::move(entries));
  if (row >= 0 && !audit.IsDropped(static_cast<std::size_t>(row)))
    list.Add("next", Text(std::to_string(row)));
  return Json(list);
}

}  // namespace muster::api
