// SPDX-License-Identifier: Apache-2.0
// Makes up a workload that has the statistics of a profile. The same options give the same jobs on
// every machine and with every compiler.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "model/workload.h"
#include "sim/profiles.h"

namespace muster::sim {

struct GenerateOptions {
  std::int64_t jobs = 1000;
  std::uint64_t seed = 1;
  std::int64_t cluster_gpus = 0;  ///< larger jobs are not drawn; at least 1
  std::int32_t gpus_per_node =
      8;  ///< a larger job is a gang of equal replicas of at most this size
  std::int64_t load_permille = 900;  ///< GPU time asked for over GPU time there, while jobs arrive
  bool estimates = false;            ///< users say how long they will run, as wrongly as they do
};

/// `kInvalid`, naming the load, where the jobs would arrive over more than `kLongestSpan`.
base::Result<model::Workload> TryGenerate(const Profile& profile, const GenerateOptions& options);
/// `TryGenerate` with options that are known to be good.
model::Workload Generate(const Profile& profile, const GenerateOptions& options);

/// Arrivals of one workload are no further apart; traces hold no later submission either.
inline constexpr base::Duration kLongestSpan = base::Hours(24 * 365 * 100);

/// A run time drawn from the quantiles.
base::Duration DrawDuration(const DurationQuantiles& seconds, base::Rng& rng);

}  // namespace muster::sim
