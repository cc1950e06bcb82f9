// SPDX-License-Identifier: Apache-2.0
#include "driver/local/launch_plan.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "driver/local/files.h"
#include "driver/local/log_file.h"

namespace muster::driver {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

// A name that others can resolve would only matter where others can be reached.
constexpr std::string_view kMasterAddress = "127.0.0.1";

base::Result<std::string> NewInvocation() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{ErrorCode::kIo, "the kernel gives no random numbers"};
  }
  std::string text;
  for (const unsigned char byte : bytes) text += Format("{:02x}", byte);
  return text;
}

base::Status CheckOwner(const Identity& owner, bool allow_root) {
  const uid_t own = geteuid();
  if (own != 0 && owner.uid != own) {
    return Error{
        ErrorCode::kNotAllowed,
        Format("a job of uid {} ({}) cannot be run: this server runs as uid {}, so it runs "
               "jobs of that account only; run the server as root to serve all",
               owner.uid, base::Quote(owner.user), own)};
  }
  if (own == 0 && owner.uid == 0 && !allow_root) {
    return Error{ErrorCode::kNotAllowed,
                 "a job of root is not run; submit it under another account, or set `allowRoot`"};
  }
  return {};
}

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

base::Status CheckVariables(const model::Labels& variables) {
  for (const auto& [name, value] : variables) {
    if (name.empty() || HasNul(name) || name.find('=') != std::string::npos) {
      return Error{ErrorCode::kInvalid,
                   Format("{} is no name of an environment variable", base::Quote(name))};
    }
    if (HasNul(value)) {
      return Error{
          ErrorCode::kInvalid,
          Format("the environment variable {} has a NUL byte, which no process can be given",
                 base::Quote(name))};
    }
  }
  return {};
}

base::Status CheckGroup(const Group& group) {
  const model::TaskCommand& command = group.command;
  const bool has_nul = std::any_of(command.command.begin(), command.command.end(), HasNul);
  if (has_nul || HasNul(command.workdir) || HasNul(group.name)) {
    return Error{ErrorCode::kInvalid,
                 Format("the command or working directory of task {} has a NUL byte, which no "
                        "process can be given",
                        base::Quote(group.name))};
  }
  if (base::Status checked = CheckVariables(command.env); !checked) return checked;
  return CheckVariables(command.secret_env);
}

base::Status CheckText(const Launch& launch) {
  for (const Group& group : launch.groups) {
    if (base::Status checked = CheckGroup(group); !checked) return checked;
  }
  for (const std::string* text : {&launch.checkpoint_dir, &launch.checkpoint_signal,
                                  &launch.resume_from, &launch.api, &launch.token}) {
    if (HasNul(*text)) {
      return Error{ErrorCode::kInvalid,
                   Format("{} has a NUL byte, which no process can be given", base::Quote(*text))};
    }
  }
  return {};
}

/// The devices of a replica, and which others it must not touch.
base::Result<PlannedRank> PlanRank(const Replica& replica, const LocalNodes& nodes) {
  const auto is_it = [&](const NodeFound& node) { return node.spec.name == replica.node; };
  const auto node = std::find_if(nodes.found.begin(), nodes.found.end(), is_it);
  if (node == nodes.found.end()) {
    return Error{ErrorCode::kNotFound,
                 Format("there is no node {} here", base::Quote(replica.node))};
  }
  PlannedRank planned;
  const std::size_t count = node->spec.devices.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(model::kMaxDevicesPerNode); ++i) {
    const bool is_given = (replica.devices >> i & 1) != 0;
    if (is_given && i >= count) {
      return Error{ErrorCode::kNotFound,
                   Format("node {} has no device {}", base::Quote(replica.node), i)};
    }
    if (is_given) planned.devices.push_back(DeviceName(nodes, i));
    const bool is_real = !nodes.is_virtual && i < nodes.machine.gpus.size();
    if (is_real && !is_given && nodes.machine.gpus[i].minor >= 0) {
      planned.denied_gpus.push_back(nodes.machine.gpus[i].minor);
    }
  }
  if (!nodes.is_virtual) {
    planned.denied_gpus.insert(planned.denied_gpus.end(), nodes.machine.left_out_minors.begin(),
                               nodes.machine.left_out_minors.end());
  }
  return planned;
}

}  // namespace

base::Result<Plan> MakePlan(const Launch& launch, const PlanFacts& facts) {
  if (const base::Status checked = CheckOwner(launch.owner, facts.allow_root); !checked) {
    return checked.error();
  }
  if (const base::Status checked = CheckText(launch); !checked) return checked.error();
  const base::Result<std::string> invocation = NewInvocation();
  if (!invocation) return invocation.error();
  Plan plan{.launch = launch,
            .invocation = *invocation,
            .boot_id = BootId(),
            .master_address = std::string(kMasterAddress),
            .master_port = facts.master_port,
            .log_folder = LogFolder(facts.logs, launch.gang),
            .log_bytes_per_rank = facts.log_bytes_per_rank,
            .cgroups = facts.cgroups};
  for (const Replica& replica : launch.replicas) {
    if (replica.group < 0 || static_cast<std::size_t>(replica.group) >= launch.groups.size()) {
      return Error{ErrorCode::kInvalid, Format("there is no task group {}", replica.group)};
    }
    base::Result<PlannedRank> planned = PlanRank(replica, *facts.nodes);
    if (!planned) return planned.error();
    const auto node = std::find(plan.nodes.begin(), plan.nodes.end(), replica.node);
    planned->node = static_cast<std::int32_t>(node - plan.nodes.begin());
    if (node == plan.nodes.end()) plan.nodes.push_back(replica.node);
    plan.ranks.push_back(std::move(*planned));
  }
  return plan;
}

}  // namespace muster::driver
