// SPDX-License-Identifier: Apache-2.0
// Which server is meant: what the command line says, else the environment, else the context that is
// current, else the servers of this machine.
#pragma once

#include <string>
#include <vector>

#include "api/client.h"
#include "base/result.h"
#include "cli/environment.h"

namespace muster::cli {

struct ServerOptions {
  std::string server;   ///< --server
  std::string context;  ///< --context
};

/// A server that may be the one, and who says so.
struct Candidate {
  api::Target target;
  std::string from;  ///< "--server", "MUSTER_SERVER", "context lab", "this machine"
};

/// In the order in which to try them; never empty. More than one only where nobody said which.
base::Checked<std::vector<Candidate>> FindCandidates(const ServerOptions& options,
                                                     const Environment& environment);

}  // namespace muster::cli
