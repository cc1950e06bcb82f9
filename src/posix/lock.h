// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace muster::posix {

/// As `flock(descriptor, kind | LOCK_NB)`, but what another holds is tried again for up to 3 s, as
/// long as `may_end` says so (none: always). A server that was killed while it started a process
/// leaves its locks with that process until it has become another program: a moment in which nobody
/// is really there. On failure `errno` says why; EWOULDBLOCK: another has it.
int LockPatiently(int descriptor, int kind, const std::function<bool()>& may_end = {});

}  // namespace muster::posix
