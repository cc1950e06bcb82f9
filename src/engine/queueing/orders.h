// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/state/tables.h"
#include "model/ids.h"

namespace muster::engine {

/// Where a job stands in its queue: smaller is earlier. A total order, as it ends in the job's id.
struct OrderKey {
  std::int64_t rank = 0;  ///< of its priority: higher classes have smaller ranks
  std::int64_t key = 0;   ///< what the queue's order says within the class
  std::int64_t submitted_us = 0;
  model::JobId job;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

struct QueueOrder {
  std::string_view name;
  std::string_view summary;
  /// The part of the key that is the order's own; must not change while the job waits.
  std::int64_t (*key)(const JobRow& job);
};

/// All orders; the first is the default.
std::span<const QueueOrder> QueueOrders();
/// Null for an unknown name.
const QueueOrder* FindQueueOrder(std::string_view name);

OrderKey KeyOf(const QueueOrder& order, const JobRow& row, model::JobId job);

}  // namespace muster::engine
