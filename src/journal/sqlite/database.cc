// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "journal/sqlite/fault.h"

namespace muster::journal {
namespace {

using base::Error;
using base::Format;
using base::Result;
using base::Status;

// How long to wait for another program, as SQLite's shell, to let go of the file. Another server is
// found by the lock file, at once.
constexpr int kBusyTimeoutMs = 250;

bool HasLog(const std::string& path) {
  struct stat status {};
  return stat(LogPath(path).c_str(), &status) == 0 && status.st_size > 0;
}

/// What only reads takes no lock and must not need to create the log, since the folder may be
/// read-only. Without a log the file alone is the database; with one, SQLite's reading of it
/// happens in memory and without locks. Our own lock file keeps writers out meanwhile.
std::string ReadOnlyParameters(const std::string& path) {
  return HasLog(path) ? "vfs=unix-none" : "vfs=unix-none&immutable=1";
}

/// errno of the last call on the log or the file that failed. `sqlite3_system_errno` does not know
/// it where a commit failed.
int LastFileError(sqlite3* connection) {
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    int error = 0;
    sqlite3_file_control(connection, "main", which, static_cast<void*>(&file));
    if (file == nullptr || file->pMethods == nullptr) continue;
    const int code = file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
    if (code == SQLITE_OK && error != 0) return error;
  }
  return 0;
}

}  // namespace

std::string FileUri(const std::string& path, const std::string& parameters) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      uri += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return parameters.empty() ? uri : uri + "?" + parameters;
}

std::string LogPath(const std::string& path) { return path + "-wal"; }

void Database::Close::operator()(sqlite3* connection) const {
  const int code = sqlite3_close(connection);
  MUSTER_CHECK(code == SQLITE_OK);  // a statement outlived its database
}

Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::Open(const DatabaseOptions& options) {
  std::unique_ptr<Database> database(new Database(options));
  if (Status connected = database->Connect(); !connected) return connected.error();
  if (Status configured = database->Configure(); !configured) return configured.error();
  return database;
}

Status Database::Connect() {
  std::string parameters;
  if (options_.vfs.empty()) {
    parameters = options_.read_only ? ReadOnlyParameters(options_.path) : "vfs=unix";
  }
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE |
              (options_.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (!options_.vfs.empty() && !options_.read_only) flags |= SQLITE_OPEN_CREATE;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(FileUri(options_.path, parameters).c_str(), &connection, flags,
                                   options_.vfs.empty() ? nullptr : options_.vfs.c_str());
  connection_.reset(connection);  // even a failed opening leaves one, which knows why
  if (code != SQLITE_OK) return Fault(code);
  return {};
}

Status Database::Configure() {
  sqlite3_busy_timeout(connection_.get(), kBusyTimeoutMs);
  // A damaged or planted schema must not run anything.
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (options_.read_only) {
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  // - locking_mode before all else: it keeps the log's index in memory, without a third file.
  // - secure_delete, on in Debian's build, would write zeros over every dropped segment.
  // - journal_size_limit: what a large snapshot leaves behind is cut off again.
  return Execute(
      "PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA synchronous = FULL;"
      "PRAGMA page_size = 4096;"
      "PRAGMA secure_delete = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA temp_store = MEMORY;"
      "PRAGMA cache_size = -8192;"
      "PRAGMA wal_autocheckpoint = 1000;"
      "PRAGMA journal_size_limit = 8388608;");
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Fault(code);
  return {};
}

Result<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(connection_.get(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Fault(code);
  return Statement(*this, statement);
}

Result<std::uint64_t> Database::Number(const std::string& sql) {
  Result<Statement> statement = Prepare(sql);
  if (!statement) return statement.error();
  Rows rows = statement->Query();
  const Result<bool> row = rows.Next();
  if (!row.has_value()) return row.error();
  if (!*row) return Damaged(shown_path(), "the file", "a value is missing");
  return rows.Integer(0);
}

Result<std::string> Database::Text(const std::string& sql) {
  Result<Statement> statement = Prepare(sql);
  if (!statement) return statement.error();
  Rows rows = statement->Query();
  const Result<bool> row = rows.Next();
  if (!row.has_value()) return row.error();
  if (!*row) return Damaged(shown_path(), "the file", "a value is missing");
  return rows.Text(0);
}

Status Database::Checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                             nullptr, nullptr);
  if (code != SQLITE_OK) return Fault(code);
  return {};
}

bool Database::RollBack() {
  // A full disk fails while the log is written, before the mark that commits: surely not done. Any
  // other fault may come from the sync after that mark, and the mark may reach the disk yet.
  const bool known = (last_fault_ & 0xff) == SQLITE_FULL;
  const bool undone = sqlite3_get_autocommit(connection_.get()) != 0 || Execute("ROLLBACK");
  if (known && undone) return true;
  // Closing must not remove the log: with the mark in it, it could come back after a power cut.
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return false;
}

Error Database::Fault(int code) {
  last_fault_ = code;
  SqliteFault fault{.code = code, .text = sqlite3_errmsg(connection_.get())};
  const int kind = code & 0xff;
  if (kind == SQLITE_IOERR) fault.system_error = LastFileError(connection_.get());
  if (fault.system_error == 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN)) {
    fault.system_error = sqlite3_system_errno(connection_.get());
  }
  return Explain(fault, shown_path());
}

}  // namespace muster::journal
