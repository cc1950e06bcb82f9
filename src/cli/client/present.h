// SPDX-License-Identifier: Apache-2.0
// What client verbs have in common: their options, how a document is printed, how faults and
// questions reach a person.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/arguments.h"
#include "cli/client/connection.h"
#include "cli/client/find.h"
#include "cli/verbs.h"
#include "format/document.h"

namespace muster::cli {

/// The options that every verb has which asks a server.
struct ClientOptions {
  ServerOptions server;
  std::string format;  ///< "text", "json", "yaml" or "csv"
};
/// Declares `--server`, `--context` and, with formats, `--format`.
void AddClientOptions(Arguments arguments, ClientOptions& options,
                      const std::vector<std::string>& formats = {});
/// The formats of a verb that prints a list, and of one that prints an object.
inline const std::vector<std::string> kListFormats = {"text", "json", "yaml", "csv"};
inline const std::vector<std::string> kObjectFormats = {"text", "json", "yaml"};

/// Finds the server and runs `run` with it. No server answers: says what was tried, and
/// `kUnreachable`.
ExitCode WithServer(const ClientOptions& options, Streams& streams,
                    const std::function<ExitCode(Connection& server)>& run);

/// What text for people depends on besides the document.
struct Look {
  bool colour = false;
  base::Instant now;        ///< for "since", "for"
  std::size_t columns = 0;  ///< of the terminal; 0: no bound
};
Look LookOf(const Streams& streams);

/// Prints a document as `options.format` says: for people by `text`, for programs as it is. `list`
/// is the key whose items are the rows of a CSV.
using TextOf = std::function<std::string(const format::Value& document, const Look& look)>;
void Print(const format::Value& document, const ClientOptions& options, std::string_view list,
           const TextOf& text, Streams& streams);

/// Asks the server for one document and prints it: all that many verbs do.
ExitCode GetAndPrint(const ClientOptions& options, const std::string& path, std::string_view list,
                     const TextOf& text, Streams& streams);

/// A list of maps as CSV: a column for each key that any of them has, in order of appearance; those
/// of inner maps as "nodes.count", lists with blanks between.
std::string ToCsv(const std::vector<format::Value>& rows);

/// May this go on? With `yes`, or when whoever sits at the terminal says so. Without a terminal:
/// no, and how to say yes is told.
bool Confirm(const std::string& question, bool yes, Streams& streams);

}  // namespace muster::cli
