// SPDX-License-Identifier: Apache-2.0
// What real sites' workloads look like, as tables for the generator.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace muster::sim {

/// Where the duration quantiles of a row are, in permille of the jobs.
inline constexpr std::array<std::int32_t, 12> kQuantilePermille = {0,   10,  50,  100, 250, 500,
                                                                   750, 900, 950, 990, 999, 1000};
/// Run times in seconds at these quantiles, none below 1; between them the logarithm is
/// interpolated.
using DurationQuantiles = std::array<std::int32_t, kQuantilePermille.size()>;

struct SizeWeight {
  std::int32_t gpus;
  std::int32_t weight;
};

/// Jobs of similar size, whose run times are alike.
struct ProfileRow {
  std::span<const SizeWeight> sizes;
  DurationQuantiles seconds;
  std::int32_t comm_permille;  ///< exposed communication under the best placement
};

/// How many jobs one user submits in one second.
struct BurstWeight {
  std::int32_t jobs;
  std::int32_t weight;
};

struct Profile {
  std::string_view name;
  std::string_view summary;
  std::span<const ProfileRow> rows;
  std::span<const BurstWeight> bursts;
  std::array<std::int32_t, 24> hours;  ///< relative arrivals by hour of the day
  std::int32_t failed_permille;
  std::int32_t cancelled_permille;
  std::int32_t users;
};

std::span<const Profile> Profiles();
/// The profile of that name, or null.
const Profile* FindProfile(std::string_view name);

}  // namespace muster::sim
