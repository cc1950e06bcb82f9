// SPDX-License-Identifier: Apache-2.0
#include "server/loop.h"

#include <algorithm>
#include <chrono>

namespace muster::server {
namespace {

template <class ClockType>
std::int64_t MicrosecondsOf() {
  return std::chrono::duration_cast<std::chrono::microseconds>(ClockType::now().time_since_epoch())
      .count();
}

/// Longest rest; bounds how late a step comes after the wall clock was set forward.
constexpr base::Duration kLongestRest = base::Seconds(10);

}  // namespace

base::Instant SystemClock::Now() { return {MicrosecondsOf<std::chrono::system_clock>()}; }
base::Duration SystemClock::Steady() {
  return base::Microseconds(MicrosecondsOf<std::chrono::steady_clock>());
}

void Loop::Run() {
  while (!stop_) {
    const Server::StepResult rest = server_.Step();
    if (rest.more) continue;
    base::Duration span = kLongestRest;
    if (rest.wake) {
      const base::Instant now = clock_.Now();
      span = *rest.wake <= now ? base::Microseconds(1) : std::min(span, *rest.wake - now);
    }
    if (rest.doubt) {
      server_.mailbox().WaitForRequests(span);
    } else {
      server_.mailbox().Wait(span);
    }
  }
}

void Loop::Stop() {
  stop_ = true;
  server_.mailbox().Wake();
}

}  // namespace muster::server
