// SPDX-License-Identifier: Apache-2.0
// GET /v1/nodes, /v1/nodes/{name}; POST /v1/nodes/{name}/state, /v1/health-facts.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/bodies.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "api/resources/shapes.h"
#include "base/strings.h"
#include "base/units.h"
#include "server/names.h"

namespace muster::api {
namespace {

using base::Format;
using base::Quote;
using format::Map;
using format::Text;
using format::Value;

std::vector<std::string> ModelsOf(const model::NodeSpec& spec) {
  std::vector<std::string> models;
  for (const model::Device& device : spec.devices) {
    if (std::ranges::find(models, device.model) == models.end()) models.push_back(device.model);
  }
  return models;
}

/// Its domains from the outside in.
Value DomainsValue(const engine::View& view, model::NodeId node) {
  Value list = format::List();
  for (int level = view.level_count() - 2; level >= 1; --level) {
    const std::uint32_t domain = view.DomainOf(node, level);
    if (domain == UINT32_MAX) continue;
    Value value = Map();
    value.Add("level", Text(std::string(view.LevelName(level))));
    value.Add("name", Text(view.DomainName(level, domain)));
    list.items.push_back(std::move(value));
  }
  return list;
}

Value NodeValue(const server::Picture& picture, model::NodeId id, const engine::NodeView& node) {
  const model::NodeSpec& spec = *node.spec;
  Value value = Map();
  value.entries.reserve(16);
  value.Add("name", Text(spec.name));
  value.Add("state", Text(std::string(server::Name(node.state))));
  if (const auto record = picture.tables.nodes->find(spec.name);
      record != picture.tables.nodes->end()) {
    if (!record->second.state_reason.empty())
      value.Add("stateReason", Text(record->second.state_reason));
    if (!record->second.note.empty()) value.Add("note", Text(record->second.note));
  }
  if (node.gone) value.Add("gone", Flag(true));
  value.Add("models", TextList(ModelsOf(spec)));
  const std::uint32_t place = picture.view.DomainOf(id, 0);
  engine::Inventory counts{};
  if (place != UINT32_MAX) counts = picture.view.Devices({.level = 0, .domain = place});
  value.Add("devices", DeviceCountsValue(counts));
  value.Add("cpu", Text(base::FormatCpu(spec.cpu)));
  value.Add("cpuUsed", Text(base::FormatCpu(node.cpu_used)));
  value.Add("memory", Text(base::FormatBytes(spec.memory)));
  value.Add("memoryUsed", Text(base::FormatBytes(node.memory_used)));
  value.Add("nics", Number(spec.nics));
  value.Add("domains", DomainsValue(picture.view, id));
  return value;
}

/// What runs on a node: the jobs with the number of their ranks there, and who has each device.
struct Tenants {
  std::vector<std::pair<model::JobId, std::int64_t>> jobs;
  std::array<model::JobId, model::kMaxDevicesPerNode> of_device;
};

Tenants TenantsOf(const server::Picture& picture, model::NodeId node) {
  Tenants tenants;
  tenants.of_device.fill(model::JobId::None());
  VisitJobs(picture, 1, true, INT64_MAX, [&](const JobCard& card) {
    if (card.place() == nullptr) return true;
    std::int64_t ranks = 0;
    for (const model::ReplicaPlacement& rank : card.place()->ranks) {
      if (rank.node != node) continue;
      ++ranks;
      for (std::size_t i = 0; i < tenants.of_device.size(); ++i) {
        if ((rank.devices >> i & 1) != 0) tenants.of_device[i] = card.id;
      }
    }
    if (ranks > 0) tenants.jobs.emplace_back(card.id, ranks);
    return true;
  });
  return tenants;
}

/// As the inventory counts it (`engine::View::Devices`).
model::DeviceState StateOf(const engine::NodeView& node, std::size_t device) {
  using State = model::DeviceState;
  const auto in = [device](model::DeviceMask mask) { return (mask >> device & 1) != 0; };
  if (node.state == model::NodeState::kDown) return State::kUnknown;
  if (in(node.faulty)) return State::kFaulty;
  if (in(node.foreign)) return State::kForeign;
  if (in(node.allocated))
    return node.state == model::NodeState::kDraining ? State::kDraining : State::kAllocated;
  return node.state == model::NodeState::kReady ? State::kIdle : State::kDraining;
}

Value DevicesValue(const engine::NodeView& node, const Tenants& tenants) {
  Value list = format::List();
  for (std::size_t i = 0; i < node.spec->devices.size(); ++i) {
    const model::Device& device = node.spec->devices[i];
    Value value = Map();
    value.Add("index", Number(i));
    value.Add("model", Text(device.model));
    value.Add("memory", Text(base::FormatBytes(device.memory)));
    value.Add("group", Number(device.group));
    // Of devices that are only counted nobody knows which one a job has.
    if (!node.spec->anonymous_devices) {
      value.Add("state", Text(std::string(server::Name(StateOf(node, i)))));
      const bool held = (node.allocated >> i & 1) != 0 && !tenants.of_device[i].IsNone();
      if (held) value.Add("job", Number(tenants.of_device[i].value));
    }
    list.items.push_back(std::move(value));
  }
  return list;
}

Value DetailValue(const server::Picture& picture, model::NodeId id, const engine::NodeView& node) {
  Value value = NodeValue(picture, id, node);
  Value labels = Map();
  for (const auto& [key, text] : node.spec->labels) labels.Add(key, Text(text));
  value.Add("labels", std::move(labels));
  Value taints = format::List();
  for (const model::Taint& taint : node.spec->taints) {
    Value row = Map();
    row.Add("key", Text(taint.key));
    row.Add("value", Text(taint.value));
    taints.items.push_back(std::move(row));
  }
  value.Add("taints", std::move(taints));
  const Tenants tenants = TenantsOf(picture, id);
  value.Add("deviceList", DevicesValue(node, tenants));
  Value jobs = format::List();
  for (const auto& [job, ranks] : tenants.jobs) {
    Value row = Map();
    row.Add("id", Number(job.value));
    row.Add("ranks", Number(ranks));
    jobs.items.push_back(std::move(row));
  }
  value.Add("jobs", std::move(jobs));
  return value;
}

}  // namespace

HttpResponse ListNodes(server::Front& front, const HttpRequest& request) {
  const auto limit = QueryCount(request, "limit", {.fallback = 1000, .min = 1, .max = 1000});
  const auto cursor = QueryCount(request, "cursor", {.fallback = 0, .max = UINT32_MAX});
  for (const auto* count : {&limit, &cursor}) {
    if (!*count) return Problem(count->error());
  }
  std::set<model::NodeState> states;
  for (const std::string_view name : QueryParts(request, "state")) {
    const auto state = ParseNodeState(name);
    if (!state) return Problem(Invalid(Format("query parameter state: no state {}", Quote(name))));
    states.insert(*state);
  }
  const server::PicturePtr picture = front.Look();
  Value nodes = format::List();
  std::optional<std::uint32_t> next;
  for (auto i = static_cast<std::uint32_t>(*cursor); i < picture->view.node_count() && !next; ++i) {
    const engine::NodeView node = picture->view.Node(model::NodeId{i});
    if (node.gone || (!states.empty() && !states.contains(node.state))) continue;
    if (std::ssize(nodes.items) == *limit) {
      next = i;
    } else {
      nodes.items.push_back(NodeValue(*picture, model::NodeId{i}, node));
    }
  }
  Value list = Map();
  list.Add("nodes", std::move(nodes));
  if (next) list.Add("next", Text(std::to_string(*next)));
  return Json(list);
}

HttpResponse GetNode(server::Front& front, const HttpRequest& request) {
  const std::string& name = PathText(request, "name");
  const server::PicturePtr picture = front.Look();
  const auto id = picture->view.FindNode(name);
  if (!id) return Problem(NotFound("node " + Quote(name)));
  return Json(DetailValue(*picture, *id, picture->view.Node(*id)));
}

void SetNodeState(server::Front& front, const HttpRequest& request, Respond respond) {
  base::Checked<NodeStateWish> wish = DecodeBody(request, NodeStateWishCodec());
  if (!wish) return respond(Problem(wish.error()));
  PostAndAnswer(front, request,
                server::SetNodeState{.node = PathText(request, "name"),
                                     .state = wish->state,
                                     .reason = std::move(wish->reason)},
                std::move(respond));
}

void ReportHealth(server::Front& front, const HttpRequest& request, Respond respond) {
  base::Checked<HealthFact> fact = DecodeBody(request, HealthFactCodec());
  if (!fact) return respond(Problem(fact.error()));
  const server::PicturePtr picture = front.Look();
  const auto id = picture->view.FindNode(fact->node);
  if (!id) return respond(Problem(NotFound("node " + Quote(fact->node))));
  const std::size_t devices = picture->view.Node(*id).spec->devices.size();
  model::DeviceMask mask = 0;
  for (const std::int32_t index : fact->faulty) {
    if (static_cast<std::size_t>(index) >= devices) {
      return respond(
          Problem(Invalid(Format("faulty: {} has {} devices, numbered from 0; there is no {}",
                                 fact->node, devices, index))));
    }
    mask |= model::DeviceMask{1} << index;
  }
  PostAndAnswer(front, request,
                server::ReportHealth{
                    .node = std::move(fact->node), .faulty = mask, .text = std::move(fact->text)},
                std::move(respond));
}

}  // namespace muster::api
