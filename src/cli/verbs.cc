// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

#include <algorithm>
#include <exception>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"sim", "replay a trace on a simulated cluster, compare policies, make workloads", &AddSim},
    {"policy", "show the default policy or its schema, check a policy file", &AddPolicy},
    {"validate", "check job, cluster and policy files", &AddValidate},
    {"reference", "the command line as Markdown, man page or shell completion", &AddReference},
    {"version", "version and build of this program", &AddVersion},
};

constexpr std::string_view kDescription =
    "Muster schedules GPU training clusters: who runs, when, on which GPUs.";

/// The command that the arguments led to.
const CLI::App* Deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : FullName(*app.get_parent()) + " " + app.get_name();
}

std::string Help(const CLI::App& app) {
  return app.help(app.get_parent() == nullptr ? "" : FullName(*app.get_parent()));
}

/// Says which argument nobody expected, and which one may have been meant.
std::string UnknownArgument(const CLI::App& root) {
  const CLI::App* command = Deepest(&root);
  const std::vector<std::string> rest = root.remaining(true);
  if (rest.empty()) return "too many arguments";
  const std::string argument = rest.front().substr(0, rest.front().find('='));
  const bool is_option = argument.starts_with("-");
  std::vector<std::string> names;
  if (is_option) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else {
    for (const CLI::App* each : command->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(each->get_name());
    }
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = base::Nearest(argument, candidates);
  return base::Format("{} has no {} {}{}", FullName(*command), is_option ? "option" : "command",
                      base::Quote(argument),
                      near.empty() ? "" : base::Format("; did you mean {}?", near));
}

ExitCode UsageError(const CLI::App& root, std::string_view message, Streams& streams) {
  streams.err << "muster: " << base::Printable(message) << "\nSee: " << FullName(*Deepest(&root))
              << " --help\n";
  return ExitCode::kUsage;
}

/// The first option with an empty value, of the command that was chosen; null without one. No
/// option has a use for it, and a script's unset variable would silently change what is run.
const CLI::Option* EmptyOption(const CLI::App& root) {
  for (const CLI::Option* option : Deepest(&root)->get_options()) {
    if (std::ranges::any_of(option->results(), [](const auto& text) { return text.empty(); }) &&
        option->get_items_expected_max() > 0)
      return option;
  }
  return nullptr;
}

ExitCode Parse(CLI::App& root, std::span<const char* const> arguments, Streams& streams,
               bool& stop) {
  stop = true;
  try {
    // The library takes the last argument first.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    root.parse(std::move(reversed));
    if (const CLI::Option* empty = EmptyOption(root)) {
      return UsageError(root, base::Format("{}: the value is empty", empty->get_name()), streams);
    }
  } catch (const CLI::CallForHelp&) {
    streams.out << Help(*Deepest(&root));
    return ExitCode::kDone;
  } catch (const CLI::ExtrasError&) {
    return UsageError(root, UnknownArgument(root), streams);
  } catch (const CLI::RequiredError& error) {
    // A slip in the name of a required option shows first as its absence.
    const bool slip = !root.remaining(true).empty();
    return UsageError(root, slip ? UnknownArgument(root) : error.what(), streams);
  } catch (const CLI::ParseError& error) {
    return UsageError(root, error.what(), streams);
  }
  stop = false;
  return ExitCode::kDone;
}

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

void AddVerbs(CLI::App& app, Context& context) {
  app.name("muster");
  app.description(std::string(kDescription));
  app.get_formatter()->column_width(34);
  app.footer("muster help COMMAND tells more; muster --version is muster version");
  for (const Verb& verb : kVerbs) {
    CLI::App* command = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    verb.add(*command, context);
  }
}

void OnRun(CLI::App& app, Context& context, std::function<ExitCode(Streams&)> run) {
  app.callback([&context, run = std::move(run)] {
    context.action = [&context, run] { return run(context.streams); };
  });
}

ExitCode RunCommandLine(std::span<const char* const> arguments, Streams& streams) {
  // `muster help sim run` is `muster sim run --help`, and what others call --version is a verb
  // here.
  std::vector<const char*> asked(arguments.begin(), arguments.end());
  if (asked.size() == 1 && std::string_view(asked.front()) == "--version") asked = {"version"};
  if (!asked.empty() && std::string_view(asked.front()) == "help") {
    asked.erase(asked.begin());
    asked.push_back("--help");
  }
  Context context{streams, {}};
  try {
    CLI::App root;
    AddVerbs(root, context);
    bool stop = false;
    if (const ExitCode code = Parse(root, asked, streams, stop); stop) return code;
    if (context.action) return context.action();
    const CLI::App* command = Deepest(&root);
    streams.err << Help(*command);
    return ExitCode::kUsage;
  } catch (const std::bad_alloc&) {
    streams.err << "muster: out of memory\n";
  } catch (const std::exception& error) {
    streams.err << "muster: internal error: " << error.what()
                << "; please report it with the command line\n";
  }
  return ExitCode::kFailed;
}

}  // namespace muster::cli
