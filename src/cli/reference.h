// SPDX-License-Identifier: Apache-2.0
// The command line described for other programs, from what the verbs declared.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace muster::cli {

/// docs/reference/commands.md.
std::string CommandsMarkdown(const CLI::App& app);
/// The page muster(1), in troff.
std::string CommandsMan(const CLI::App& app);
/// A completion script for bash.
std::string CommandsCompletion(const CLI::App& app);

}  // namespace muster::cli
