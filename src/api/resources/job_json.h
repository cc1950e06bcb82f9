// SPDX-License-Identifier: Apache-2.0
// Jobs and their attempts as JSON.
#pragma once

#include <cstddef>
#include <optional>

#include "api/resources/job_card.h"
#include "format/document.h"
#include "server/caller.h"
#include "server/picture.h"

namespace muster::api {

/// JobRow.
format::Value JobRowValue(const server::Picture& picture, const JobCard& card);
/// Job, as `caller` may see it.
format::Value JobValue(const server::Picture& picture, const JobCard& card,
                       const server::Caller& caller);

/// Which of an attempt's ranks to list.
struct RankWindow {
  std::size_t first = 0;
  std::size_t limit = 0;
};
/// Attempt, with ranks where a window is given.
format::Value AttemptValue(const server::Picture& picture, const JobCard& card,
                           const server::AttemptRecord& attempt,
                           std::optional<RankWindow> window = std::nullopt);
/// Its failure; none where no rank ended badly.
std::optional<format::Value> FailureValue(const server::AttemptRecord& attempt);

}  // namespace muster::api
