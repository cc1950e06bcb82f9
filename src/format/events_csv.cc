// SPDX-License-Identifier: Apache-2.0
#include "format/events_csv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/strings.h"
#include "format/trace/csv.h"

namespace muster::format {
namespace {

using model::ClusterEventKind;

enum Column : std::size_t { kAt, kNode, kEvent };
constexpr std::array kColumns = {CsvColumn{"at", true}, CsvColumn{"node", true},
                                 CsvColumn{"event", true}};

constexpr std::pair<std::string_view, ClusterEventKind> kKinds[] = {
    {"down", ClusterEventKind::kDown},     {"up", ClusterEventKind::kUp},
    {"cordon", ClusterEventKind::kCordon}, {"drain", ClusterEventKind::kDrain},
    {"remove", ClusterEventKind::kRemove}, {"add", ClusterEventKind::kAdd},
};

ClusterEventKind ReadKind(const Cell& cell, LineFaults& faults) {
  for (const auto& [name, kind] : kKinds) {
    if (cell.text == name) return kind;
  }
  AddFault(
      faults, cell,
      base::Format("{} is not down, up, cordon, drain, remove or add", base::Quote(cell.text)));
  return {};
}

}  // namespace

base::Checked<model::ClusterEvents> ReadEvents(std::string_view text, std::string_view file) {
  LineFaults faults(file);
  model::ClusterEvents events;
  if (!HeaderHas(text, {"at"})) {
    faults.Add(1, "", "the first line must name the columns: at,node,event");
    return std::move(faults).Take();
  }
  CsvTable table(text, kColumns, OtherColumns::kFault, faults);
  while (table.Next()) {
    const base::Instant at = base::Instant{} + ReadSecondsOrDuration(table[kAt], faults);
    if (table[kNode].text.empty()) AddFault(faults, table[kNode], "is empty; name a node");
    events.push_back({at, std::string(table[kNode].text), ReadKind(table[kEvent], faults),
                      base::Format("{}:{}", file, table.line())});
  }
  if (!faults.IsEmpty()) return std::move(faults).Take();
  return events;
}

}  // namespace muster::format
