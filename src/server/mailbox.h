// SPDX-License-Identifier: Apache-2.0
// Where requests and observations wait for the server's thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time.h"
#include "driver/driver.h"
#include "server/command.h"

namespace muster::server {

/// About how many bytes a request adds to its record.
std::size_t RecordBytes(const Request& request);

/// Safe from any thread. Requests are bounded: beyond the bound they are sent away at once, so that
/// those that are taken are answered soon. Observations are facts and are never sent away; a driver
/// has at most a few for each rank that runs.
class Mailbox {
 public:
  static constexpr std::size_t kMaxRequests = 8192;
  /// Most of each kind in one batch.
  static constexpr std::size_t kMaxRequestsTaken = 1024;
  static constexpr std::size_t kMaxObservationsTaken = 8192;
  /// A batch stops taking requests here, so that its record stays far below what a journal takes.
  static constexpr std::size_t kMaxBytesTaken = std::size_t{16} << 20;

  struct Posted {
    Request request;
    Answer answer;
  };
  struct Taken {
    std::vector<Posted> requests;
    std::vector<driver::Observation> observations;
    std::size_t left = 0;  ///< how many still wait
  };

  /// False: full, or closed; `answer` was not called.
  bool Post(Request& request, Answer& answer);
  void Observe(driver::Observation observation);

  Taken Take();
  /// Observations of a batch that came to nothing wait again, before all others.
  void PutBack(std::vector<driver::Observation> observations);
  /// Takes no more requests; what waits is handed out for answering.
  std::vector<Posted> Close();

  /// Requests that were sent away because too many waited.
  std::uint64_t rejected() const;

  /// Returns when something waits, after `Wake`, or after `span`.
  void Wait(base::Duration span);
  /// Likewise, but observations may go on waiting.
  void WaitForRequests(base::Duration span);
  void Wake();

 private:
  template <class Ready>
  void WaitUntil(base::Duration span, Ready ready);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Posted> requests_;
  std::deque<driver::Observation> observations_;
  std::uint64_t rejected_ = 0;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace muster::server
