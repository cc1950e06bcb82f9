// SPDX-License-Identifier: Apache-2.0
// The server as a process: the only place that knows all parts and joins them.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/verbs.h"

namespace muster::cli {

struct DaemonOptions {
  std::string state_dir;  ///< empty: the user's usual one
  std::string socket;     ///< empty: the usual one of the state
  std::string listen;     ///< "127.0.0.1:7070"; empty: no TCP
  std::string certificate;
  std::string key;
  std::vector<std::string> host_names;  ///< by which a proxy calls it
  std::string virtual_layout;           ///< "4x8"; empty: the machine as it is
  std::string policy;                   ///< file; empty: the journal's, or the default
  std::string ports;                    ///< "20000-29999"
  bool allow_root = false;
  bool detach = false;
  bool hints = true;  ///< tell a person what can be done next
};

/// Runs until SIGTERM or SIGINT. What it has to say goes to `streams.err`.
ExitCode RunDaemon(const DaemonOptions& options, const Environment& environment, Streams& streams);

}  // namespace muster::cli
