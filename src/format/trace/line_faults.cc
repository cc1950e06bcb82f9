// SPDX-License-Identifier: Apache-2.0
#include "format/trace/line_faults.h"

#include <utility>

#include "base/strings.h"

namespace muster::format {

using base::Format;

void LineFaults::Add(std::int64_t line, std::string_view column, std::string_view message) {
  if (errors_.size() == kMostFaults) {
    more_ = true;
    return;
  }
  std::string where = line == 0 ? file_ : Format("{}:{}", file_, line);
  if (!column.empty()) where += Format(": {}", column);
  errors_.push_back({base::ErrorCode::kInvalid, std::string(message), std::move(where)});
}

base::Errors LineFaults::Take() && {
  if (more_) {
    errors_.push_back({base::ErrorCode::kInvalid,
                       Format("and more; reading stopped after {} faults", kMostFaults), file_});
  }
  return std::move(errors_);
}

}  // namespace muster::format
