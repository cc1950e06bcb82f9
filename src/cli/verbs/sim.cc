// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/verbs/all.h"

namespace muster::cli {

void AddSim(CLI::App& app, Context& context) {
  AddSimRun(*app.add_subcommand("run", "replay a trace under one policy"), context);
  AddSimCompare(
      *app.add_subcommand("compare", "replay a trace under several policies, side by side"),
      context);
  AddSimGenerate(
      *app.add_subcommand("generate", "make up a trace with the statistics of a real site"),
      context);
  AddSimImport(*app.add_subcommand("import", "turn any known trace into Muster's format"), context);
}

}  // namespace muster::cli
