// SPDX-License-Identifier: Apache-2.0
#include "cli/render/cluster.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/client/fields.h"
#include "cli/render/jobs.h"
#include "cli/text.h"

namespace muster::cli {
namespace {

using base::Format;
using format::Value;

constexpr int kBarColumns = 8;

constexpr std::array<std::string_view, 7> kDeviceStates = {
    "idle", "allocated", "reserved", "draining", "faulty", "foreign", "unknown"};

/// Devices that nothing can start on now, whatever the reason.
std::int64_t Taken(const Value& devices) {
  return NumberAt(devices, "total") - NumberAt(devices, "idle");
}

std::string CountsText(const Value& devices) {
  return Format("{}/{}", WithCommas(Taken(devices)), WithCommas(NumberAt(devices, "total")));
}

std::string BarOf(const Value& devices) {
  const std::int64_t total = NumberAt(devices, "total");
  if (total == 0) return "";
  return Bar(static_cast<double>(Taken(devices)) / static_cast<double>(total), kBarColumns);
}

const Value& MapAt(const Value& document, std::string_view path) {
  static const Value kNone = format::Map();
  const Value* const value = ValueAt(document, path);
  return value == nullptr ? kNone : *value;
}

std::string NodeState(const Value& node, const Look& look) {
  const std::string state = FlagAt(node, "gone") ? "gone" : ShownAt(node, "state");
  const Colour colour = state == "ready"                     ? Colour::kGreen
                        : state == "down" || state == "gone" ? Colour::kRed
                                                             : Colour::kYellow;
  return Coloured(state, colour, look.colour);
}

std::string MemoryText(const Value& document, std::string_view path) {
  const auto bytes = base::ParseBytes(TextAt(document, path));
  if (!bytes) return "";
  return bytes->IsZero() ? "0" : HumanBytes(bytes->value());
}

std::string DomainsText(const Value& node) {
  std::vector<std::string> names;
  for (const Value& domain : ItemsAt(node, "domains")) names.push_back(ShownAt(domain, "name"));
  return base::Join(names, "/");
}

/// "8 x H100": what is in the node, by its list of devices.
std::vector<std::vector<std::string>> DeviceRows(const Value& node) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& device : ItemsAt(node, "deviceList")) {
    rows.push_back({ShownAt(device, "index"), ShownAt(device, "model"),
                    MemoryText(device, "memory"), ShownAt(device, "group"),
                    ShownAt(device, "state"), ShownAt(device, "job")});
  }
  return rows;
}

std::string PairsText(const Value& map) {
  std::vector<std::string> parts;
  for (const format::Entry& entry : map.entries)
    parts.push_back(base::Printable(entry.key + "=" + entry.value.text));
  return base::Join(parts, ", ");
}

using NodesByName = std::map<std::string, const Value*, std::less<>>;

/// A line of the tree.
struct Branch {
  std::string head;  ///< the lines in front of it, and its name
  std::string bar;
  std::string counts;
  std::string note;
};

struct Place {
  std::string before;  ///< what stands in front of all that is below
  bool last = true;
};

void AddNodeBranches(const Value& domain, const NodesByName& nodes, const std::string& before,
                     const Look& look, std::vector<Branch>& out) {
  const std::vector<std::string> names = ShownTextsAt(domain, "nodes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto known = nodes.find(names[i]);
    Branch branch{.head = before + (i + 1 == names.size() ? "└─ " : "├─ ") + names[i]};
    if (known != nodes.end()) {
      const Value& devices = MapAt(*known->second, "devices");
      branch.bar = BarOf(devices);
      branch.counts = CountsText(devices);
      if (TextAt(*known->second, "state") != "ready") branch.note = NodeState(*known->second, look);
    }
    out.push_back(std::move(branch));
  }
}

void AddBranches(const Value& domain, const NodesByName& nodes, const Place& place,
                 const Look& look, std::vector<Branch>& out) {
  const std::string name = ShownAt(domain, "name");
  const bool is_root = out.empty();
  const std::string head = is_root ? "" : place.before + (place.last ? "└─ " : "├─ ");
  const Value& devices = MapAt(domain, "devices");
  out.push_back({head + (name.empty() || is_root ? "cluster" : name), BarOf(devices),
                 CountsText(devices), Format("{} nodes", ShownAt(domain, "nodeCount"))});
  const std::string before = is_root ? "" : place.before + (place.last ? "   " : "│  ");
  const std::vector<Value>& children = ItemsAt(domain, "children");
  for (std::size_t i = 0; i < children.size(); ++i)
    AddBranches(children[i], nodes, {before, i + 1 == children.size()}, look, out);
  AddNodeBranches(domain, nodes, before, look, out);
}

/// Devices by state, a row for each of `list`; states that none is in are left out.
std::string CountTable(const std::string& header, std::string_view name,
                       const std::vector<Value>& list) {
  std::vector<Column> columns = {{header}, {"TOTAL", true}};
  std::vector<std::string_view> states;
  for (const std::string_view state : kDeviceStates) {
    const bool always = state == "idle" || state == "allocated";
    const auto has_some = [&](const Value& each) {
      return NumberAt(MapAt(each, "devices"), state) > 0;
    };
    if (!always && std::ranges::none_of(list, has_some)) continue;
    states.push_back(state);
    std::string shown(state == "allocated" ? "in use" : state);
    std::ranges::transform(shown, shown.begin(), [](unsigned char c) { return std::toupper(c); });
    columns.push_back({std::move(shown), true});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Value& each : list) {
    const Value& devices = MapAt(each, "devices");
    std::vector<std::string>& row =
        rows.emplace_back(std::vector{ShownAt(each, name), WithCommas(NumberAt(devices, "total"))});
    for (const std::string_view state : states) row.push_back(WithCommas(NumberAt(devices, state)));
  }
  return AlignedTable(columns, rows);
}

/// "12 running, 3 waiting": what of it there is.
std::string CountsInWords(const Value& counts) {
  std::vector<std::string> parts;
  for (const format::Entry& entry : counts.entries) {
    if (entry.value.text != "0")
      parts.push_back(base::Printable(entry.value.text + " " + entry.key));
  }
  return parts.empty() ? "none" : base::Join(parts, ", ");
}

}  // namespace

std::string DevicesText(const Value& devices) {
  std::vector<std::string> parts;
  for (const std::string_view state : kDeviceStates) {
    const std::int64_t count = NumberAt(devices, state);
    if (count == 0) continue;
    parts.push_back(Format("{} {}", WithCommas(count), state == "allocated" ? "in use" : state));
  }
  return Format("{}{}", WithCommas(NumberAt(devices, "total")),
                parts.empty() ? "" : ": " + base::Join(parts, ", "));
}

std::string RenderNodes(const Value& list, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& node : ItemsAt(list, "nodes")) {
    const Value& devices = MapAt(node, "devices");
    rows.push_back({ShownAt(node, "name"), NodeState(node, look), BarOf(devices),
                    CountsText(devices), base::Join(ShownTextsAt(node, "models"), ", "),
                    Format("{}/{}", ShownAt(node, "cpuUsed"), ShownAt(node, "cpu")),
                    Format("{}/{}", MemoryText(node, "memoryUsed"), MemoryText(node, "memory")),
                    DomainsText(node), ShownAt(node, "stateReason")});
  }
  return AlignedTable({{"NAME"},
                       {"STATE"},
                       {"USED"},
                       {"GPUS", true},
                       {"MODEL"},
                       {"CPUS", true},
                       {"MEMORY", true},
                       {"WHERE"},
                       {"REASON"}},
                      rows);
}

std::string RenderNode(const Value& node, const Look& look) {
  const Value& devices = MapAt(node, "devices");
  std::string out =
      Format("{}: {}\n", Bold("Node " + ShownAt(node, "name"), look.colour), NodeState(node, look));
  const auto add = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += Format("  {:<9} {}\n", name, value);
  };
  add("reason", ShownAt(node, "stateReason"));
  add("note", ShownAt(node, "note"));
  add("GPUs", DevicesText(devices));
  add("CPUs", Format("{} of {} in use", ShownAt(node, "cpuUsed"), ShownAt(node, "cpu")));
  add("memory",
      Format("{} of {} in use", MemoryText(node, "memoryUsed"), MemoryText(node, "memory")));
  if (NumberAt(node, "nics") > 0) add("NICs", ShownAt(node, "nics"));
  add("where", DomainsText(node));
  add("labels", PairsText(MapAt(node, "labels")));
  std::vector<std::string> taints;
  for (const Value& taint : ItemsAt(node, "taints"))
    taints.push_back(Format("{}={}", ShownAt(taint, "key"), ShownAt(taint, "value")));
  add("taints", base::Join(taints, ", "));
  if (const auto rows = DeviceRows(node); !rows.empty()) {
    out +=
        "\n" +
        AlignedTable(
            {{"GPU", true}, {"MODEL"}, {"MEMORY", true}, {"GROUP", true}, {"STATE"}, {"JOB", true}},
            rows, 2);
  }
  std::vector<std::vector<std::string>> jobs;
  for (const Value& job : ItemsAt(node, "jobs"))
    jobs.push_back({ShownAt(job, "id"), ShownAt(job, "ranks")});
  if (!jobs.empty()) out += "\n" + AlignedTable({{"JOB", true}, {"RANKS", true}}, jobs, 2);
  return out;
}

std::string RenderTopology(const Value& topology, const Value& nodes, const Look& look) {
  NodesByName by_name;
  for (const Value& node : ItemsAt(nodes, "nodes")) by_name.emplace(ShownAt(node, "name"), &node);
  std::vector<Branch> branches;
  AddBranches(MapAt(topology, "root"), by_name, {}, look, branches);
  std::size_t head = 0;
  std::size_t counts = 0;
  for (const Branch& branch : branches) {
    head = std::max(head, DisplayWidth(branch.head));
    counts = std::max(counts, branch.counts.size());
  }
  std::string out;
  for (const Branch& branch : branches) {
    const std::string bar = branch.bar.empty() ? std::string(kBarColumns, ' ') : branch.bar;
    std::string line = branch.head + std::string(head - DisplayWidth(branch.head), ' ') + "  " +
                       bar + "  " + std::string(counts - branch.counts.size(), ' ') +
                       branch.counts + "  " + branch.note;
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string RenderInventory(const Value& inventory, const Look& /*look*/) {
  std::vector<Value> models = ItemsAt(inventory, "models");
  if (models.size() != 1) {
    models.push_back(format::Map());
    models.back().Add("model", format::Text("all"));
    models.back().Add("devices", MapAt(inventory, "devices"));
  }
  std::string out = CountTable("MODEL", "model", models);
  if (ValueAt(inventory, "domains") != nullptr)
    out += "\n" + CountTable("DOMAIN", "name", ItemsAt(inventory, "domains"));
  return out + Format("\nNodes: {}\n", CountsInWords(MapAt(inventory, "nodes")));
}

std::string RenderStatus(const Value& status, const Look& look) {
  const std::string trouble = ShownAt(status, "trouble");
  const bool ready = FlagAt(status, "ready");
  std::string out = Format(
      "{}: {}\n", Bold("muster " + ShownAt(status, "version"), look.colour),
      Coloured(ready ? "ready" : "not ready", ready ? Colour::kGreen : Colour::kRed, look.colour));
  if (!trouble.empty()) out += "  trouble  " + trouble + "\n";
  out += "  jobs     " + CountsInWords(MapAt(status, "jobs")) + "\n";
  out += "  nodes    " + CountsInWords(MapAt(status, "nodes")) + "\n";
  out += "  GPUs     " + DevicesText(MapAt(status, "devices")) + "\n";
  return out + RenderPause(MapAt(status, "pause"), look);
}

}  // namespace muster::cli
