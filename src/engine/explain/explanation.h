// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/reason.h"

namespace muster::engine {

/// Why a job is not running, or that it is. Values, not text: the command line, the API and the
/// reports word it.
struct Explanation {
  bool known = false;    ///< the job exists
  bool waiting = false;  ///< it waits for a place; otherwise `binding` says what it does
  model::Outcome outcome = model::Outcome::kPlaced;  ///< what placing it in this view gives
  /// The first constraint that keeps it from starting. While starts are paused it is that; the
  /// fields below, and `outcome`, then tell what would bind without the pause.
  model::Reason binding;
  std::int32_t group = -1;  ///< index of the task group that `binding` is about, or -1
  std::string level;        ///< topology level that `binding` is about ("spine"), or empty
  std::string best_domain;  ///< the domain of that level with most room
  std::int64_t wanted = 0;  ///< replicas wanted there
  std::int64_t have = 0;    ///< replicas that fit there now
  std::vector<model::Reason>
      nodes;                  ///< nodes without room for one replica, counted by cause; most first
  std::int64_t position = 0;  ///< place in the order of its queue, from 1
  std::int64_t ahead = 0;     ///< jobs of other queues that are tried before it
  std::optional<base::Instant> next_relax;  ///< when its constraint weakens next
};

}  // namespace muster::engine
