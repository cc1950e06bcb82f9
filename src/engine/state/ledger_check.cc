// SPDX-License-Identifier: Apache-2.0
// The ledger recomputed from the jobs, the slow and obvious way.
#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "engine/state/state.h"

namespace muster::engine {
namespace {

struct Recomputed {
  std::vector<NodeUse> nodes;
  std::vector<QueueUse> queues;
  std::string fault;
};

void AddRank(const Tables& tables, const JobRow& job, std::size_t rank, Recomputed& sum) {
  const model::ReplicaPlacement& placement = job.placement->ranks[rank];
  const model::ReplicaShape& shape = job.request->groups[GroupOfRank(*job.placement, rank)].shape;
  NodeUse& use = sum.nodes[placement.node.value];
  if ((use.devices & placement.devices) != 0) {
    sum.fault = base::Format("two ranks hold one device of node {}",
                             tables.nodes[placement.node.value].spec->name);
  }
  use.devices |= placement.devices;
  use.cpu += placement.cpu;
  use.memory += placement.memory;
  use.nics += shape.nics;
  for (const model::NamedAmount& extra : shape.extended) {
    const std::size_t index = FindExtended(tables, extra.name).value_or(0);
    if (use.extended.size() <= index) use.extended.resize(index + 1);
    use.extended[index] += extra.amount;
  }
  sum.queues[job.queue.value].Add(placement, 1);
}

Recomputed Recompute(const Tables& tables) {
  Recomputed sum{.nodes = std::vector<NodeUse>(tables.nodes.size()),
                 .queues = std::vector<QueueUse>(tables.queues.size())};
  constexpr std::size_t kRows = decltype(tables.jobs)::kRowsPerChunk;
  for (std::size_t i = 0; i < tables.jobs.size() && sum.fault.empty(); ++i) {
    if (i % kRows == 0 && tables.jobs.IsDropped(i)) {
      i += kRows - 1;
      continue;
    }
    const JobRow& job = tables.jobs[i];
    if (!HasPlace(job)) {
      if (job.ranks_left != 0) sum.fault = base::Format("job {} has ranks but no place", i);
      continue;
    }
    std::int32_t left = 0;
    for (std::size_t rank = 0; rank < job.placement->ranks.size() && job.ranks_left > 0; ++rank) {
      if (IsRankGone(job, rank)) continue;
      AddRank(tables, job, rank, sum);
      ++left;
    }
    if (left != job.ranks_left) {
      sum.fault = base::Format("job {} holds {} ranks, its row says {}", i, left, job.ranks_left);
    }
  }
  return sum;
}

/// Trailing zeros of the extended resources do not count.
bool SameUse(const NodeUse& a, const NodeUse& b) {
  const auto amount = [](const NodeUse& use, std::size_t i) {
    return i < use.extended.size() ? use.extended[i] : 0;
  };
  for (std::size_t i = 0; i < std::max(a.extended.size(), b.extended.size()); ++i) {
    if (amount(a, i) != amount(b, i)) return false;
  }
  return a.devices == b.devices && a.cpu == b.cpu && a.memory == b.memory && a.nics == b.nics;
}

}  // namespace

std::string State::VerifyLedger() const {
  const Recomputed sum = Recompute(tables_);
  if (!sum.fault.empty()) return sum.fault;
  for (std::size_t i = 0; i < tables_.nodes.size(); ++i) {
    if (!SameUse(sum.nodes[i], tables_.nodes[i].use)) {
      return base::Format("node {} does not add up", tables_.nodes[i].spec->name);
    }
  }
  for (std::size_t i = 0; i < tables_.queues.size(); ++i) {
    const QueueRow& row = tables_.queues[i];
    if (row.use != sum.queues[i]) return base::Format("queue {} does not add up", row.name);
  }
  return {};
}

}  // namespace muster::engine
