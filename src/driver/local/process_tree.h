// SPDX-License-Identifier: Apache-2.0
// Finding and ending processes by descent. A process that is a child subreaper keeps all its
// descendants below it, whatever they do, so the tree is as exact as a control group; what makes it
// slower is only that it must be looked at again until nothing new appears.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::driver {

/// A process as /proc shows it. Number and start time together name it for as long as the machine
/// runs.
struct ProcessFacts {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';         ///< 'T' stopped, 'Z' dead and not collected...
  std::uint64_t start = 0;  ///< in ticks since the machine's start
  bool IsDead() const { return state == 'Z' || state == 'X'; }
};

std::optional<ProcessFacts> ReadProcess(pid_t pid);

/// All descendants of `root` but those that are, or descend from, one of `except`. Sorted by
/// number.
std::vector<ProcessFacts> Descendants(pid_t root, std::span<const pid_t> except = {});

/// All processes that began with `assignment` ("NAME=VALUE") in their environment.
std::vector<ProcessFacts> ProcessesWithVariable(std::string_view assignment);

/// Sends to this very process, never to a later one of the same number. False: it is gone.
bool SignalProcess(const ProcessFacts& process, int signal);

/// One round of killing: stops all of them, looks again until there is nothing new that could still
/// fork, then kills. Returns how many were alive. To be repeated until there is no child left.
std::size_t KillDescendants(pid_t root, std::span<const pid_t> except = {});

/// Kills, in rounds, what `ProcessesWithVariable` finds. False: something is left.
bool KillByVariable(std::string_view assignment);

}  // namespace muster::driver
