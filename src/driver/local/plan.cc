// SPDX-License-Identifier: Apache-2.0
#include "driver/local/plan.h"

#include <tuple>
#include <utility>

#include "base/archive.h"
#include "base/strings.h"
#include "driver/local/files.h"

namespace muster::driver {
namespace {

constexpr std::uint32_t kMagic = 0x4E4C504DU;  // "MPLN"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostPlanBytes = std::size_t{256} << 20;

// The stored form: types of this file alone, so that what is on disk changes only when this does.

struct StoredGroup {
  std::string name;
  model::TaskCommand command;
};
template <class A>
void Archive(A& a, StoredGroup& v) {
  a(v.name, v.command.launch, v.command.command, v.command.env, v.command.secret_env,
    v.command.workdir);
}

struct StoredRank {
  Replica replica;
  PlannedRank planned;
};
template <class A>
void Archive(A& a, StoredRank& v) {
  a(v.replica.group, v.replica.node, v.replica.devices, v.replica.cpu, v.replica.memory,
    v.planned.node, v.planned.devices, v.planned.denied_gpus);
}

struct StoredCgroups {
  PlannedCgroups planned;
};
template <class A>
void Archive(A& a, StoredCgroups& v) {
  a(v.planned.root, v.planned.folder, v.planned.has_limits);
}

struct StoredPlan {
  Plan plan;  ///< but for what follows
  std::vector<StoredGroup> groups;
  std::vector<StoredRank> ranks;
  std::optional<StoredCgroups> cgroups;
};
template <class A>
void Archive(A& a, StoredPlan& v) {
  Launch& launch = v.plan.launch;
  a(launch.gang.job, launch.gang.attempt, launch.job_name, launch.owner.uid, launch.owner.gid,
    launch.owner.user, launch.checkpoint_dir, launch.checkpoint_signal, launch.checkpoint_every,
    launch.resume_from, launch.api, launch.token);
  a(v.plan.invocation, v.plan.boot_id, v.plan.master_address, v.plan.master_port, v.plan.nodes,
    v.plan.log_folder, v.plan.log_bytes_per_rank);
  a(v.groups, v.ranks, v.cgroups);
}

/// Whether every index points at something; what else is in a plan is only handed on.
bool IsWhole(const Plan& plan) {
  for (const Replica& replica : plan.launch.replicas) {
    if (replica.group < 0 || static_cast<std::size_t>(replica.group) >= plan.launch.groups.size()) {
      return false;
    }
  }
  for (const PlannedRank& rank : plan.ranks) {
    if (rank.node < 0 || static_cast<std::size_t>(rank.node) >= plan.nodes.size()) return false;
  }
  return !plan.ranks.empty() && plan.log_bytes_per_rank > 0;
}

}  // namespace

bool operator==(const Launch& a, const Launch& b) {
  const auto tie = [](const Launch& v) {
    return std::tie(v.gang, v.job_name, v.owner, v.groups, v.replicas, v.checkpoint_dir,
                    v.checkpoint_signal, v.checkpoint_every, v.resume_from, v.api, v.token);
  };
  return tie(a) == tie(b);
}

std::vector<std::uint8_t> EncodePlan(const Plan& plan) {
  StoredPlan stored{.plan = plan};
  for (const Group& group : plan.launch.groups) {
    stored.groups.push_back({group.name, group.command});
  }
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    stored.ranks.push_back({plan.launch.replicas[rank], plan.ranks[rank]});
  }
  if (plan.cgroups) stored.cgroups = StoredCgroups{*plan.cgroups};
  base::Writer writer;
  writer(kMagic, kVersion, stored);
  return std::move(writer).Take();
}

base::Result<Plan> DecodePlan(const std::vector<std::uint8_t>& bytes) {
  base::Reader reader(bytes);
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  reader(magic, version);
  if (reader.ok() && magic == kMagic && version != kVersion) {
    return base::Error{
        base::ErrorCode::kInvalid,
        base::Format("a plan of version {}; this program knows version {}", version, kVersion)};
  }
  StoredPlan stored;
  reader(stored);
  Plan plan = std::move(stored.plan);
  for (StoredGroup& group : stored.groups) {
    plan.launch.groups.push_back({std::move(group.name), std::move(group.command)});
  }
  for (StoredRank& rank : stored.ranks) {
    plan.launch.replicas.push_back(std::move(rank.replica));
    plan.ranks.push_back(std::move(rank.planned));
  }
  if (stored.cgroups) plan.cgroups = std::move(stored.cgroups->planned);
  if (!reader.ok() || !reader.AtEnd() || magic != kMagic || !IsWhole(plan)) {
    return base::Error{base::ErrorCode::kInvalid, "a damaged plan"};
  }
  return plan;
}

std::string GangFolder::Of(std::size_t node, const char* what) const {
  return base::Format("{}/{}.{}", path, node, what);
}

base::Status WritePlan(const GangFolder& folder, const driver::Plan& plan) {
  return WriteDurably(folder.Plan(), EncodePlan(plan));
}

base::Result<driver::Plan> ReadPlan(const GangFolder& folder) {
  const auto bytes = ReadOwnFile(folder.Plan(), kMostPlanBytes);
  if (!bytes) return bytes.error();
  base::Result<driver::Plan> plan = DecodePlan(*bytes);
  if (!plan) return base::Error{plan.error().code, plan.error().message, folder.Plan()};
  return plan;
}

}  // namespace muster::driver
