// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/picture.h"

namespace muster::cli {

/// What a server that starts has to say of its state: journal, jobs, nodes and how tasks are kept
/// apart.
std::vector<std::string> StartLines(const server::Picture& picture);

/// Gangs that hold a place.
std::size_t CountRunning(const server::Picture& picture);

}  // namespace muster::cli
