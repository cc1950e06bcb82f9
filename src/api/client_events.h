// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of text that comes in pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::api {

/// Longest event that is read.
inline constexpr std::size_t kMaxEvent = std::size_t{16} << 20;

class EventReader {
 public:
  using Take =
      std::function<bool(std::string_view id, std::string_view event, std::string_view data)>;

  /// Calls `take` for each event that `text` completes; false: it wants no more. `kInvalid` for an
  /// event that is too long.
  base::Result<bool> Feed(std::string_view text, const Take& take);

 private:
  bool TakeLine(std::string_view line, const Take& take);

  std::string line_;  ///< begun, not ended
  bool after_return_ = false;
  std::string id_;
  std::string event_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace muster::api
