// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace muster::cli {
namespace {

struct Taken {
  int number;
  void (*handler)(int);
};

/// Where a handler, which may do next to nothing, puts the number.
std::array<int, 2> pipe_ends = {-1, -1};

void Note(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe has signals enough.
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &byte, 1);
  errno = before;
}

void DoNothing(int /*number*/) {}

constexpr std::array<Taken, 4> kTaken = {
    {{SIGTERM, &Note}, {SIGINT, &Note}, {SIGHUP, &Note}, {SIGPIPE, &DoNothing}}};

}  // namespace

Signals::Signals() {
  MUSTER_CHECK(pipe_ends[0] < 0);
  MUSTER_CHECK(pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  for (const Taken& each : kTaken) {
    struct sigaction action {};
    action.sa_handler = each.handler;
    action.sa_flags = SA_RESTART;
    MUSTER_CHECK(sigaction(each.number, &action, nullptr) == 0);
  }
}

Signals::~Signals() {
  for (const Taken& each : kTaken) std::signal(each.number, SIG_DFL);
  for (int& end : pipe_ends) {
    close(end);
    end = -1;
  }
}

int Signals::Wait(std::int64_t timeout_ms) {
  pollfd waited{.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, static_cast<int>(timeout_ms)) <= 0) return 0;
  unsigned char byte = 0;
  return read(pipe_ends[0], &byte, 1) == 1 ? byte : 0;
}

}  // namespace muster::cli
