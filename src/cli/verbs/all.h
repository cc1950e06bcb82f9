// SPDX-License-Identifier: Apache-2.0
// The functions of the table in verbs.cc, one a file.
#pragma once

#include "cli/verbs.h"

namespace muster::cli {

void AddSim(CLI::App& app, Context& context);
void AddPolicy(CLI::App& app, Context& context);
void AddValidate(CLI::App& app, Context& context);
void AddReference(CLI::App& app, Context& context);
void AddVersion(CLI::App& app, Context& context);

// Subcommands of `sim`.
void AddSimRun(CLI::App& app, Context& context);
void AddSimCompare(CLI::App& app, Context& context);
void AddSimGenerate(CLI::App& app, Context& context);
void AddSimImport(CLI::App& app, Context& context);

}  // namespace muster::cli
