// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include <CLI/CLI.hpp>

#include "api/openapi.h"
#include "api/route.h"
#include "cli/reference.h"
#include "cli/sim_report.h"
#include "cli/verbs/all.h"
#include "cli/version.h"

namespace muster::cli {
namespace {

/// All verbs once more: this one's own application is only a part of the tree.
ExitCode Print(std::string (*render)(const CLI::App& app), Streams& streams) {
  Context context{streams, {}};
  CLI::App root;
  AddVerbs(root, context);
  streams.out << render(root);
  return ExitCode::kDone;
}

}  // namespace

void AddReference(CLI::App& app, Context& context) {
  struct Row {
    const char* name;
    const char* summary;
    std::string (*render)(const CLI::App& app);
  };
  constexpr Row kRows[] = {
      {"markdown", "docs/reference/commands.md", &CommandsMarkdown},
      {"man", "the page muster(1)", &CommandsMan},
      {"completion", "a completion script for bash", &CommandsCompletion},
  };
  for (const Row& row : kRows) {
    OnRun(*app.add_subcommand(row.name, row.summary), context,
          [render = row.render](Streams& streams) { return Print(render, streams); });
  }
  OnRun(*app.add_subcommand("api", "the HTTP API: docs/reference/api.md"), context,
        [](Streams& streams) {
          streams.out << api::ApiReference();
          return ExitCode::kDone;
        });
  OnRun(*app.add_subcommand("openapi", "the HTTP API as an OpenAPI 3.1 document"), context,
        [](Streams& streams) {
          // The version without what tells one build from another: the document is kept in the
          // repository.
          streams.out << api::OpenApiDocument(Version().substr(0, Version().find('+')));
          return ExitCode::kDone;
        });
  OnRun(*app.add_subcommand("reports", "the fields of reports: docs/reference/reports.md"), context,
        [](Streams& streams) {
          streams.out << ReportsMarkdown();
          return ExitCode::kDone;
        });
}

}  // namespace muster::cli
