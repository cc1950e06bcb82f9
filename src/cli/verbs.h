// SPDX-License-Identifier: Apache-2.0
// The command line. A verb is one file in verbs/ and one row in the table; help, reference, man
// page and completion come from what it declares.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_codes.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// Where a command writes, and what its caller looks at.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;  ///< colour is allowed
  bool err_is_terminal = false;  ///< a progress line is allowed
};

/// What verbs are given while they declare themselves.
struct Context {
  Streams& streams;
  std::function<ExitCode()> action;  ///< set by the verb that the command line chose
  /// What followed `--`, of a verb that takes a command of the user's; none: there was no `--`.
  std::optional<std::vector<std::string>> command;
};

struct Verb {
  std::string_view name;
  std::string_view summary;
  /// Declares options and subcommands on `app`, and sets `context.action` when parsed.
  void (*add)(CLI::App& app, Context& context);
  /// What follows `--` is not parsed: it is `Context::command`.
  bool takes_command = false;
  /// For programs of our own, in place of `add`: gets its arguments as they are; help and reference
  /// do not show it.
  ExitCode (*raw)(std::span<const char* const> arguments, Streams& streams) = nullptr;
};

std::span<const Verb> Verbs();

/// Runs one command line, `arguments` being without the program's name.
ExitCode RunCommandLine(std::span<const char* const> arguments, Streams& streams);

/// Adds every verb to an application, as for the reference.
void AddVerbs(CLI::App& app, Context& context);

/// Sets `context.action` to `run(context.streams)` when `app` is the command that was chosen.
void OnRun(CLI::App& app, Context& context, std::function<ExitCode(Streams&)> run);

}  // namespace muster::cli
