// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/local/plan.h"
#include "model/cluster.h"

namespace muster::driver {

/// One process of a rank: `local` counts from 0 in the replica.
struct TaskPlace {
  std::int32_t rank = 0;
  std::int32_t local = 0;
};

/// What the machine knows of the owner's account.
struct AccountFacts {
  std::string home;
  std::string shell;
};

/// Processes that training starts in this replica, by our hand (`perGpu`) or by torchrun's: one a
/// device, and one where there are no devices.
std::int32_t WorkersOf(const Plan& plan, std::int32_t rank);

/// Processes that the supervisor starts for this rank.
std::int32_t ProcessesOf(const Plan& plan, std::int32_t rank);

/// Where this attempt writes its checkpoints; empty where the job names no folder.
std::string CheckpointFolder(const Launch& launch);

/// The variable by which the driver finds processes that nobody watches any more
/// (`process_tree.h`): no other launch, and no other node of this one, has it.
std::string InvocationVariable(const Plan& plan, std::size_t node);

/// All variables of a process, as "NAME=VALUE", sorted. Nothing comes from the server's own
/// environment. The job's variables win over the basic ones (PATH...),
/// `secrets` over both, and what Muster computes over all: rendezvous, devices and attempt are not
/// for a job to change by mistake.
///
/// All groups of a gang are one world: ranks, hosts and processes count through the groups.
std::vector<std::string> TaskEnvironment(const Plan& plan, TaskPlace place,
                                         const AccountFacts& account, const model::Labels& secrets);

}  // namespace muster::driver
