// SPDX-License-Identifier: Apache-2.0
// What the driver's observations mean.
#include <variant>

#include "base/strings.h"
#include "server/gate.h"

namespace muster::server {

void Composer::Observe(const driver::Observation& observation) {
  std::visit([this](const auto& seen) { On(seen); }, observation);
}

void Composer::On(const driver::NodeFound& seen) {
  const auto known = view_.FindNode(seen.spec.name);
  const bool same = known && !view_.Node(*known).gone && *view_.Node(*known).spec == seen.spec;
  if (!same) batch_.facts.emplace_back(model::NodeSeen{seen.spec});
  const auto& nodes = *state_.tables().nodes;
  const auto record = nodes.find(seen.spec.name);
  if (record == nodes.end() || record->second.note != seen.note)
    batch_.notes.emplace_back(NodeNoted{.node = seen.spec.name, .note = seen.note});
}

void Composer::On(const driver::NodeMissing& seen) {
  const auto node = view_.FindNode(seen.node);
  if (!node || view_.Node(*node).gone) return;
  const engine::NodeView now = view_.Node(*node);
  if (now.allocated == 0 && now.cpu_used.IsZero() && now.memory_used.IsZero()) {
    batch_.facts.emplace_back(model::NodeGone{seen.node});
    return;
  }
  // Tasks that run there go on; nothing new comes.
  batch_.facts.emplace_back(model::NodeStateChanged{seen.node, model::NodeState::kCordoned});
  batch_.notes.emplace_back(NodeNoted{
      .node = seen.node, .note = "", .state_reason = "the driver does not find it any more"});
}

void Composer::On(const driver::RanksStarted& seen) {
  batch_.facts.emplace_back(model::TaskStarted{seen.gang.job, seen.gang.attempt, seen.ranks});
}

void Composer::On(const driver::RankEnded& seen) {
  using Kind = driver::RankExit::Kind;
  const engine::JobView now = view_.Job(seen.gang.job);
  if (now.placement == nullptr || now.attempt != seen.gang.attempt) return;  // told twice, or late
  batch_.notes.emplace_back(RankExitNoted{seen.gang, seen.rank, seen.exit});
  const model::RankRange rank{seen.rank, 1};
  if (seen.exit.kind == Kind::kStopped) {
    batch_.facts.emplace_back(model::StopConfirmed{seen.gang.job, seen.gang.attempt, rank});
    return;
  }
  batch_.facts.emplace_back(
      model::TaskExited{.job = seen.gang.job,
                        .attempt = seen.gang.attempt,
                        .ranks = rank,
                        .failed = seen.exit.kind != Kind::kExited || seen.exit.code != 0,
                        .lost = seen.exit.kind == Kind::kLost});
}

void Composer::On(const driver::HealthSeen& seen) {
  const auto node = view_.FindNode(seen.node);
  if (!node || view_.Node(*node).faulty == seen.faulty) return;
  batch_.facts.emplace_back(model::HealthReported{seen.node, seen.faulty});
  if (!seen.text.empty())
    batch_.notes.emplace_back(NodeNoted{.node = seen.node, .note = "", .state_reason = seen.text});
}

void Composer::On(const driver::ForeignSeen& seen) {
  const auto node = view_.FindNode(seen.node);
  if (!node || view_.Node(*node).foreign == seen.devices) return;
  batch_.facts.emplace_back(model::ForeignUsage{seen.node, seen.devices});
}

}  // namespace muster::server
