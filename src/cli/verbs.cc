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
#include "driver/local/local_driver.h"

namespace muster::cli {
namespace {

ExitCode Supervise(std::span<const char* const> arguments, Streams& /*streams*/) {
  return static_cast<ExitCode>(driver::RunSupervisor(arguments));
}

constexpr Verb kVerbs[] = {
    {"up", "start a server on this machine", &AddUp},
    {"down", "stop the server on this machine; its jobs go on", &AddDown},
    {"serve", "the server as a service, under systemd", &AddServe},
    {"status", "how the server and the cluster are", &AddStatus},
    {"submit", "submit jobs: a file, or a command after --", &AddSubmit, true},
    {"queue", "jobs that wait and run", &AddQueue},
    {"show", "all about a job", &AddShow},
    {"why", "why a job waits, or ended", &AddWhy},
    {"logs", "what a rank of a job wrote", &AddLogs},
    {"update", "change a job", &AddUpdate},
    {"cancel", "end jobs", &AddCancel},
    {"hold", "keep waiting jobs from starting", &AddHold},
    {"release", "let held jobs start again", &AddRelease},
    {"requeue", "stop running jobs and put them back into the queue", &AddRequeue},
    {"checkpoint", "ask running jobs for a checkpoint", &AddCheckpoint},
    {"nodes", "nodes, or all about one", &AddNodes},
    {"topology", "the cluster as a tree", &AddTopology},
    {"inventory", "devices by state and model", &AddInventory},
    {"cordon", "let nothing new start on a node", &AddCordon},
    {"uncordon", "let a node take work again", &AddUncordon},
    {"drain", "empty a node: nothing new starts, what runs may end", &AddDrain},
    {"pause", "stop starting jobs", &AddPause},
    {"resume", "start jobs again", &AddResume},
    {"events", "what happened, and happens", &AddEvents},
    {"audit", "who did what", &AddAudit},
    {"usage", "GPU hours by queue, user and model", &AddUsage},
    {"token", "secrets that let programs in", &AddToken},
    {"top", "the cluster, live", &AddTop},
    {"journal", "check or copy the server's journal", &AddJournal},
    {"support-bundle", "what a maintainer needs to help, secrets removed", &AddSupportBundle},
    {"sim", "replay a trace on a simulated cluster, compare policies, make workloads", &AddSim},
    {"policy", "show, check and apply policies", &AddPolicy},
    {"validate", "check job, cluster and policy files", &AddValidate},
    {"reference", "the command line as Markdown, man page or shell completion", &AddReference},
    {"version", "version and build of this program", &AddVersion},
    {.name = "supervise", .raw = &Supervise},
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
/// option has a use for it, and a script's unset variable would silently change what is run. (The
/// words of a user's own command are not among them: `KeepCommand`.)
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

const Verb* FindVerb(std::string_view name) {
  const Verb* const found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

/// Moves what follows `--` out of the parser's sight: it would take the words for ours.
void KeepCommand(std::vector<const char*>& asked, Context& context) {
  const auto end = std::ranges::find(asked, std::string_view("--"));
  if (end == asked.end()) return;
  context.command.emplace(end + 1, asked.end());
  asked.erase(end, asked.end());
}

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

void AddVerbs(CLI::App& app, Context& context) {
  app.name("muster");
  app.description(std::string(kDescription));
  app.get_formatter()->column_width(34);
  app.footer("muster help COMMAND tells more; muster --version is muster version");
  for (const Verb& verb : kVerbs) {
    if (verb.raw != nullptr) continue;
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
  const Verb* const verb = arguments.empty() ? nullptr : FindVerb(arguments.front());
  if (verb != nullptr && verb->raw != nullptr) return verb->raw(arguments.subspan(1), streams);
  // `muster help sim run` is `muster sim run --help`, and what others call --version is a verb
  // here.
  std::vector<const char*> asked(arguments.begin(), arguments.end());
  if (asked.size() == 1 && std::string_view(asked.front()) == "--version") asked = {"version"};
  if (!asked.empty() && std::string_view(asked.front()) == "help") {
    asked.erase(asked.begin());
    asked.push_back("--help");
  }
  Context context{streams, {}, {}};
  if (verb != nullptr && verb->takes_command) KeepCommand(asked, context);
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
