// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster_events.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "base/units.h"

namespace muster::sim {
namespace {

enum class Presence { kPresent, kToCome, kGone };

/// What is wrong with `event` for a node in this state, or nothing.
std::string Fault(const ClusterEvent& event, Presence presence) {
  const std::string node = base::Quote(event.node);
  if (presence == Presence::kGone) {
    return "node " + node + " was removed before; a node that comes back goes \"down\" and \"up\"";
  }
  if (event.kind == ClusterEventKind::kAdd && presence == Presence::kPresent) {
    return "node " + node + " is added twice";
  }
  if (event.kind != ClusterEventKind::kAdd && presence == Presence::kToCome) {
    return "node " + node + " is added only later";
  }
  return {};
}

}  // namespace

base::Errors CheckClusterEvents(const model::Cluster& cluster, const ClusterEvents& events) {
  std::unordered_map<std::string_view, Presence> presence;
  for (const model::NodeSpec& node : cluster.nodes) presence.emplace(node.name, Presence::kPresent);
  for (const ClusterEvent& event : events) {
    if (event.kind != ClusterEventKind::kAdd) continue;
    if (const auto at = presence.find(event.node); at != presence.end())
      at->second = Presence::kToCome;
  }
  base::Errors errors;
  for (const ClusterEvent& event : events) {
    const auto at = presence.find(event.node);
    const std::string where = event.where.empty()
                                  ? "event at " + base::FormatDuration(event.at - base::Instant{})
                                  : event.where;
    if (at == presence.end()) {
      errors.push_back({base::ErrorCode::kInvalid,
                        "node " + base::Quote(event.node) + " is not in the cluster", where});
      continue;
    }
    if (std::string fault = Fault(event, at->second); !fault.empty()) {
      errors.push_back({base::ErrorCode::kInvalid, std::move(fault), where});
    }
    if (event.kind == ClusterEventKind::kAdd) at->second = Presence::kPresent;
    if (event.kind == ClusterEventKind::kRemove) at->second = Presence::kGone;
  }
  return errors;
}

}  // namespace muster::sim
