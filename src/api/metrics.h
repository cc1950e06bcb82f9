// SPDX-License-Identifier: Apache-2.0
// Metrics in the text format of Prometheus. No label holds a job or a user.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/picture.h"

namespace muster::api {

/// One metric family: a row of the table.
struct Metric {
  std::string_view name;
  std::string_view type;    ///< "counter", "gauge", "histogram"
  std::string_view labels;  ///< "queue,reason"; for the reference
  std::string_view help;
};

/// All that `MetricsText` prints, in its order.
std::span<const Metric> Metrics();

std::string MetricsText(const server::Picture& picture, std::string_view version);

/// The table as Markdown.
std::string MetricsReference();

}  // namespace muster::api
