// SPDX-License-Identifier: Apache-2.0
// GET /v1/topology, /v1/inventory: where devices are, and in what state.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/shapes.h"
#include "api/resources/site.h"
#include "base/strings.h"
#include "server/names.h"

namespace muster::api {
namespace {

using base::Format;
using format::Map;
using format::Text;
using format::Value;

/// What a domain has of the level below: domains, or nodes at the innermost.
struct Children {
  std::vector<std::uint32_t> domains;
  std::vector<model::NodeId> nodes;
};

/// The tree, from the nodes up: by level and domain.
class Tree {
 public:
  explicit Tree(const engine::View& view) : view_(view) {
    for (int level = 0; level < view.level_count(); ++level)
      children_.emplace_back(view.DomainCount(level));
    for (std::uint32_t i = 0; i < view.node_count(); ++i) AddNode(model::NodeId{i});
  }

  Value Encode(int level, std::uint32_t domain) const {
    const Children& children = children_[static_cast<std::size_t>(level)][domain];
    Value value = Map();
    value.entries.reserve(6);
    value.Add("level", Text(std::string(view_.LevelName(level))));
    value.Add("name", Text(view_.DomainName(level, domain)));
    value.Add("nodeCount", Number(CountNodes(level, domain)));
    value.Add("devices", DeviceCountsValue(view_.Devices({.level = level, .domain = domain})));
    Value list = format::List();
    if (level == 1) {
      for (const model::NodeId node : children.nodes)
        list.items.push_back(Text(view_.Node(node).spec->name));
      value.Add("nodes", std::move(list));
    } else {
      for (const std::uint32_t child : children.domains)
        list.items.push_back(Encode(level - 1, child));
      value.Add("children", std::move(list));
    }
    return value;
  }

 private:
  void AddNode(model::NodeId node) {
    if (view_.DomainOf(node, 0) == UINT32_MAX) return;  // gone
    At(1, node).nodes.push_back(node);
    for (int level = 2; level < view_.level_count(); ++level) {
      // Domains are numbered in topology order, but nodes come in that of their ids.
      std::vector<std::uint32_t>& domains = At(level, node).domains;
      const std::uint32_t child = view_.DomainOf(node, level - 1);
      const auto at = std::ranges::lower_bound(domains, child);
      if (at == domains.end() || *at != child) domains.insert(at, child);
    }
  }
  Children& At(int level, model::NodeId node) {
    return children_[static_cast<std::size_t>(level)][view_.DomainOf(node, level)];
  }
  std::size_t CountNodes(int level, std::uint32_t domain) const {
    const Children& children = children_[static_cast<std::size_t>(level)][domain];
    std::size_t count = children.nodes.size();
    for (const std::uint32_t child : children.domains) count += CountNodes(level - 1, child);
    return count;
  }

  const engine::View& view_;
  std::vector<std::vector<Children>> children_;
};

Value ModelsValue(const engine::View& view, const std::set<std::string, std::less<>>& models,
                  engine::InventoryFilter filter) {
  Value list = format::List();
  for (const std::string& name : models) {
    filter.model = name;
    const engine::Inventory counts = view.Devices(filter);
    if (std::ranges::all_of(counts, [](std::int64_t count) { return count == 0; })) continue;
    Value value = Map();
    value.Add("model", Text(name));
    value.Add("devices", DeviceCountsValue(counts));
    list.items.push_back(std::move(value));
  }
  return list;
}

}  // namespace

std::set<std::string, std::less<>> ModelsOf(const engine::View& view) {
  std::set<std::string, std::less<>> models;
  for (std::uint32_t i = 0; i < view.node_count(); ++i) {
    const engine::NodeView node = view.Node(model::NodeId{i});
    if (node.gone) continue;
    for (const model::Device& device : node.spec->devices) {
      if (!models.contains(device.model)) models.insert(device.model);
    }
  }
  return models;
}

NodeCounts CountNodes(const engine::View& view) {
  NodeCounts counts{};
  for (std::uint32_t i = 0; i < view.node_count(); ++i) {
    const engine::NodeView node = view.Node(model::NodeId{i});
    if (!node.gone) ++counts[static_cast<std::size_t>(node.state)];
  }
  return counts;
}

Value NodeCountsValue(const NodeCounts& counts) {
  Value value = Map();
  for (std::size_t i = 0; i < counts.size(); ++i)
    value.Add(std::string(server::Name(static_cast<model::NodeState>(i))), Number(counts[i]));
  return value;
}

HttpResponse GetTopology(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  const engine::View& view = picture->view;
  std::vector<std::string> levels;
  for (int level = view.level_count() - 1; level >= 0; --level)
    levels.emplace_back(view.LevelName(level));
  Value value = Map();
  value.Add("levels", TextList(std::move(levels)));
  value.Add("root", Tree(view).Encode(view.level_count() - 1, 0));
  return Json(value);
}

HttpResponse GetInventory(server::Front& front, const HttpRequest& request) {
  const server::PicturePtr picture = front.Look();
  const engine::View& view = picture->view;
  const std::string_view wanted = QueryText(request, "level");
  int level = -1;
  std::vector<std::string_view> names;
  for (int i = 0; i < view.level_count(); ++i) {
    names.push_back(view.LevelName(i));
    if (names.back() == wanted) level = i;
  }
  if (!wanted.empty() && level < 0)
    return Problem(Invalid(Format("query parameter level: {}", format::NoSuchName(wanted, names))));
  const auto models = ModelsOf(view);
  Value value = Map();
  value.Add("at", TimeValue(picture->at));
  value.Add("devices", DeviceCountsValue(view.Devices()));
  value.Add("models", ModelsValue(view, models, {}));
  value.Add("nodes", NodeCountsValue(CountNodes(view)));
  if (level >= 0) {
    Value domains = format::List();
    for (std::uint32_t d = 0; d < view.DomainCount(level); ++d) {
      Value domain = Map();
      domain.Add("name", Text(view.DomainName(level, d)));
      domain.Add("devices", DeviceCountsValue(view.Devices({.level = level, .domain = d})));
      domain.Add("models", ModelsValue(view, models, {.level = level, .domain = d}));
      domains.items.push_back(std::move(domain));
    }
    value.Add("domains", std::move(domains));
  }
  return Json(value);
}

}  // namespace muster::api
