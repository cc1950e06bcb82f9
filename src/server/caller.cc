// SPDX-License-Identifier: Apache-2.0
#include "server/caller.h"

#include <array>

namespace muster::server {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"viewer", "reporter", "user", "operator",
                                                    "admin"};
static_assert(kNames.size() == static_cast<std::size_t>(Role::kLast) + 1);

}  // namespace

std::string_view Name(Role role) { return kNames[static_cast<std::size_t>(role)]; }

std::optional<Role> ParseRole(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace muster::server
