// SPDX-License-Identifier: Apache-2.0
// The journal without its server: is it whole, what is in it, a copy of it.
#include <sys/stat.h>

#include <memory>
#include <ostream>

#include "api/resources/shapes.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/present.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "cli/verbs/all.h"
#include "cli/version.h"
#include "format/json.h"
#include "journal/sqlite/sqlite_journal.h"
#include "server/records.h"
#include "server/verify.h"

namespace muster::cli {
namespace {

using api::Number;
using base::Format;
using format::Value;
using JournalPtr = std::unique_ptr<journal::SqliteJournal>;

/// Records that are held in memory at a time.
constexpr std::size_t kBytesAtOnce = std::size_t{8} << 20;

struct Options {
  ClientOptions client;
  std::string path;
  std::string backup;
};

/// `given` may be the file or the folder that it is in; empty: where this user's server keeps it.
base::Result<JournalPtr> OpenJournal(const std::string& given) {
  std::string path = given.empty() ? DefaultStateDir(ReadEnvironment()) : given;
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) path += "/journal.db";
  return journal::SqliteJournal::Open({.path = path, .read_only = true});
}

std::string_view Word(server::SegmentCheck::Outcome outcome) {
  switch (outcome) {
    case server::SegmentCheck::Outcome::kSame:
      return "same";
    case server::SegmentCheck::Outcome::kNotComparable:
      return "replayed";
    case server::SegmentCheck::Outcome::kDiffers:
      break;
  }
  return "differs";
}

Value ToDocument(const server::JournalCheck& check) {
  Value document = format::Map();
  document.Add("clean", api::Flag(check.clean()));
  document.Add("storeFaults", api::TextList(check.store_faults));
  Value segments = format::List();
  for (const server::SegmentCheck& each : check.segments) {
    Value segment = format::Map();
    segment.Add("first", Number(each.segment.snapshot_sequence + 1));
    segment.Add("last", Number(each.segment.last_sequence));
    segment.Add("build", format::Text(each.segment.build));
    segment.Add("records", Number(each.records));
    segment.Add("decisions", Number(each.decisions));
    segment.Add("outcome", format::Text(std::string(Word(each.outcome))));
    if (!each.detail.empty()) segment.Add("detail", format::Text(each.detail));
    segments.items.push_back(std::move(segment));
  }
  document.Add("segments", std::move(segments));
  return document;
}

std::string RenderCheck(const server::JournalCheck& check) {
  std::string out;
  for (const std::string& fault : check.store_faults) out += base::Printable(fault) + "\n";
  for (const server::SegmentCheck& each : check.segments) {
    const bool empty = each.segment.last_sequence == each.segment.snapshot_sequence;
    out += Format("{}: build {}, {} decisions: {}{}\n",
                  empty ? Format("after record {}", each.segment.snapshot_sequence)
                        : Format("records {} to {}", each.segment.snapshot_sequence + 1,
                                 each.segment.last_sequence),
                  base::Printable(each.segment.build),
                  WithCommas(static_cast<std::int64_t>(each.decisions)), Word(each.outcome),
                  each.detail.empty() ? "" : ": " + base::Printable(each.detail));
  }
  return out + (check.clean() ? "clean\n" : "NOT clean\n");
}

ExitCode Verify(const Options& options, Streams& streams) {
  const auto journal = OpenJournal(options.path);
  if (!journal) return Fail(journal.error(), streams);
  const auto check = server::VerifyJournal(**journal, std::string(Version()));
  if (!check) return Fail(check.error(), streams);
  Print(
      ToDocument(*check), options.client, "segments",
      [&](const Value&, const Look&) { return RenderCheck(*check); }, streams);
  return check->clean() ? ExitCode::kDone : ExitCode::kFailed;
}

/// What a record holds, in a line: its moment, and how much of what.
Value ToDocument(std::uint64_t sequence, const server::Batch& batch) {
  Value line = format::Map();
  line.Add("sequence", Number(sequence));
  line.Add("at", api::TimeValue(batch.at));
  Value audit = format::List();
  for (const server::Note& note : batch.notes) {
    const auto* const act = std::get_if<server::Audited>(&note);
    if (act == nullptr) continue;
    Value entry = format::Map();
    entry.Add("user", format::Text(act->user));
    entry.Add("action", format::Text(act->action));
    entry.Add("target", format::Text(act->target));
    entry.Add("allowed", api::Flag(act->allowed));
    audit.items.push_back(std::move(entry));
  }
  line.Add("notes", Number(batch.notes.size()));
  line.Add("facts", Number(batch.facts.size()));
  line.Add("decisions", Number(batch.decisions.size()));
  if (!audit.items.empty()) line.Add("acts", std::move(audit));
  return line;
}

ExitCode PrintRecords(journal::SqliteJournal& journal, Streams& streams) {
  const auto segments = journal.Segments();
  if (!segments) return Fail(segments.error(), streams);
  if (segments->empty()) return ExitCode::kDone;
  std::uint64_t next = segments->front().snapshot_sequence + 1;
  while (streams.out) {
    const auto records = journal.Read(next, kBytesAtOnce);
    if (!records) return Fail(records.error(), streams);
    if (records->empty()) return ExitCode::kDone;
    for (const journal::Record& record : *records) {
      const auto batch = server::DecodeBatch(record.bytes);
      if (!batch) return Fail(batch.error(), streams);
      streams.out << format::WriteJson(ToDocument(record.sequence, *batch),
                                       format::JsonStyle::kCompact)
                  << '\n';
    }
    next = records->back().sequence + 1;
  }
  return ExitCode::kFailed;
}

ExitCode Export(const Options& options, Streams& streams) {
  const auto journal = OpenJournal(options.path);
  if (!journal) return Fail(journal.error(), streams);
  if (options.backup.empty()) return PrintRecords(**journal, streams);
  if (const auto done = (*journal)->BackupTo(options.backup); !done)
    return Fail(done.error(), streams);
  streams.out << base::Printable(options.backup) << ": written\n";
  return ExitCode::kDone;
}

}  // namespace

void AddJournal(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  constexpr const char* kPath = "the file, or the state folder that it is in; default: your own";
  const Arguments verify =
      arguments.Command("verify", "check the store, and that deciding anew gives what was decided");
  const auto verified = std::make_shared<Options>();
  verify.Word("path", verified->path, Arguments::Need::kOptional, kPath);
  verify.Format(verified->client.format, kListFormats);
  verify.OnRun([verified](Streams& streams) { return Verify(*verified, streams); });

  const Arguments exporting =
      arguments.Command("export", "its records as lines of JSON, or a copy");
  const auto exported = std::make_shared<Options>();
  exporting.Word("path", exported->path, Arguments::Need::kOptional, kPath);
  exporting.Text("--backup", exported->backup, "FILE", "write a whole copy of it here instead");
  exporting.OnRun([exported](Streams& streams) { return Export(*exported, streams); });
}

}  // namespace muster::cli
