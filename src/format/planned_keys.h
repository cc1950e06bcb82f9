// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace muster::format {

/// A key that a later release brings. Until then a document that uses it is refused by name, never
/// misread; schema and reference show it.
struct PlannedKey {
  std::string_view path;   ///< "preemption.minRuntime"; `[]` each item of a list, `*` any name
  std::string_view type;   ///< "duration", "count"..., with its unit
  std::string_view range;  ///< allowed values, for people
  std::string_view default_value;  ///< as it would be written; empty = none
  std::string_view doc;
};

std::span<const PlannedKey> PlannedPolicyKeys();
std::span<const PlannedKey> PlannedJobKeys();

}  // namespace muster::format
