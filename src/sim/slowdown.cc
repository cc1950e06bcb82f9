// SPDX-License-Identifier: Apache-2.0
#include "sim/slowdown.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/labels.h"

namespace muster::sim {
namespace {

constexpr std::string_view kNvlinkLevel = "nvlink";

/// One step of a domain's path. A node without the label is a domain of its own, as for the engine;
/// texts of documents hold no zero byte.
std::string PathStep(const model::NodeSpec& node, const std::string& label) {
  using namespace std::string_literals;
  const std::string* const value = model::FindLabel(node.labels, label);
  return value != nullptr ? "\0"s + *value : "\0\0"s + node.name;
}

}  // namespace

std::int64_t SlowdownPpm(base::Permille comm, std::int64_t best, std::int64_t actual) {
  MUSTER_CHECK(actual > 0 && best > 0);
  if (best <= actual) return kMillion;
  return kMillion + (comm.value() * 1000 * (best - actual) + actual / 2) / actual;
}

SlowdownModel::SlowdownModel(const std::vector<model::Level>& levels,
                             const std::vector<model::NodeSpec>& nodes, SlowdownOptions options)
    : options_(options) {
  const bool nvlink = !levels.empty() && levels.back().name == kNvlinkLevel;
  inside_permille_ = nvlink ? options.nvlink_permille : options.node_permille;

  Row node_row{.crossed_permille = nvlink ? options.nvlink_permille : 1000};
  node_row.crossing_gangs.resize(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    node_row.domain.push_back(i);
    const auto gpus = base::MilliGpu::Of(1000 * static_cast<std::int64_t>(nodes[i].devices.size()));
    node_row.largest = std::max(node_row.largest, gpus);
  }
  rows_.push_back(std::move(node_row));

  // The same value under two parents is two domains: a domain is named by its whole path.
  std::vector<std::string> path(nodes.size());
  std::vector<Row> outermost_first;
  for (const model::Level& level : levels) {
    Row row{.crossed_permille = std::max<std::int64_t>(1, level.bandwidth_permille)};
    std::map<std::string, std::uint32_t> numbers;
    std::vector<base::MilliGpu> size;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      path[i] += PathStep(nodes[i], level.label);
      const auto [at, is_new] =
          numbers.emplace(path[i], static_cast<std::uint32_t>(numbers.size()));
      if (is_new) size.emplace_back();
      row.domain.push_back(at->second);
      size[at->second] +=
          base::MilliGpu::Of(1000 * static_cast<std::int64_t>(nodes[i].devices.size()));
    }
    if (!size.empty()) row.largest = *std::ranges::max_element(size);
    row.crossing_gangs.resize(size.size());
    outermost_first.push_back(std::move(row));
  }
  std::move(outermost_first.rbegin(), outermost_first.rend(), std::back_inserter(rows_));
}

bool SlowdownModel::Spans(const Row& row, const model::GangPlacement& placement) {
  const std::uint32_t first = row.domain[placement.ranks.front().node.value];
  return std::ranges::any_of(placement.ranks, [&](const model::ReplicaPlacement& rank) {
    return row.domain[rank.node.value] != first;
  });
}

std::int64_t SlowdownModel::Busiest(const Row& row, const model::GangPlacement& placement) const {
  std::int64_t most = 0;
  for (const model::ReplicaPlacement& rank : placement.ranks) {
    most = std::max(most, row.crossing_gangs[row.domain[rank.node.value]]);
  }
  return most;
}

std::int64_t SlowdownModel::BestPermille(base::MilliGpu gpus) const {
  std::int64_t best = inside_permille_;
  for (const Row& row : rows_) {
    if (gpus <= row.largest) break;  // fits one domain of this level: crosses nothing further out
    best = std::min(best, row.crossed_permille);
  }
  return best;
}

std::int64_t SlowdownModel::OfGang(const model::GangPlacement& placement, base::MilliGpu gpus,
                                   base::Permille comm) const {
  if (comm.IsZero() || placement.ranks.size() < 2) return kMillion;
  // Bandwidths times `uplinks`, so that B / (1 + others / uplinks) stays a whole number as long as
  // it can.
  const std::int64_t scale = std::max<std::int64_t>(1, options_.uplinks);
  std::int64_t actual = inside_permille_ * scale;
  for (const Row& row : rows_) {
    if (!Spans(row, placement))
      break;  // levels nest: what one domain holds, one outer domain holds
    const std::int64_t others = options_.uplinks > 0 ? Busiest(row, placement) : 0;
    actual = std::min(
        actual, std::max<std::int64_t>(1, row.crossed_permille * scale * scale / (scale + others)));
  }
  return SlowdownPpm(comm, BestPermille(gpus) * scale, actual);
}

void SlowdownModel::Count(const model::GangPlacement& placement, base::Permille comm,
                          std::int64_t by) {
  if (options_.uplinks == 0 || comm.value() < kHeavyPermille || placement.ranks.size() < 2) return;
  std::vector<std::uint32_t> touched;
  for (Row& row : rows_) {
    if (!Spans(row, placement)) break;
    touched.clear();
    for (const model::ReplicaPlacement& rank : placement.ranks) {
      touched.push_back(row.domain[rank.node.value]);
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const std::uint32_t domain : touched) row.crossing_gangs[domain] += by;
  }
}

}  // namespace muster::sim
