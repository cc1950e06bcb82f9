// SPDX-License-Identifier: Apache-2.0
#include "posix/lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace muster::posix {

int LockPatiently(int descriptor, int kind, const std::function<bool()>& may_end) {
  constexpr int kTries = 300;
  constexpr useconds_t kBetweenUs = 10'000;
  for (int i = 0;; ++i) {
    if (flock(descriptor, kind | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK || i == kTries) return -1;
    if (may_end && !may_end()) {
      errno = EWOULDBLOCK;
      return -1;
    }
    usleep(kBetweenUs);
  }
}

}  // namespace muster::posix
