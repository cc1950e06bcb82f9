// SPDX-License-Identifier: Apache-2.0
#include "format/cluster_document.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "format/codec.h"
#include "format/fields.h"
#include "format/hostlist.h"
#include "format/parse.h"
#include "format/schema.h"
#include "model/labels.h"

namespace muster::format {
namespace {

using base::Format;
using base::Quote;

// A cluster of more is none that we know; with them a typing error cannot ask for all memory.
constexpr std::size_t kMostLevels = 16;
constexpr std::size_t kMaxDevices = std::size_t{1} << 22;
constexpr std::size_t kMostEntriesOfNode = 256;
constexpr std::size_t kMostEntries = std::size_t{1} << 24;
constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

/// Equal devices in a row, in equal NVLink or NUMA groups.
struct DeviceRun {
  std::string model;
  std::int32_t count = 1;
  base::Bytes memory;
  std::int32_t groups = 1;
};

using Domains = std::vector<std::pair<std::string, std::int32_t>>;

struct NodeGroup {
  std::string name;
  std::vector<DeviceRun> devices;
  bool anonymous_devices = false;
  base::MilliCpu cpu;
  base::Bytes memory;
  std::int32_t rdma = 0;
  std::vector<model::NamedAmount> extended;
  model::Labels labels;
  std::vector<model::Taint> taints;
  Domains domains;
};

struct Metadata {
  std::string name;
};

struct Document {
  Metadata metadata;
  std::vector<model::Level> levels;
  std::string fabric;
  std::vector<NodeGroup> nodes;
};

Codec<DeviceRun> DeviceRunCodec() {
  constexpr CountRange devices = {.min = 1, .max = model::kMaxDevicesPerNode};
  return Struct<DeviceRun>({
      Key("model", &DeviceRun::model, Name(), "model, as jobs name it").Required(),
      Key("count", &DeviceRun::count, Count(devices), "devices of this model on each node"),
      Key("memory", &DeviceRun::memory, BytesOf({.max = kMostMemory}),
          "memory of each; left out: unknown, fits no job that asks for GPU memory"),
      Key("groups", &DeviceRun::groups, Count(devices),
          "NVLink or NUMA groups that they form, of equal size"),
  });
}

Codec<NodeGroup> NodeGroupCodec() {
  Codec<std::string> names = FreeText();
  names.shape.type = "host list";
  names.decode = [decode = names.decode](const Value& value, Decoder& decoder) {
    std::string text = decode(value, decoder);
    if (value.kind != Value::Kind::kScalar) return text;
    if (const auto hosts = ExpandHostlist(text); !hosts)
      decoder.Report(value, hosts.error().message);
    return text;
  };
  return StructWithExtended<NodeGroup>(
      {
          Key("name", &NodeGroup::name, names, "names, like gpu[0001-1250] or login,gpu[1-3,7]")
              .Required(),
          Key("devices", &NodeGroup::devices, OneOrList(DeviceRunCodec()), "GPUs of each node"),
          Key("anonymousDevices", &NodeGroup::anonymous_devices, Flag(),
              "the layer below chooses the device; Muster only counts"),
          Key("cpu", &NodeGroup::cpu, CpuOf({.max = kMostCpu}), "CPUs of each node"),
          Key("memory", &NodeGroup::memory, BytesOf({.max = kMostMemory}), "memory of each node"),
          Key("rdma", &NodeGroup::rdma, Count({.max = kMostNics}), "network cards of each node"),
          Key("labels", &NodeGroup::labels, LabelsCodec(), "labels of each node"),
          Key("taints", &NodeGroup::taints,
              ListOf(Struct<model::Taint>({
                  Key("key", &model::Taint::key, Name(), "name of the taint").Required(),
                  Key("value", &model::Taint::value, FreeText(), "its value"),
              })),
              "keep away jobs that do not tolerate them"),
          Key("domains", &NodeGroup::domains,
              MapOf(Count({.min = 1, .max = static_cast<std::int64_t>(kMaxHosts)})),
              "level: how many nodes in a row share a domain of it; domains are named "
              "<level>-<number>, numbered "
              "from 1 over the whole file"),
      },
      &NodeGroup::extended);
}

const Codec<Document>& DocumentCodec() {
  static const Codec<Document> codec = Struct<Document>(WithHead<Document>(
      DocumentKind::kCluster,
      {
          Key("metadata", &Document::metadata,
              Struct<Metadata>({Key("name", &Metadata::name, Name(), "name of the cluster")}),
              "what it is called"),
          Key("levels", &Document::levels, LevelsCodec(),
              "topology levels, outermost first, without node"),
          Key("fabric", &Document::fabric, Name(),
              "level whose domains no gang spans; left out: none"),
          Key("nodes", &Document::nodes, ListOf(NodeGroupCodec()),
              "nodes, in groups of equal ones; other keys of a group are resources by that name")
              .Required(),
      }));
  return codec;
}

/// Labels, taints and named resources of a node.
std::size_t EntriesOf(const model::NodeSpec& node) {
  return node.labels.size() + node.taints.size() + node.extended.size();
}

std::size_t TextBytesOf(const model::NodeSpec& node) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : node.labels) bytes += key.size() + value.size();
  for (const model::Taint& taint : node.taints) bytes += taint.key.size() + taint.value.size();
  for (const model::NamedAmount& amount : node.extended) bytes += amount.name.size();
  for (const model::Device& device : node.devices) bytes += device.model.size();
  return bytes;
}

/// What is wrong between levels.
base::Errors LevelRules(std::span<const model::Level> levels) {
  base::Errors errors;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto report = [&](std::string message) {
      errors.push_back({base::ErrorCode::kInvalid, std::move(message), Format("levels[{}]", i)});
    };
    const model::Level& level = levels[i];
    const auto before = levels.first(i);
    if (level.name == "node" || level.name == "any")
      report(Format("{} is no level to define", level.name));
    if (std::ranges::find(before, level.name, &model::Level::name) != before.end()) {
      report(Format("{} is given twice", Quote(level.name)));
      continue;
    }
    const auto same = std::ranges::find(before, level.label, &model::Level::label);
    if (same == before.end()) continue;
    report(Format("{} and {} have the same label {}; give each its own", Quote(same->name),
                  Quote(level.name), Quote(level.label)));
  }
  return errors;
}

std::vector<model::Device> ExpandDevices(const std::vector<DeviceRun>& runs) {
  std::vector<model::Device> devices;
  std::int32_t first_group = 0;
  for (const DeviceRun& run : runs) {
    for (std::int32_t i = 0; i < run.count; ++i) {
      const std::int32_t group = first_group + i * run.groups / run.count;
      devices.push_back({run.model, run.memory, static_cast<std::uint16_t>(group)});
    }
    first_group += run.groups;
  }
  return devices;
}

/// Turns the groups of a document into nodes and checks what holds between them.
class Expansion {
 public:
  Expansion(const Document& document, Decoder& decoder)
      : document_(document), decoder_(decoder), next_domain_(document.levels.size(), 1) {
    cluster_.name = document.metadata.name;
    cluster_.levels = document.levels;
    cluster_.fabric = document.fabric;
  }

  model::Cluster Run() && {
    // A fault already, and what follows takes time for each level of each node.
    if (document_.levels.size() > kMostLevels) return std::move(cluster_);
    CheckLevels();
    if (document_.nodes.empty()) Report("nodes", "a cluster needs at least one node");
    for (std::size_t i = 0; i < document_.nodes.size(); ++i) {
      if (!AddGroup(i)) return std::move(cluster_);
    }
    CheckNames();
    for (std::size_t outer = 0; outer + 1 < document_.levels.size(); ++outer) CheckNesting(outer);
    return std::move(cluster_);
  }

 private:
  void Report(std::string where, std::string message) {
    decoder_.ReportRule({base::ErrorCode::kInvalid, std::move(message), std::move(where)});
  }

  std::vector<std::string_view> LevelNames() const {
    std::vector<std::string_view> names;
    for (const model::Level& level : document_.levels) names.push_back(level.name);
    return names;
  }

  void CheckLevels() {
    for (const base::Error& error : LevelRules(document_.levels)) decoder_.ReportRule(error);
    const std::vector<std::string_view> names = LevelNames();
    const std::string& fabric = document_.fabric;
    if (!fabric.empty() && std::ranges::find(names, fabric) == names.end()) {
      Report("fabric", names.empty() ? "there are no levels" : NoSuchName(fabric, names));
    }
  }

  void CheckDevices(const NodeGroup& group, const std::string& path) {
    std::int64_t count = 0;
    for (const DeviceRun& run : group.devices) {
      count += run.count;
      if (run.count % run.groups != 0) {
        Report(path + ".devices",
               Format("{} devices do not make {} equal groups", run.count, run.groups));
      }
    }
    if (count > model::kMaxDevicesPerNode) {
      Report(path + ".devices",
             Format("{} devices on a node; at most {}", count, model::kMaxDevicesPerNode));
    }
  }

  void CheckDomains(const NodeGroup& group, const std::string& path) {
    const std::vector<std::string_view> names = LevelNames();
    for (const auto& [name, size] : group.domains) {
      const std::string where = Format("{}.domains.{}", path, name);
      const auto level = std::ranges::find(document_.levels, name, &model::Level::name);
      if (level == document_.levels.end()) {
        Report(where, names.empty() ? "there are no levels" : NoSuchName(name, names));
      } else if (model::FindLabel(group.labels, level->label) != nullptr) {
        Report(where, Format("label {} names the domain already", Quote(level->label)));
      }
    }
  }

  /// False when a bound on the whole cluster is exceeded.
  bool AddGroup(std::size_t index) {
    const NodeGroup& group = document_.nodes[index];
    const std::string path = Format("nodes[{}]", index);
    CheckDevices(group, path);
    CheckDomains(group, path);
    base::Result<std::vector<std::string>> names = ExpandHostlist(group.name);
    if (!names) return true;  // reported where it was read
    const model::NodeSpec pattern{.devices = ExpandDevices(group.devices),
                                  .anonymous_devices = group.anonymous_devices,
                                  .cpu = group.cpu,
                                  .memory = group.memory,
                                  .nics = group.rdma,
                                  .extended = group.extended,
                                  .labels = group.labels,
                                  .taints = group.taints};
    if (std::string exceeded = totals_.Add(WithDomains(pattern, group.domains), names->size());
        !exceeded.empty()) {
      Report(path, std::move(exceeded));
      return false;
    }
    AddNodes(*std::move(names), pattern, group.domains);
    group_of_.resize(cluster_.nodes.size(), index);
    return true;
  }

  /// A node of the group as large as it becomes.
  model::NodeSpec WithDomains(model::NodeSpec node, const Domains& domains) const {
    for (std::size_t level = 0; level < document_.levels.size(); ++level) {
      if (SizeAt(domains, level) == 0) continue;
      model::SetLabel(node.labels, document_.levels[level].label,
                      Format("{}-{}", document_.levels[level].name, kMaxHosts));
    }
    return node;
  }

  void AddNodes(std::vector<std::string> names, const model::NodeSpec& pattern,
                const Domains& domains) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      model::NodeSpec& node = cluster_.nodes.emplace_back(pattern);
      node.name = std::move(names[i]);
      for (std::size_t level = 0; level < document_.levels.size(); ++level) {
        const std::int32_t size = SizeAt(domains, level);
        if (size == 0) continue;
        const std::size_t number = next_domain_[level] + i / static_cast<std::size_t>(size);
        model::SetLabel(node.labels, document_.levels[level].label,
                        Format("{}-{}", document_.levels[level].name, number));
      }
    }
    for (std::size_t level = 0; level < document_.levels.size(); ++level) {
      const auto size = static_cast<std::size_t>(SizeAt(domains, level));
      if (size != 0) next_domain_[level] += (names.size() + size - 1) / size;
    }
  }

  std::int32_t SizeAt(const Domains& domains, std::size_t level) const {
    const auto domain =
        std::ranges::find(domains, document_.levels[level].name, &Domains::value_type::first);
    return domain == domains.end() ? 0 : domain->second;
  }

  void CheckNames() {
    std::vector<std::size_t> order(cluster_.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return std::string_view(cluster_.nodes[i].name); });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::string& name = cluster_.nodes[order[i]].name;
      if (name != cluster_.nodes[order[i - 1]].name) continue;
      Report(Format("nodes[{}].name", group_of_[order[i]]),
             Format("node {} is there already", Quote(name)));
      return;  // one is enough: a range given twice would report each of its nodes
    }
  }

  /// Each domain of a level lies in one domain of the level outside it. A node without the label is
  /// a domain of its own and proves nothing.
  void CheckNesting(std::size_t outer) {
    const std::string& outer_label = document_.levels[outer].label;
    const std::string& inner_label = document_.levels[outer + 1].label;
    std::map<std::string_view, std::string_view> parents;
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
      const std::string* const parent = model::FindLabel(cluster_.nodes[i].labels, outer_label);
      const std::string* const domain = model::FindLabel(cluster_.nodes[i].labels, inner_label);
      if (parent == nullptr || domain == nullptr) continue;
      const auto [known, added] = parents.emplace(*domain, *parent);
      if (added || known->second == *parent) continue;
      Report(Format("nodes[{}].domains", group_of_[i]),
             Format("{} {} lies in two domains of {}: {} and {}", document_.levels[outer + 1].name,
                    Quote(*domain), document_.levels[outer].name, Quote(known->second),
                    Quote(*parent)));
      return;
    }
  }

  const Document& document_;
  Decoder& decoder_;
  model::Cluster cluster_;
  std::vector<std::size_t> group_of_;     // of each node
  std::vector<std::size_t> next_domain_;  // of each level
  ClusterTotals totals_;
};

/// Neighbours of equal model, memory and group are a run; equal runs in a row are groups of one.
std::vector<DeviceRun> FoldDevices(const std::vector<model::Device>& devices) {
  std::vector<DeviceRun> runs;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i;
    while (end < devices.size() && devices[end] == devices[i]) ++end;
    const auto size = static_cast<std::int32_t>(end - i);
    const bool goes_on = !runs.empty() && runs.back().model == devices[i].model &&
                         runs.back().memory == devices[i].memory &&
                         runs.back().count / runs.back().groups == size;
    if (goes_on) {
      runs.back().count += size;
      ++runs.back().groups;
    } else {
      runs.push_back({.model = devices[i].model, .count = size, .memory = devices[i].memory});
    }
    i = end;
  }
  return runs;
}

bool SameButName(const model::NodeSpec& a, const model::NodeSpec& b) {
  model::NodeSpec renamed = b;
  renamed.name = a.name;
  return a == renamed;
}

NodeGroup ToGroup(const model::NodeSpec& node, std::span<const std::string> names) {
  return {.name = FormatHostlist(names),
          .devices = FoldDevices(node.devices),
          .anonymous_devices = node.anonymous_devices,
          .cpu = node.cpu,
          .memory = node.memory,
          .rdma = node.nics,
          .extended = node.extended,
          .labels = node.labels,
          .taints = node.taints};
}

}  // namespace

base::Errors CheckLevels(std::span<const model::Level> levels) {
  if (levels.size() > kMostLevels) {
    return {{base::ErrorCode::kInvalid, Format("{} levels; at most {}", levels.size(), kMostLevels),
             "levels"}};
  }
  base::Errors errors;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Decoder decoder({});
    for (const std::string& name : {levels[i].name, levels[i].label}) {
      if (decoder.faults().empty()) Name().decode(Text(name), decoder);
    }
    for (Fault& fault : decoder.faults()) {
      errors.push_back(
          {base::ErrorCode::kInvalid, std::move(fault.message), Format("levels[{}]", i)});
    }
  }
  std::ranges::move(LevelRules(levels), std::back_inserter(errors));
  return errors;
}

std::string ClusterTotals::Add(const model::NodeSpec& node, std::size_t count) {
  if (EntriesOf(node) > kMostEntriesOfNode) {
    return Format("{} labels, taints and named resources on a node; at most {}", EntriesOf(node),
                  kMostEntriesOfNode);
  }
  const auto within = [count](std::size_t& total, std::size_t each, std::size_t most) {
    if (each != 0 && (most - total) / each < count) return false;
    total += each * count;
    return true;
  };
  if (!within(nodes_, 1, kMaxHosts)) return Format("more than {} nodes in all", kMaxHosts);
  if (!within(devices_, node.devices.size(), kMaxDevices))
    return Format("more than {} devices in all", kMaxDevices);
  if (!within(entries_, EntriesOf(node), kMostEntries)) {
    return Format("more than {} labels, taints and named resources in all", kMostEntries);
  }
  if (!within(text_bytes_, TextBytesOf(node), kMostTextBytes)) {
    return Format("more than {} bytes of labels and other names in all", kMostTextBytes);
  }
  const auto nodes = static_cast<std::int64_t>(count);
  if (nodes != 0 && (kMostMemoryInAll - memory_) / nodes < node.memory)
    return Format("more than {} of memory in all", base::FormatBytes(kMostMemoryInAll));
  memory_ += node.memory * nodes;
  return "";
}

base::Checked<model::Cluster> ParseCluster(std::string_view text, std::string_view file) {
  base::Result<Parsed> parsed = ParseOneDocument(text, file, DocumentKind::kCluster);
  if (!parsed) return parsed.error();
  Decoder decoder({});
  const Document document = DocumentCodec().decode(parsed->documents.front(), decoder);
  model::Cluster cluster = Expansion(document, decoder).Run();
  std::ranges::move(decoder.faults(), std::back_inserter(parsed->faults));
  if (!parsed->faults.empty()) return ToErrors(file, std::move(parsed->faults));
  return cluster;
}

Value EncodeCluster(const model::Cluster& cluster) {
  Document document{.metadata = {cluster.name}, .levels = cluster.levels, .fabric = cluster.fabric};
  for (std::size_t i = 0; i < cluster.nodes.size();) {
    std::vector<std::string> names;
    std::size_t end = i;
    while (end < cluster.nodes.size() && SameButName(cluster.nodes[i], cluster.nodes[end])) {
      names.push_back(cluster.nodes[end++].name);
    }
    document.nodes.push_back(ToGroup(cluster.nodes[i], names));
    i = end;
  }
  return DocumentCodec().encode(document);
}

Value ClusterSchema() { return JsonSchema("Muster cluster", DocumentCodec().shape, {}); }

std::string ClusterReference() { return Reference("Cluster document", DocumentCodec().shape, {}); }

}  // namespace muster::format
