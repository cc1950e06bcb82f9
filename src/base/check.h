// SPDX-License-Identifier: Apache-2.0
// CHECK: a statement about our own code that must hold, on in every build. Never for input.
#pragma once

namespace muster::base {

/// Prints the failed condition with its place to stderr and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace muster::base

#define MUSTER_CHECK(condition)                                    \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::muster::base::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)

// For checks that cost more than the code they guard: debug builds only.
#ifdef NDEBUG
#define MUSTER_DCHECK(condition) \
  do {                           \
  } while (false)
#else
#define MUSTER_DCHECK(condition) MUSTER_CHECK(condition)
#endif
