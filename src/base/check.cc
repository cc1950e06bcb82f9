// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace muster::base {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "muster: internal error at %s:%d: %s does not hold\n", file, line,
               condition);
  std::abort();
}

}  // namespace muster::base
