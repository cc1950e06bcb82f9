// SPDX-License-Identifier: Apache-2.0
// The functions of the table in verbs.cc, one a file.
#pragma once

#include "cli/verbs.h"

namespace muster::cli {

void AddUp(CLI::App& app, Context& context);
void AddDown(CLI::App& app, Context& context);
void AddServe(CLI::App& app, Context& context);
void AddStatus(CLI::App& app, Context& context);
void AddSubmit(CLI::App& app, Context& context);
void AddQueue(CLI::App& app, Context& context);
void AddShow(CLI::App& app, Context& context);
void AddWhy(CLI::App& app, Context& context);
void AddLogs(CLI::App& app, Context& context);
void AddUpdate(CLI::App& app, Context& context);
void AddCancel(CLI::App& app, Context& context);
void AddHold(CLI::App& app, Context& context);
void AddRelease(CLI::App& app, Context& context);
void AddRequeue(CLI::App& app, Context& context);
void AddCheckpoint(CLI::App& app, Context& context);
void AddNodes(CLI::App& app, Context& context);
void AddTopology(CLI::App& app, Context& context);
void AddInventory(CLI::App& app, Context& context);
void AddCordon(CLI::App& app, Context& context);
void AddUncordon(CLI::App& app, Context& context);
void AddDrain(CLI::App& app, Context& context);
void AddPause(CLI::App& app, Context& context);
void AddResume(CLI::App& app, Context& context);
void AddEvents(CLI::App& app, Context& context);
void AddAudit(CLI::App& app, Context& context);
void AddUsage(CLI::App& app, Context& context);
void AddToken(CLI::App& app, Context& context);
void AddTop(CLI::App& app, Context& context);
void AddJournal(CLI::App& app, Context& context);
void AddSupportBundle(CLI::App& app, Context& context);
void AddSim(CLI::App& app, Context& context);
void AddPolicy(CLI::App& app, Context& context);
void AddValidate(CLI::App& app, Context& context);
void AddReference(CLI::App& app, Context& context);
void AddVersion(CLI::App& app, Context& context);

// Subcommands of `policy`.
void AddPolicyApply(CLI::App& app, Context& context);

// Subcommands of `sim`.
void AddSimRun(CLI::App& app, Context& context);
void AddSimCompare(CLI::App& app, Context& context);
void AddSimGenerate(CLI::App& app, Context& context);
void AddSimImport(CLI::App& app, Context& context);

}  // namespace muster::cli
