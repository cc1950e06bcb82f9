// SPDX-License-Identifier: Apache-2.0
// Who asks, as the API established it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/driver.h"

namespace muster::server {

/// What a caller may do, each role what the ones before it may and more.
enum class Role : std::uint8_t {
  kViewer,    ///< read
  kReporter,  ///< and report health facts
  kUser,      ///< and submit jobs, act on their own
  kOperator,  ///< and act on nodes, pause starts
  kAdmin,     ///< and act on everybody's jobs, policy and tokens
  kLast = kAdmin,
};

/// "viewer".
std::string_view Name(Role role);
std::optional<Role> ParseRole(std::string_view name);

struct Caller {
  driver::Identity account;  ///< whose jobs are theirs, and what their jobs run as
  Role role = Role::kViewer;
  std::string from;  ///< for the audit: "socket, pid 123", "127.0.0.1, token ci"
  /// Set for the token of one attempt: it may report about that attempt and nothing else.
  std::optional<driver::GangId> attempt;
};

/// May the caller see what only the owner of a job may: its environment.
inline bool SeesAllOf(const Caller& caller, const driver::Identity& owner) {
  return !caller.attempt && (caller.role == Role::kAdmin || caller.account.user == owner.user);
}

}  // namespace muster::server
