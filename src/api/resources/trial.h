// SPDX-License-Identifier: Apache-2.0
// Would a job that nobody has submitted find a place?
#pragma once

#include <string>

#include "base/time.h"
#include "engine/engine.h"
#include "model/job.h"

namespace muster::api {

/// An engine of its own with the state of a view, in which jobs are judged one by one; none is
/// placed, and none sees the others. Making one looks at every job of the view.
class Trial {
 public:
  Trial(const engine::View& view, base::Instant now);

  /// As if `user` had submitted it and its start time had come.
  engine::Explanation Judge(const model::JobSpec& spec, const std::string& user);

 private:
  engine::Engine engine_;
  engine::View view_;
  base::Instant now_;
  model::JobId next_;
};

}  // namespace muster::api
