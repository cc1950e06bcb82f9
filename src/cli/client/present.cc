// SPDX-License-Identifier: Apache-2.0
#include "cli/client/present.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <utility>

#include "base/strings.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "format/json.h"
#include "format/yaml.h"
#include "server/loop.h"

namespace muster::cli {
namespace {

using format::Value;

using Cells = std::vector<std::pair<std::string, std::string>>;

/// The leaves below a value, with their paths.
void AddCells(const Value& value, const std::string& path, Cells& cells) {
  if (value.kind == Value::Kind::kMap) {
    for (const format::Entry& entry : value.entries)
      AddCells(entry.value, path.empty() ? entry.key : path + "." + entry.key, cells);
    return;
  }
  std::string text = value.text;
  if (value.kind == Value::Kind::kList) {
    std::vector<std::string> parts;
    for (const Value& item : value.items) {
      // Maps in a list have no place in one cell that another program could take apart again.
      parts.push_back(item.kind == Value::Kind::kScalar
                          ? item.text
                          : format::WriteJson(item, format::JsonStyle::kCompact));
    }
    text = base::Join(parts, " ");
  }
  cells.emplace_back(path, std::move(text));
}

/// RFC 4180: quotes where they are needed.
std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(CsvCell(cell));
  return base::Join(quoted, ",") + "\n";
}

}  // namespace

std::string ToCsv(const std::vector<Value>& rows) {
  std::vector<Cells> all;
  std::vector<std::string> header;
  for (const Value& row : rows) {
    AddCells(row, "", all.emplace_back());
    for (const auto& [name, text] : all.back()) {
      if (std::ranges::find(header, name) == header.end()) header.push_back(name);
    }
  }
  std::string out = header.empty() ? "" : CsvLine(header);
  for (const Cells& cells : all) {
    std::vector<std::string> line(header.size());
    for (const auto& [name, text] : cells)
      line[static_cast<std::size_t>(std::ranges::find(header, name) - header.begin())] = text;
    out += CsvLine(line);
  }
  return out;
}

void AddClientOptions(Arguments arguments, ClientOptions& options,
                      const std::vector<std::string>& formats) {
  if (!formats.empty()) arguments.Format(options.format, formats);
  arguments.SetGroup("Server");
  arguments.Text("--server", options.server.server, "ADDRESS",
                 "unix:PATH, http://HOST:PORT or https://HOST:PORT; default: MUSTER_SERVER, the "
                 "current context, this machine's");
  arguments.Text("--context", options.server.context, "NAME",
                 "a context of ~/.config/muster/config.yaml");
}

ExitCode WithServer(const ClientOptions& options, Streams& streams,
                    const std::function<ExitCode(Connection& server)>& run) {
  const auto candidates = FindCandidates(options.server, ReadEnvironment());
  if (!candidates) return Fail(candidates.error(), streams);
  const auto server = Connection::Open(*candidates);
  if (server) return run(**server);
  if (server.error().front().code != base::ErrorCode::kUnavailable)
    return Fail(server.error(), streams);
  const bool local = candidates->front().from == "this machine";
  streams.err << "muster: no server answers; tried" << server.error().front().message << '\n'
              << (local ? "Start one with `muster up`, or name one with --server or "
                          "MUSTER_SERVER.\n"
                        : "");
  return ExitCode::kUnreachable;
}

Look LookOf(const Streams& streams) {
  Look look{.colour = streams.out_is_terminal, .now = server::SystemClock().Now()};
  winsize size{};
  if (streams.out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    look.columns = size.ws_col;
  return look;
}

void Print(const Value& document, const ClientOptions& options, std::string_view list,
           const TextOf& text, Streams& streams) {
  if (options.format == "json") {
    streams.out << format::WriteJson(document);
  } else if (options.format == "yaml") {
    streams.out << format::WriteYaml(document);
  } else if (options.format == "csv") {
    const Value* const rows = document.Find(list);
    streams.out << ToCsv(rows == nullptr ? std::vector<Value>{} : rows->items);
  } else {
    streams.out << text(document, LookOf(streams));
  }
}

ExitCode GetAndPrint(const ClientOptions& options, const std::string& path, std::string_view list,
                     const TextOf& text, Streams& streams) {
  return WithServer(options, streams, [&](Connection& server) {
    const auto document = server.Get(path);
    if (!document) return Fail(document.error(), streams);
    Print(*document, options, list, text, streams);
    return ExitCode::kDone;
  });
}

bool Confirm(const std::string& question, bool yes, Streams& streams) {
  if (yes) return true;
  if (isatty(STDIN_FILENO) != 1 || !streams.err_is_terminal) {
    streams.err << "muster: " << question << " Say so with --yes\n";
    return false;
  }
  streams.err << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace muster::cli
