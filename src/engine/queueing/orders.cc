// SPDX-License-Identifier: Apache-2.0
#include "engine/queueing/orders.h"

#include <algorithm>
#include <array>

namespace muster::engine {
namespace {

constexpr std::array kOrders = {
    QueueOrder{"fifo", "priority class, then submission",
               [](const JobRow&) { return std::int64_t{0}; }},
};

}  // namespace

std::span<const QueueOrder> QueueOrders() { return kOrders; }

const QueueOrder* FindQueueOrder(std::string_view name) {
  const auto at = std::ranges::find(kOrders, name, &QueueOrder::name);
  return at == kOrders.end() ? nullptr : &*at;
}

OrderKey KeyOf(const QueueOrder& order, const JobRow& row, model::JobId job) {
  return {.rank = -std::int64_t{row.priority},
          .key = order.key(row),
          .submitted_us = row.submitted.us,
          .job = job};
}

}  // namespace muster::engine
