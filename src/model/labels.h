// SPDX-License-Identifier: Apache-2.0
// Looking up and setting labels. They are sorted by key and keys are unique; both hold afterwards.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "model/cluster.h"

namespace muster::model {

/// The value of `key`, or null.
inline const std::string* FindLabel(const Labels& labels, std::string_view key) {
  const auto at = std::ranges::lower_bound(
      labels, key, {}, [](const auto& label) { return std::string_view(label.first); });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

/// Gives `key` this value, in place of an earlier one.
inline void SetLabel(Labels& labels, std::string_view key, std::string value) {
  const auto at = std::ranges::lower_bound(
      labels, key, {}, [](const auto& label) { return std::string_view(label.first); });
  if (at != labels.end() && at->first == key) {
    at->second = std::move(value);
  } else {
    labels.emplace(at, std::string(key), std::move(value));
  }
}

}  // namespace muster::model
