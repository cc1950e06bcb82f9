// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/format.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace muster::journal {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;
using base::Status;

constexpr int kNewestFormat = 1;

// A release that changes the format adds {kNewestFormat, "ALTER TABLE ..."} here.
constexpr std::span<const UpgradeStep> kSteps;

constexpr const char* kCreate =
    "CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
    "CREATE TABLE record ("
    "  sequence INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE snapshot ("
    "  sequence INTEGER PRIMARY KEY, build TEXT NOT NULL, policy_hash TEXT NOT NULL,"
    "  checksum INTEGER NOT NULL, head_checksum INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE extent ("
    "  id INTEGER PRIMARY KEY CHECK (id = 1), last_record INTEGER NOT NULL,"
    "  oldest_snapshot INTEGER NOT NULL, newest_snapshot INTEGER NOT NULL,"
    "  snapshots INTEGER NOT NULL) STRICT;"
    "INSERT INTO extent VALUES (1, 0, 0, 0, 0);";

enum class Content { kEmpty, kJournal };

Error NoJournal(const Database& database, std::string_view why) {
  return {ErrorCode::kInvalid,
          Format("{} is no Muster journal ({}): give the path of one, or of a file that is not "
                 "there yet",
                 database.shown_path(), why)};
}

Result<Content> Look(Database& database) {
  const Result<std::uint64_t> id = database.Number("PRAGMA application_id");
  if (!id.has_value()) return id.error();
  if (*id == kApplicationId) return Content::kJournal;
  const Result<std::uint64_t> tables = database.Number("SELECT count(*) FROM sqlite_schema");
  if (!tables.has_value()) return tables.error();
  // A crash while the first format was written leaves a page and nothing in it.
  if (*id == 0 && *tables == 0) return Content::kEmpty;
  return NoJournal(database, "a file of SQLite that another program has written");
}

/// Runs `statements`, stamps the file with `format` and commits; all or nothing.
Status Write(Database& database, const std::string& statements, int format) {
  Status done = database.Execute("BEGIN IMMEDIATE");
  if (done) done = database.Execute(statements);
  if (done) {
    done = database.Execute(
        Format("PRAGMA application_id = {}; INSERT OR REPLACE INTO meta VALUES ('format', {});"
               "COMMIT",
               kApplicationId, format));
  }
  if (!done) database.RollBack();
  return done;
}

Status Upgrade(Database& database, const Formats& formats, int from) {
  std::string statements;
  for (int format = from; format < formats.newest; ++format) {
    const auto step = std::ranges::find(formats.steps, format, &UpgradeStep::from);
    if (step == formats.steps.end()) {
      return Error{ErrorCode::kInvalid,
                   Format("{} was written by an older Muster (format {}), which this build no "
                          "longer reads: upgrade by way of a version in between",
                          database.shown_path(), from)};
    }
    statements += step->sql;
    statements += ';';
  }
  if (database.read_only()) {
    return Error{ErrorCode::kInvalid,
                 Format("{} was written by an older Muster (format {}): a server of this version "
                        "upgrades it when it starts; until then, read it with the older version",
                        database.shown_path(), from)};
  }
  return Write(database, statements, formats.newest);
}

int OldestFormat(const Formats& formats) {
  int oldest = formats.newest;
  for (const UpgradeStep& step : formats.steps) oldest = std::min(oldest, step.from);
  return oldest;
}

Status UseLog(Database& database) {
  if (database.read_only()) return {};
  const Result<std::string> mode = database.Text("PRAGMA journal_mode = WAL");
  if (!mode.has_value()) return mode.error();
  if (*mode == "wal") return {};
  return Error{ErrorCode::kIo, Format("{}: SQLite's write-ahead log cannot be used here (mode {})",
                                      database.shown_path(), *mode)};
}

}  // namespace

const Formats& KnownFormats() {
  static constexpr Formats kFormats{.newest = kNewestFormat, .steps = kSteps, .create = kCreate};
  return kFormats;
}

// Nothing is written, not even the switch to the log, before the file has proved to be ours.
Status EnsureFormat(Database& database, const Formats& formats) {
  const Result<Content> content = Look(database);
  if (!content.has_value()) return content.error();
  if (*content == Content::kEmpty) {
    if (database.read_only()) return NoJournal(database, "nothing was ever written to it");
    if (Status log = UseLog(database); !log) return log;
    return Write(database, formats.create, formats.newest);
  }
  const Result<std::uint64_t> found =
      database.Number("SELECT value FROM meta WHERE name = 'format'");
  if (!found.has_value()) return found.error();
  if (*found > static_cast<std::uint64_t>(formats.newest)) {
    return Error{ErrorCode::kInvalid,
                 Format("{} was written by a newer Muster (format {}); this build reads formats {} "
                        "to {}: install that version, or restore a backup",
                        database.shown_path(), *found, OldestFormat(formats), formats.newest)};
  }
  if (Status log = UseLog(database); !log) return log;
  const int format = static_cast<int>(*found);
  return format == formats.newest ? Status{} : Upgrade(database, formats, format);
}

}  // namespace muster::journal
