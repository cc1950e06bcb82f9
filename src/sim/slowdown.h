// SPDX-License-Identifier: Apache-2.0
// How much longer a gang runs because of where it sits. Three parameters a job: c, the share of an
// iteration that is exposed communication under the best placement, and the bandwidths of the best
// and of the actual placement:
//
//   s = 1 + c x (B_best / B_actual - 1),  B_actual = the worst level that the gang crosses / (1 +
//   contention)
//
// Integers only, in parts per million, so that every compiler gives the same run times.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/cluster.h"
#include "model/decision.h"

namespace muster::sim {

/// 1,000,000 = no slowdown.
inline constexpr std::int64_t kMillion = 1'000'000;

/// Jobs that spend at least this much of an iteration in communication count as
/// communication-bound.
inline constexpr std::int64_t kHeavyPermille = 100;

struct SlowdownOptions {
  /// Bandwidth inside one node, in permille of a GPU's NIC: NVLink4, 450 GB/s, against 50 GB/s.
  std::int64_t node_permille = 9000;
  /// Bandwidth inside one domain of a level named `nvlink` (NVLink5, 900 GB/s); its nodes are one
  /// to a gang.
  std::int64_t nvlink_permille = 18'000;
  /// Parallel up-links of a domain, shared by the gangs that cross it; 0 = no contention.
  std::int64_t uplinks = 0;
};

/// s for bandwidths in any common unit, both positive. `comm` is c.
std::int64_t SlowdownPpm(base::Permille comm, std::int64_t best, std::int64_t actual);

/// Knows where each node hangs, and which gangs cross which domain.
class SlowdownModel {
 public:
  /// `levels` outermost first. Nodes are numbered as in `nodes`.
  SlowdownModel(const std::vector<model::Level>& levels, const std::vector<model::NodeSpec>& nodes,
                SlowdownOptions options);

  /// Slowdown of a gang that starts now, in ppm, given what other gangs cross. `gpus` is its whole
  /// size in milli-GPU.
  std::int64_t OfGang(const model::GangPlacement& placement, base::MilliGpu gpus,
                      base::Permille comm) const;

  /// Keeps count of the gang's crossings for those that start later; only heavy gangs count.
  void Enter(const model::GangPlacement& placement, base::Permille comm) {
    Count(placement, comm, 1);
  }
  void Leave(const model::GangPlacement& placement, base::Permille comm) {
    Count(placement, comm, -1);
  }

 private:
  struct Row {
    std::int64_t crossed_permille = 1000;      ///< bandwidth of a gang that spans several domains
    base::MilliGpu largest;                    ///< GPUs of the largest domain
    std::vector<std::uint32_t> domain;         ///< of each node
    std::vector<std::int64_t> crossing_gangs;  ///< of each domain
  };

  void Count(const model::GangPlacement& placement, base::Permille comm, std::int64_t by);
  static bool Spans(const Row& row, const model::GangPlacement& placement);
  std::int64_t Busiest(const Row& row, const model::GangPlacement& placement) const;
  std::int64_t BestPermille(base::MilliGpu gpus) const;

  SlowdownOptions options_;
  std::int64_t inside_permille_ = 0;
  std::vector<Row> rows_;  ///< from the node outwards
};

}  // namespace muster::sim
