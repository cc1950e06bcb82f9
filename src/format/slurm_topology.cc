// SPDX-License-Identifier: Apache-2.0
#include "format/slurm_topology.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "base/units.h"
#include "format/cluster_document.h"
#include "format/hostlist.h"
#include "format/trace/line_faults.h"
#include "model/labels.h"

namespace muster::format {
namespace {

using base::Error;
using base::Errors;
using base::Format;
using base::Quote;

/// Deepest tree. Networks have three levels, federated ones five; each costs every node a label.
constexpr std::size_t kMostLevels = 8;
/// Most names that all lists of a file may stand for, so that a short file cannot fill the memory:
/// a million GPUs in nodes of eight.
constexpr std::size_t kMostNames = std::size_t{1} << 17;

/// Longest name of a switch or block, that of a DNS name: every node below has a copy.
constexpr std::size_t kLongestName = 253;

/// One `SwitchName=` or `BlockName=` line. The lists are cut into names later, when all lines are
/// known.
struct Entry {
  std::string name;
  std::string switches;
  std::string nodes;
  std::int64_t line = 0;
};

/// The lines of a file, before anything is checked across lines.
struct Lines {
  std::vector<Entry> switches;
  std::vector<Entry> blocks;
  std::vector<std::int64_t> block_sizes;
  std::int64_t block_sizes_line = 0;
  std::int64_t lines_with_speed = 0;
};

bool SameLetters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// ---------------------------------------------------------------------------- lines

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

/// Takes `key=value` off the front of `rest`. Values may stand in quotes.
base::Result<KeyValue> TakeKeyValue(std::string_view& rest) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t equals = rest.find('=');
  const std::string_view key = base::Trim(rest.substr(0, equals));
  if (equals == std::string_view::npos || key.find_first_of(kBlanks) != std::string_view::npos) {
    return Error{base::ErrorCode::kInvalid,
                 Format("{} is not of the form Key=Value", Quote(base::Trim(rest))), ""};
  }
  rest.remove_prefix(equals + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  std::string_view value;
  if (rest.starts_with('"')) {
    const std::size_t end = rest.find('"', 1);
    if (end == std::string_view::npos) {
      return Error{base::ErrorCode::kInvalid, Format("the quote after {}= is never closed", key),
                   ""};
    }
    value = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    value = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return KeyValue{.key = key, .value = value};
}

class LineReader {
 public:
  explicit LineReader(LineFaults& faults) : faults_(faults) {}

  Lines Read(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors put it first
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    std::string joined;
    std::int64_t number = 0;
    std::int64_t first_number = 1;
    while (!text.empty()) {
      ++number;
      if (joined.empty()) first_number = number;
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      line = base::Trim(line.substr(0, line.find('#')));
      const bool continued = line.ends_with('\\');
      if (continued) line.remove_suffix(1);
      joined += line;
      if (continued && !text.empty()) continue;
      if (!joined.empty()) ReadLine(joined, first_number);
      joined.clear();
    }
    return std::move(lines_);
  }

 private:
  void ReadLine(std::string_view rest, std::int64_t number) {
    Entry entry;
    entry.line = number;
    std::string block;
    std::vector<std::string_view> keys;
    while (!rest.empty()) {
      const auto pair = TakeKeyValue(rest);
      if (!pair) return faults_.Add(number, "", pair.error().message);
      const auto same = [&](std::string_view key) { return SameLetters(key, pair->key); };
      if (std::ranges::any_of(keys, same)) {
        return faults_.Add(number, "",
                           Format("{}= is given twice on this line; remove one", pair->key));
      }
      keys.push_back(pair->key);
      if (SameLetters(pair->key, "SwitchName")) {
        entry.name = pair->value;
      } else if (SameLetters(pair->key, "BlockName")) {
        block = pair->value;
      } else if (SameLetters(pair->key, "Switches")) {
        entry.switches = pair->value;
      } else if (SameLetters(pair->key, "Nodes")) {
        entry.nodes = pair->value;
      } else if (SameLetters(pair->key, "BlockSizes")) {
        ReadBlockSizes(pair->value, number);
        if (entry.name.empty() && block.empty() && rest.empty()) return;
      } else if (SameLetters(pair->key, "LinkSpeed")) {
        ++lines_.lines_with_speed;
      } else {
        return UnknownKey(pair->key, number);
      }
    }
    AddEntry(std::move(entry), std::move(block));
  }

  void AddEntry(Entry entry, std::string block) {
    const std::int64_t line = entry.line;
    if (entry.name.empty() == block.empty()) {
      return faults_.Add(line, "", "the line needs either SwitchName= or BlockName=");
    }
    const bool is_block = !block.empty();
    if (is_block) entry.name = std::move(block);
    const std::string what = Format("{} {}", is_block ? "block" : "switch", Quote(entry.name));
    if (entry.name.size() > kLongestName) {
      return faults_.Add(line, "",
                         Format("{}: the name has more than {} characters", what, kLongestName));
    }
    if (entry.name.find_first_of("[],") != std::string::npos) {
      return faults_.Add(line, "",
                         Format("{}: one line names one {}; give each its own", what,
                                is_block ? "block" : "switch"));
    }
    if (is_block && !entry.switches.empty()) {
      return faults_.Add(line, "", Format("{}: a block has Nodes=, not Switches=", what));
    }
    if (!entry.nodes.empty() && !entry.switches.empty()) {
      return faults_.Add(line, "",
                         Format("{} has Nodes= and Switches=; give it one of them", what));
    }
    if (entry.nodes.empty() && entry.switches.empty()) {
      return faults_.Add(
          line, "",
          Format("{} is empty; give it {}", what, is_block ? "Nodes=" : "Nodes= or Switches="));
    }
    (is_block ? lines_.blocks : lines_.switches).push_back(std::move(entry));
  }

  void ReadBlockSizes(std::string_view value, std::int64_t number) {
    if (lines_.block_sizes_line != 0) {
      return faults_.Add(
          number, "", Format("BlockSizes= is given on line {} already", lines_.block_sizes_line));
    }
    lines_.block_sizes_line = number;
    for (const std::string_view part : base::Split(value, ',')) {
      if (lines_.block_sizes.size() == kMostLevels) {
        return faults_.Add(number, "", Format("BlockSizes: more than {} sizes", kMostLevels));
      }
      const auto size = base::ParseCount(part);
      if (!size) return faults_.Add(number, "", Format("BlockSizes: {}", size.error().message));
      const std::int64_t base_size =
          lines_.block_sizes.empty() ? *size : lines_.block_sizes.front();
      const bool grows = lines_.block_sizes.empty() || *size > lines_.block_sizes.back();
      const std::int64_t times = base_size > 0 ? *size / base_size : 0;
      if (!grows || times == 0 || *size % base_size != 0 || (times & (times - 1)) != 0) {
        return faults_.Add(number, "",
                           Format("BlockSizes: {}; give growing sizes, each the first times a "
                                  "power of two, such as 18,36,72",
                                  *size));
      }
      lines_.block_sizes.push_back(*size);
    }
  }

  void UnknownKey(std::string_view key, std::int64_t number) {
    constexpr std::array<std::string_view, 6> kKeys = {"SwitchName", "Switches",  "Nodes",
                                                       "LinkSpeed",  "BlockName", "BlockSizes"};
    const std::string_view near = base::Nearest(key, kKeys);
    faults_.Add(number, "",
                Format("unknown key {}; {}", Quote(key),
                       near.empty() ? std::string("the keys are SwitchName, Switches, Nodes, "
                                                  "LinkSpeed, BlockName and BlockSizes")
                                    : Format("did you mean {}?", near)));
  }

  LineFaults& faults_;
  Lines lines_;
};

// ---------------------------------------------------------------------------- the tree

constexpr std::size_t kNone = SIZE_MAX;

/// Switches or blocks by their place in the file; the vectors run in parallel.
struct Tree {
  std::vector<Entry> entries;
  std::vector<std::size_t> parent;
  std::vector<std::vector<std::size_t>> children;
  std::vector<std::vector<std::string>> nodes;
  std::vector<std::size_t> level;       // 0 = leaf
  std::vector<std::size_t> tree_order;  // from the roots down
};

class TreeBuilder {
 public:
  TreeBuilder(std::string_view kind, LineFaults& faults) : kind_(kind), faults_(faults) {}

  Tree Build(std::vector<Entry> entries) {
    tree_.entries = std::move(entries);
    const std::size_t count = tree_.entries.size();
    tree_.parent.assign(count, kNone);
    tree_.children.resize(count);
    tree_.nodes.resize(count);
    tree_.level.assign(count, 0);
    AddNames();
    for (std::size_t i = 0; i < count; ++i) {
      AddChildren(i);
      AddNodes(i);
    }
    Order();
    FindCycles();
    SetLevels();
    return std::move(tree_);
  }

 private:
  std::string Name(std::size_t i) const {
    return Format("{} {}", kind_, Quote(tree_.entries[i].name));
  }
  std::int64_t LineOf(std::size_t i) const { return tree_.entries[i].line; }

  std::vector<std::string> Expand(std::size_t i, const std::string& list) {
    if (list.empty()) return {};
    auto names = ExpandHostlist(list);
    if (!names) {
      faults_.Add(LineOf(i), "", Format("{}: {}", Name(i), names.error().message));
      return {};
    }
    if (names->size() > names_left_) {
      names_left_ = 0;
      faults_.Add(LineOf(i), "",
                  Format("{}: more than {} names in this file", Name(i), kMostNames));
      return {};
    }
    names_left_ -= names->size();
    return std::move(*names);
  }

  void AddNames() {
    for (std::size_t i = 0; i < tree_.entries.size(); ++i) {
      const auto [known, added] = by_name_.emplace(tree_.entries[i].name, i);
      if (added) continue;
      faults_.Add(LineOf(i), "",
                  Format("{} is on line {} already; remove one", Name(i), LineOf(known->second)));
    }
  }

  void AddChildren(std::size_t i) {
    for (const std::string& name : Expand(i, tree_.entries[i].switches)) {
      const auto child = by_name_.find(name);
      if (child == by_name_.end()) {
        faults_.Add(LineOf(i), "",
                    Format("{} lists the unknown switch {}; add its SwitchName= line", Name(i),
                           Quote(name)));
        continue;
      }
      std::size_t& parent = tree_.parent[child->second];
      if (parent != kNone) {
        faults_.Add(LineOf(i), "",
                    Format("{} is below {} and {}; a switch has one parent", Name(child->second),
                           Name(parent), Name(i)));
        continue;
      }
      parent = i;
      tree_.children[i].push_back(child->second);
    }
  }

  void AddNodes(std::size_t i) {
    for (std::string& name : Expand(i, tree_.entries[i].nodes)) {
      const auto [known, added] = place_of_node_.emplace(name, i);
      if (added) {
        tree_.nodes[i].push_back(std::move(name));
      } else if (known->second == i) {
        faults_.Add(LineOf(i), "",
                    Format("{} lists node {} twice; remove one", Name(i), Quote(name)));
      } else {
        faults_.Add(LineOf(i), "",
                    Format("node {} is below {} and {}; a node has one", Quote(name),
                           Name(known->second), Name(i)));
      }
    }
  }

  void Order() {
    std::vector<std::size_t> open;  // a stack: children go on it last to first
    for (std::size_t root = tree_.entries.size(); root-- > 0;) {
      if (tree_.parent[root] == kNone) open.push_back(root);
    }
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      tree_.tree_order.push_back(i);
      const auto& children = tree_.children[i];
      open.insert(open.end(), children.rbegin(), children.rend());
    }
  }

  /// Everything has one parent at most, so that what no root reaches is a circle or hangs below
  /// one.
  void FindCycles() {
    std::vector<bool> seen(tree_.entries.size(), false);
    for (const std::size_t i : tree_.tree_order) seen[i] = true;
    for (std::size_t start = 0; start < seen.size(); ++start) {
      std::vector<std::size_t> way;
      std::size_t i = start;
      for (; !seen[i]; i = tree_.parent[i]) {
        seen[i] = true;
        way.push_back(i);
      }
      const auto again = std::ranges::find(way, i);
      if (again == way.end()) continue;  // reaches something that was looked at before
      std::string circle = tree_.entries[i].name;
      constexpr std::ptrdiff_t kMostShown = 8;
      const bool shorten = way.end() - again > kMostShown;
      for (auto at = again + 1; at != way.end() && at - again < kMostShown; ++at) {
        circle += Format(" < {}", tree_.entries[*at].name);
      }
      faults_.Add(LineOf(i), "",
                  Format("{} is below itself: {} < {}{}", Name(i), circle, shorten ? "... < " : "",
                         tree_.entries[i].name));
    }
  }

  void SetLevels() {
    for (auto at = tree_.tree_order.rbegin(); at != tree_.tree_order.rend(); ++at) {
      const std::size_t parent = tree_.parent[*at];
      if (parent == kNone) continue;
      tree_.level[parent] = std::max(tree_.level[parent], tree_.level[*at] + 1);
    }
    for (const std::size_t i : tree_.tree_order) {
      if (tree_.parent[i] != kNone || tree_.level[i] < kMostLevels) continue;
      faults_.Add(LineOf(i), "",
                  Format("{} is the root of a tree of {} levels; at most {} are supported", Name(i),
                         tree_.level[i] + 1, kMostLevels));
    }
  }

  std::string_view kind_;
  LineFaults& faults_;
  Tree tree_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::string, std::size_t> place_of_node_;
  std::size_t names_left_ = kMostNames;
};

// ---------------------------------------------------------------------------- the cluster

/// Bandwidth left to a gang that spans two leaves under one spine, and two spines: measured figures
/// for rail-optimised networks. No figure is known for higher levels; they get the last one.
constexpr std::int64_t kAcrossLeaves = 950;
constexpr std::int64_t kAcrossSpines = 830;

std::string SwitchLevelName(std::size_t level) {
  constexpr std::array<std::string_view, 3> kNames = {"leaf", "spine", "core"};
  return level < kNames.size() ? std::string(kNames[level]) : Format("level{}", level + 1);
}

SlurmTopology SwitchCluster(const Tree& tree, const model::NodeSpec& template_node) {
  SlurmTopology out;
  std::size_t levels = 0;
  for (const std::size_t level : tree.level) levels = std::max(levels, level + 1);
  for (std::size_t level = levels; level-- > 0;) {
    const std::string name = SwitchLevelName(level);
    out.cluster.levels.push_back(
        {.name = name,
         .label = name,
         .bandwidth_permille = level == 0 ? kAcrossLeaves : kAcrossSpines});
  }
  std::size_t stand_ins = 0;
  for (const std::size_t leaf : tree.tree_order) {
    if (tree.nodes[leaf].empty()) continue;
    model::NodeSpec node = template_node;
    std::size_t at = leaf;
    for (std::size_t level = 0; level < levels; ++level) {
      const std::size_t parent = tree.parent[at];
      if (parent != kNone && tree.level[parent] == level) at = parent;
      if (tree.level[at] != level) stand_ins += tree.nodes[leaf].size();
      model::SetLabel(node.labels, SwitchLevelName(level), tree.entries[at].name);
    }
    for (const std::string& name : tree.nodes[leaf]) {
      node.name = name;
      out.cluster.nodes.push_back(node);
    }
  }
  const auto roots = std::ranges::count(tree.parent, kNone);
  if (roots > 1) {
    out.cluster.fabric = out.cluster.levels.front().name;
    out.notes.push_back(
        Format("{} switch trees without a common root: no job can span two of them", roots));
  }
  if (stand_ins > 0) {
    out.notes.push_back(
        Format("the trees are of uneven depth: {} missing levels of nodes were filled with the "
               "switch below",
               stand_ins));
  }
  return out;
}

SlurmTopology BlockCluster(const Tree& tree, std::span<const std::int64_t> sizes,
                           const model::NodeSpec& template_node) {
  SlurmTopology out;
  const std::int64_t base_size = sizes.empty() ? 1 : sizes.front();
  std::vector<std::size_t> blocks_in;  // one domain of each level, innermost first
  for (const std::int64_t size : sizes)
    blocks_in.push_back(static_cast<std::size_t>(size / base_size));
  if (blocks_in.empty()) blocks_in.push_back(1);
  const auto level_name = [&](std::size_t level) {
    return level == 0 ? std::string("block") : Format("block{}", sizes[level]);
  };
  for (std::size_t level = blocks_in.size(); level-- > 0;) {
    out.cluster.levels.push_back({.name = level_name(level), .label = level_name(level)});
  }
  std::size_t small_blocks = 0;
  for (std::size_t block = 0; block < tree.entries.size(); ++block) {
    model::NodeSpec node = template_node;
    for (std::size_t level = 0; level < blocks_in.size(); ++level) {
      const std::size_t first = block - block % blocks_in[level];
      const std::size_t last = std::min(first + blocks_in[level], tree.entries.size()) - 1;
      const std::string& name = tree.entries[first].name;
      model::SetLabel(node.labels, level_name(level),
                      first == last ? name : Format("{}..{}", name, tree.entries[last].name));
    }
    if (static_cast<std::int64_t>(tree.nodes[block].size()) < base_size) ++small_blocks;
    for (const std::string& name : tree.nodes[block]) {
      node.name = name;
      out.cluster.nodes.push_back(node);
    }
  }
  if (small_blocks > 0) {
    out.notes.push_back(Format("{} {} fewer nodes than the first of BlockSizes, {}", small_blocks,
                               small_blocks == 1 ? "block has" : "blocks have", base_size));
  }
  return out;
}

}  // namespace

base::Checked<SlurmTopology> ParseSlurmTopology(std::string_view text, std::string_view file,
                                                const model::NodeSpec& template_node) {
  LineFaults faults(file);
  Lines lines = LineReader(faults).Read(text);
  if (faults.IsEmpty() && lines.switches.empty() && lines.blocks.empty()) {
    faults.Add(0, "",
               "the file names no switch and no block; it needs SwitchName= or BlockName= lines");
  }
  if (!lines.switches.empty() && !lines.blocks.empty()) {
    faults.Add(lines.blocks.front().line, "",
               "switches and blocks in one file; Slurm reads one kind of topology");
  }
  if (!faults.IsEmpty()) return std::move(faults).Take();
  const bool is_block = !lines.blocks.empty();
  const Tree tree = TreeBuilder(is_block ? "block" : "switch", faults)
                        .Build(std::move(is_block ? lines.blocks : lines.switches));
  std::size_t nodes = 0;
  for (const auto& each : tree.nodes) nodes += each.size();
  if (const std::string exceeded = ClusterTotals().Add(template_node, nodes); !exceeded.empty())
    faults.Add(0, "", Format("the nodes of this file would have {}", exceeded));
  if (!faults.IsEmpty()) return std::move(faults).Take();
  SlurmTopology out = is_block ? BlockCluster(tree, lines.block_sizes, template_node)
                               : SwitchCluster(tree, template_node);
  if (!is_block && lines.block_sizes_line != 0) {
    out.notes.emplace_back("BlockSizes ignored: the file describes switches");
  }
  if (lines.lines_with_speed > 0) {
    out.notes.push_back(Format("LinkSpeed ignored on {} lines", lines.lines_with_speed));
  }
  return out;
}

base::Checked<model::Cluster> ReadSlurmTopology(std::string_view text, std::string_view file,
                                                const model::NodeSpec& template_node) {
  auto topology = ParseSlurmTopology(text, file, template_node);
  if (!topology) return std::move(topology.error());
  return std::move(topology->cluster);
}

}  // namespace muster::format
