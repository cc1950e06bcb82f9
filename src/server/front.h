// SPDX-License-Identifier: Apache-2.0
// The server as those outside its thread see it. Everything here may be called from any thread.
#pragma once

#include <functional>

#include "driver/driver.h"
#include "server/command.h"
#include "server/picture.h"

namespace muster::server {

class Front {
 public:
  virtual ~Front() = default;

  /// Queues a request. `answer` comes when its outcome is durable, or at once when the request
  /// cannot be queued (`kUnavailable`).
  virtual void Post(Request request, Answer answer) = 0;
  /// The state after the newest durable batch; never null.
  virtual PicturePtr Look() const = 0;
  /// Calls `wake` after each new picture, from the server's thread; it must return at once. There
  /// is one; an empty one ends it.
  virtual void OnPublish(std::function<void()> wake) = 0;
  virtual base::Result<driver::LogChunk> ReadLog(const driver::LogRequest& request) const = 0;
};

}  // namespace muster::server
