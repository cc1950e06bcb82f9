// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "journal/sqlite/statement.h"

struct sqlite3;

namespace muster::journal {

struct DatabaseOptions {
  std::string path;        ///< absolute, unless `vfs` knows other names
  std::string shown_path;  ///< as messages name it
  std::string vfs;         ///< name of a registered sqlite3_vfs; empty: the system's files
  bool read_only = false;  ///< changes nothing on the disk; works on a disk that cannot be written
};

/// A connection to a file of SQLite, which no other program can have at the same time. The file
/// must be there (an empty one will do), except with `vfs`.
class Database {
 public:
  /// Does not look at the contents yet.
  static base::Result<std::unique_ptr<Database>> Open(const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& shown_path() const { return options_.shown_path; }
  bool read_only() const { return options_.read_only; }

  /// One or more statements without values; rows are dropped.
  base::Status Execute(const std::string& sql);
  base::Result<Statement> Prepare(const std::string& sql);
  /// The first column of the first row; an error if there is none.
  base::Result<std::uint64_t> Number(const std::string& sql);
  base::Result<std::string> Text(const std::string& sql);

  /// Moves all of the write-ahead log into the file, both synced, and empties it.
  base::Status Checkpoint();

  /// Undoes a write transaction that failed or was given up. True: the file is as it was before.
  /// False: nobody knows, since the fault came from a disk that may have kept what it called
  /// failed; close the database, which leaves its log as it is, and open it again to see.
  bool RollBack();

  /// The error for a result code that SQLite has just returned.
  base::Error Fault(int code);

 private:
  explicit Database(DatabaseOptions options) : options_(std::move(options)) {}
  base::Status Connect();
  base::Status Configure();

  struct Close {
    void operator()(sqlite3* connection) const;
  };
  DatabaseOptions options_;
  std::unique_ptr<sqlite3, Close> connection_;
  int last_fault_ = 0;
};

/// `path` as a URI that SQLite opens; `parameters` as in "vfs=unix&immutable=1".
std::string FileUri(const std::string& path, const std::string& parameters);

/// The log beside a database, where what was committed last lives until a checkpoint.
std::string LogPath(const std::string& path);

}  // namespace muster::journal
