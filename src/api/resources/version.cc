// SPDX-License-Identifier: Apache-2.0
#include "api/resources/version.h"

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "unknown"  // tools that look at one file
#endif

namespace muster::api {

std::string_view Version() { return MUSTER_VERSION; }

}  // namespace muster::api
