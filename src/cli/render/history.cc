// SPDX-License-Identifier: Apache-2.0
#include "cli/render/history.h"

#include <cstdlib>
#include <vector>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/text.h"

namespace muster::cli {
namespace {

using base::Format;
using format::Value;

/// "12.5": seconds, which may have a fraction, as hours.
std::string Hours(const Value& row, std::string_view path) {
  const double seconds = std::strtod(TextAt(row, path).c_str(), nullptr);
  return Format("{:.1f}", seconds / 3600);
}

}  // namespace

std::string RenderEvent(const Value& event, const Look& look) {
  const std::string job = ShownAt(event, "job");
  const std::string attempt = ShownAt(event, "attempt");
  const std::string about =
      job.empty() ? "" : Format("job {}{}", job, attempt.empty() ? "" : " attempt " + attempt);
  std::string line = Format("{}  {:<10}  {:<19}  {}", LocalTimeAt(event, "at"),
                            ShownAt(event, "kind"), about, ShownAt(event, "text"));
  line.erase(line.find_last_not_of(' ') + 1);
  return Coloured(line, TextAt(event, "kind") == "gap" ? Colour::kYellow : Colour::kNone,
                  look.colour) +
         "\n";
}

std::string RenderEvents(const Value& list, const Look& look) {
  std::string out;
  for (const Value& event : ItemsAt(list, "events")) out += RenderEvent(event, look);
  return out;
}

std::string RenderAudit(const Value& list, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& entry : ItemsAt(list, "entries")) {
    const bool allowed = FlagAt(entry, "allowed");
    rows.push_back(
        {LocalTimeAt(entry, "at"), ShownAt(entry, "user"), ShownAt(entry, "action"),
         ShownAt(entry, "target"),
         Coloured(allowed ? "yes" : "no", allowed ? Colour::kNone : Colour::kRed, look.colour),
         ShownAt(entry, "from"), ShownAt(entry, "detail")});
  }
  return AlignedTable({{"AT"}, {"USER"}, {"ACTION"}, {"TARGET"}, {"ALLOWED"}, {"FROM"}, {"DETAIL"}},
                      rows);
}

std::string RenderUsage(const Value& usage, const Look& /*look*/) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"day", "DAY"}, {"queue", "QUEUE"}, {"user", "USER"}, {"model", "MODEL"}};
  const std::vector<std::string> by = ShownTextsAt(usage, "by");
  std::vector<Column> columns;
  std::vector<std::string_view> keys;
  for (const auto& [key, header] : kNames) {
    if (std::find(by.begin(), by.end(), key) == by.end()) continue;
    columns.push_back({std::string(header)});
    keys.push_back(key);
  }
  columns.insert(columns.end(), {{"GPU HOURS", true}, {"LOST", true}, {"CPU HOURS", true}});
  std::vector<std::vector<std::string>> rows;
  for (const Value& row : ItemsAt(usage, "rows")) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const std::string_view key : keys) cells.push_back(ShownAt(row, key));
    cells.push_back(Hours(row, "allocatedGpuSeconds"));
    cells.push_back(Hours(row, "lostGpuSeconds"));
    cells.push_back(Hours(row, "cpuSeconds"));
  }
  return AlignedTable(columns, rows);
}

std::string RenderTokens(const Value& list, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& token : ItemsAt(list, "tokens")) {
    const auto expires = MomentAt(token, "expires");
    const bool over = expires && *expires <= look.now;
    rows.push_back({ShownAt(token, "name"), ShownAt(token, "role"), ShownAt(token, "user"),
                    !expires ? "never"
                    : over   ? Coloured("expired", Colour::kRed, look.colour)
                             : LocalTime(*expires)});
  }
  return AlignedTable({{"NAME"}, {"ROLE"}, {"USER"}, {"EXPIRES"}}, rows);
}

}  // namespace muster::cli
