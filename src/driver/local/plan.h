// SPDX-License-Identifier: Apache-2.0
// What driver and supervisors of a gang share: a folder with
//   plan        what is to run, on disk before anything runs; never changed
//   N.events    what node N's supervisor saw (events.h)
//   N.orders    a pipe to it (orders.h)
//   N.alive     a pipe that it and its helpers hold open for writing: its end is theirs. A byte in
//               it: there are new events
//   N.errors    what went wrong before it could write events
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"

namespace muster::driver {

/// What the driver chose for a rank.
struct PlannedRank {
  std::int32_t node = 0;                  ///< index into `Plan::nodes`
  std::vector<std::string> devices;       ///< as CUDA_VISIBLE_DEVICES names them
  std::vector<std::int32_t> denied_gpus;  ///< N of each /dev/nvidiaN that it may not open
  friend bool operator==(const PlannedRank&, const PlannedRank&) = default;
};

/// Where the groups of ranks are made (`CgroupOptions`), and whether they bound what a rank takes.
struct PlannedCgroups {
  std::string root;
  std::string folder;
  bool has_limits = true;
  friend bool operator==(const PlannedCgroups&, const PlannedCgroups&) = default;
};

bool operator==(const Launch& a, const Launch& b);

struct Plan {
  Launch launch;
  std::string invocation;  ///< names this launch, in the whole world: 32 hexadecimal digits
  std::string boot_id;     ///< the run of the machine that it belongs to
  std::string master_address;
  std::uint16_t master_port = 0;
  std::vector<std::string> nodes;  ///< in order of their first rank
  std::vector<PlannedRank> ranks;  ///< as `launch.replicas`
  std::string log_folder;
  std::int64_t log_bytes_per_rank = 0;
  std::optional<PlannedCgroups> cgroups;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The archive of a plan, its version first. Values of secret variables are not in it, only where
/// they are to be read; the token is.
std::vector<std::uint8_t> EncodePlan(const Plan& plan);
/// `kInvalid`: damaged, or of a version that this program does not know.
base::Result<Plan> DecodePlan(const std::vector<std::uint8_t>& bytes);

/// Paths of the files above.
struct GangFolder {
  std::string path;

  std::string Plan() const { return path + "/plan"; }
  std::string Events(std::size_t node) const { return Of(node, "events"); }
  std::string Orders(std::size_t node) const { return Of(node, "orders"); }
  std::string Alive(std::size_t node) const { return Of(node, "alive"); }
  std::string Errors(std::size_t node) const { return Of(node, "errors"); }

 private:
  std::string Of(std::size_t node, const char* what) const;
};

base::Status WritePlan(const GangFolder& folder, const Plan& plan);
base::Result<Plan> ReadPlan(const GangFolder& folder);

}  // namespace muster::driver
