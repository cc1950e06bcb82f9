// SPDX-License-Identifier: Apache-2.0
#include "driver/local/environment.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/strings.h"

namespace muster::driver {
namespace {

using Variables = std::map<std::string, std::string>;

std::size_t Index(std::int32_t rank) { return static_cast<std::size_t>(rank); }

std::string Text(std::int64_t number) { return base::Format("{}", number); }

std::string Invocation(const Plan& plan, std::size_t node) {
  return base::Format("{}-{}", plan.invocation, node);
}

bool IsPerGpu(const Plan& plan, std::int32_t rank) {
  const Launch& launch = plan.launch;
  const auto group = static_cast<std::size_t>(launch.replicas[Index(rank)].group);
  return launch.groups[group].command.launch == model::Launch::kPerGpu;
}

void SetBasics(Variables& variables, const Identity& owner, const AccountFacts& account) {
  variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  variables["HOME"] = account.home;
  variables["USER"] = owner.user;
  variables["LOGNAME"] = owner.user;
  variables["SHELL"] = account.shell;
  variables["LANG"] = "C.UTF-8";
  variables["TMPDIR"] = "/tmp";
}

void SetWorld(Variables& variables, const Plan& plan, TaskPlace place) {
  const auto ranks = static_cast<std::int32_t>(plan.ranks.size());
  const std::string world = Text(ranks);
  const std::string rank = Text(place.rank);
  const std::string workers = Text(WorkersOf(plan, place.rank));
  variables["MUSTER_RANK"] = rank;
  variables["MUSTER_WORLD_SIZE"] = world;
  variables["PET_NNODES"] = world;
  variables["PET_NODE_RANK"] = rank;
  variables["PET_NPROC_PER_NODE"] = workers;
  variables["MASTER_ADDR"] = plan.master_address;
  variables["MASTER_PORT"] = Text(plan.master_port);
  variables["PET_RDZV_ENDPOINT"] = base::Format("{}:{}", plan.master_address, plan.master_port);
  variables["PET_RDZV_ID"] =
      base::Format("{}-{}", plan.launch.gang.job.value, plan.launch.gang.attempt.value);
  // Left over from a job document, these would send torchrun's workers to the wrong places.
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
    variables.erase(name);
  }
  if (!IsPerGpu(plan, place.rank)) return;
  std::int64_t before = 0;
  std::int64_t all = 0;
  for (std::int32_t other = 0; other < ranks; ++other) {
    if (other == place.rank) before = all;
    all += WorkersOf(plan, other);
  }
  variables["RANK"] = Text(before + place.local);
  variables["WORLD_SIZE"] = Text(all);
  variables["LOCAL_RANK"] = Text(place.local);
  variables["LOCAL_WORLD_SIZE"] = workers;
}

void SetPlace(Variables& variables, const Plan& plan, TaskPlace place) {
  const Launch& launch = plan.launch;
  const PlannedRank& planned = plan.ranks[Index(place.rank)];
  const auto group = static_cast<std::size_t>(launch.replicas[Index(place.rank)].group);
  variables["MUSTER_INVOCATION"] = Invocation(plan, static_cast<std::size_t>(planned.node));
  variables["MUSTER_JOB_ID"] = Text(launch.gang.job.value);
  variables["MUSTER_ATTEMPT"] = Text(launch.gang.attempt.value);
  variables["MUSTER_TASK"] = launch.groups[group].name;
  variables["MUSTER_NODE_RANK"] = Text(planned.node);
  variables["MUSTER_HOSTS"] = base::Join(plan.nodes, ",");
  variables["CUDA_VISIBLE_DEVICES"] = base::Join(planned.devices, ",");
}

void SetOrErase(Variables& variables, const std::string& name, const std::string& value) {
  if (value.empty()) {
    variables.erase(name);
  } else {
    variables[name] = value;
  }
}

/// "0.300000"; nothing for 0.
std::string SecondsText(base::Duration span) {
  if (span.IsZero()) return {};
  return base::Format("{}.{:06}", span.value() / 1'000'000, span.value() % 1'000'000);
}

}  // namespace

std::int32_t WorkersOf(const Plan& plan, std::int32_t rank) {
  return std::max(1, std::popcount(plan.launch.replicas[Index(rank)].devices));
}

std::int32_t ProcessesOf(const Plan& plan, std::int32_t rank) {
  return IsPerGpu(plan, rank) ? WorkersOf(plan, rank) : 1;
}

std::string CheckpointFolder(const Launch& launch) {
  if (launch.checkpoint_dir.empty()) return {};
  return base::Format("{}/{}", launch.checkpoint_dir, launch.gang.attempt.value);
}

std::string InvocationVariable(const Plan& plan, std::size_t node) {
  return "MUSTER_INVOCATION=" + Invocation(plan, node);
}

std::vector<std::string> TaskEnvironment(const Plan& plan, TaskPlace place,
                                         const AccountFacts& account,
                                         const model::Labels& secrets) {
  const Launch& launch = plan.launch;
  const auto group = static_cast<std::size_t>(launch.replicas[Index(place.rank)].group);
  Variables variables;
  SetBasics(variables, launch.owner, account);
  for (const auto& [name, value] : launch.groups[group].command.env) variables[name] = value;
  for (const auto& [name, value] : secrets) variables[name] = value;
  SetWorld(variables, plan, place);
  SetPlace(variables, plan, place);
  SetOrErase(variables, "MUSTER_CHECKPOINT_DIR", CheckpointFolder(launch));
  SetOrErase(variables, "MUSTER_CHECKPOINT_SIGNAL", launch.checkpoint_signal);
  SetOrErase(variables, "MUSTER_CHECKPOINT_EVERY_SECONDS", SecondsText(launch.checkpoint_every));
  SetOrErase(variables, "MUSTER_RESUME_FROM", launch.resume_from);
  SetOrErase(variables, "MUSTER_API", launch.api);
  SetOrErase(variables, "MUSTER_TOKEN", launch.token);

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables)
    environment.push_back(base::Format("{}={}", name, value));
  return environment;
}

}  // namespace muster::driver
