// SPDX-License-Identifier: Apache-2.0
#include "driver/local/local_driver.h"

#include <utility>

#include "base/check.h"
#include "driver/local/log_file.h"
#include "driver/local/watcher.h"

namespace muster::driver {

LocalDriver::LocalDriver(LocalDriverOptions options) : options_(std::move(options)) {}

LocalDriver::~LocalDriver() { Close(); }

base::Status LocalDriver::Open(Sink sink) {
  if (options_.state_dir.empty()) {
    return base::Error{base::ErrorCode::kInvalid, "the local driver needs a state folder"};
  }
  auto watcher = std::make_unique<Watcher>(options_, std::move(sink));
  if (base::Status opened = watcher->Open(); !opened) return opened;
  watcher_ = std::move(watcher);
  return {};
}

std::vector<GangId> LocalDriver::Adopt(const std::vector<Expected>& expected) {
  MUSTER_CHECK(watcher_ != nullptr);
  return watcher_->Adopt(expected);
}

void LocalDriver::Give(const Order& order) {
  MUSTER_CHECK(watcher_ != nullptr);
  watcher_->Give(order);
}

base::Result<LogChunk> LocalDriver::ReadLog(const LogRequest& request) const {
  // From the disk alone, so any thread may ask.
  return ReadRankLog(LogFolder(options_.state_dir + "/logs", {request.job, request.attempt}),
                     request);
}

void LocalDriver::Close() { watcher_.reset(); }

}  // namespace muster::driver
