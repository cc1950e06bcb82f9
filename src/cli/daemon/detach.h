// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cli/exit_codes.h"
#include "cli/verbs.h"

namespace muster::cli {

/// Runs `body` in a process of its own, away from the terminal, with what it says in `log_path`.
/// Returns once it calls `ready`, which may be done once, or has ended without: until then the
/// caller is told what it says too. Must be called while there is one thread.
ExitCode RunDetached(const std::string& log_path, Streams& streams,
                     const std::function<ExitCode(const std::function<void()>& ready)>& body);

}  // namespace muster::cli
