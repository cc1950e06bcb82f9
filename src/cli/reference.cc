// SPDX-License-Identifier: Apache-2.0
#include "cli/reference.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/strings.h"

namespace muster::cli {
namespace {

using base::Format;

std::vector<const CLI::App*> Subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> Options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_name() != "--help"; });
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : FullName(*app.get_parent()) + " " + app.get_name();
}

bool IsFlag(const CLI::Option& option) {
  return option.get_type_size() == 0 || option.get_type_name().empty();
}

/// "--trace FILE", "-o,--output FILE", "FILE...".
std::string Spelling(const CLI::Option& option) {
  const std::string name = option.get_name(false, true);
  if (option.nonpositional()) return IsFlag(option) ? name : name + " " + option.get_type_name();
  return option.get_type_name() + (option.get_items_expected_max() > 1 ? "..." : "");
}

/// The help text with what else the option declares.
std::string Meaning(const CLI::Option& option) {
  std::string out = option.get_description();
  if (option.get_required()) out += " (required)";
  if (!option.get_default_str().empty()) out += Format(" (default {})", option.get_default_str());
  return out;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string MarkdownCell(std::string text) {
  return Replaced(Replaced(std::move(text), "|", "\\|"), "\n", "<br>");
}

void AppendMarkdown(const CLI::App& app, int depth, std::string& out) {
  if (app.get_parent() != nullptr) {
    out += Format("\n{} {}\n\n{}\n", std::string(static_cast<std::size_t>(depth), '#'),
                  FullName(app), app.get_description());
  }
  if (const auto options = Options(app); !options.empty()) {
    out += "\n| option | meaning |\n|---|---|\n";
    for (const CLI::Option* option : options) {
      out += Format("| `{}` | {} |\n", MarkdownCell(Spelling(*option)),
                    MarkdownCell(Meaning(*option)));
    }
  }
  for (const CLI::App* command : Subcommands(app)) AppendMarkdown(*command, depth + 1, out);
}

struct CodeText {
  int code;
  std::string_view text;
};
constexpr CodeText kExitCodes[] = {
    {0, "done"},
    {1, "the thing asked for failed"},
    {2, "the command line is wrong"},
    {3, "refused by policy or quota"},
    {4, "a file, job or node of that name does not exist"},
    {5, "no server answered"},
    {6, "the caller may not do this"},
};

/// Backslashes and leading dots mean something to troff.
std::string Troff(std::string text) {
  text = Replaced(Replaced(std::move(text), "\\", "\\e"), "-", "\\-");
  return text.starts_with('.') ? "\\&" + text : text;
}

void AppendMan(const CLI::App& app, std::string& out) {
  if (app.get_parent() != nullptr) {
    out += Format(".SS {}\n{}\n", Troff(FullName(app)), Troff(app.get_description()));
  }
  for (const CLI::Option* option : Options(app)) {
    out += Format(".TP\n\\fB{}\\fR\n{}\n", Troff(Spelling(*option)),
                  Troff(Replaced(Meaning(*option), "\n", "; ")));
  }
  for (const CLI::App* command : Subcommands(app)) AppendMan(*command, out);
}

/// One case of the completion script: the words that may follow a command.
void AppendCompletion(const CLI::App& app, std::string& out) {
  std::string words;
  for (const CLI::App* command : Subcommands(app)) words += command->get_name() + " ";
  for (const CLI::Option* option : Options(app)) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  out += Format("    \"{}\") words=\"{}--help\" ;;\n", FullName(app), words);
  for (const CLI::App* command : Subcommands(app)) AppendCompletion(*command, out);
}

}  // namespace

std::string CommandsMarkdown(const CLI::App& app) {
  std::string out =
      "<!-- Written by `muster reference markdown`. -->\n# Commands\n\n" + app.get_description() +
      "\n\nEvery command takes `--help`. Results go to standard output, faults and progress to "
      "standard error.\n\n| exit code | meaning |\n|---|---|\n";
  for (const CodeText& row : kExitCodes) out += Format("| {} | {} |\n", row.code, row.text);
  AppendMarkdown(app, 1, out);
  return out;
}

std::string CommandsMan(const CLI::App& app) {
  std::string out =
      Format(".TH MUSTER 1\n.SH NAME\nmuster \\- {}\n.SH SYNOPSIS\n.B muster\nCOMMAND [OPTIONS]\n",
             Troff("schedules GPU training clusters"));
  out += Format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", Troff(app.get_description()));
  AppendMan(app, out);
  out += ".SH EXIT STATUS\n";
  for (const CodeText& row : kExitCodes)
    out += Format(".TP\n{}\n{}\n", row.code, Troff(std::string(row.text)));
  return out;
}

std::string CommandsCompletion(const CLI::App& app) {
  std::string out =
      "# bash completion for muster; put it into /etc/bash_completion.d or source it\n"
      "_muster() {\n"
      "  local command=\"muster\" word words=\"\"\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    [[ $word == -* ]] && break\n"
      "    command+=\" $word\"\n"
      "  done\n"
      "  case \"$command\" in\n";
  AppendCompletion(app, out);
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
      "}\n"
      "complete -o default -F _muster muster\n";
  return out;
}

}  // namespace muster::cli
