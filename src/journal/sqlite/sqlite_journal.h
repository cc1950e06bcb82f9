// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "journal/sqlite/file_system.h"

namespace muster::journal {

class Store;

/// The journal as one file of SQLite, with two beside it: PATH-wal, the log in which the newest
/// records live, and PATH-lock, which says who has it. A copy of PATH alone, made while a server
/// runs, is no backup: use `BackupTo`.
///
/// Every record is synced before `Append` returns, and carries a checksum over its number and
/// bytes. Space of forgotten segments is used again; the file does not shrink.
///
/// Errors, from all calls: no space -> `kExhausted`, and nothing is lost; damaged -> `kIo` with
/// what to do; not allowed to read or write, or opened for reading only -> `kNotAllowed`; other
/// faults of the disk -> `kIo`. After a fault that leaves a write in doubt the file is closed, and
/// the next call opens it again and so finds out: from then on it is there for good, or not at all.
/// `DropBefore` forgets segment by segment, so that after an error some may be gone.
class SqliteJournal final : public Journal {
 public:
  struct Options {
    std::string path;
    /// Changes nothing in the journal, and works on a disk that cannot be written. While a server
    /// has it open, `kUnavailable`.
    bool read_only = false;
    /// Name of a registered sqlite3_vfs: a disk of one's own, of which nothing but SQLite knows the
    /// paths. It keeps others out itself (no lock file). Empty: the system's files.
    std::string vfs;
  };

  /// Makes the file (mode 0600) where it is not there; its folder must be (`kNotFound`). Another
  /// server has it: `kUnavailable`. A folder, no journal, or of a newer format: `kInvalid`.
  static base::Result<std::unique_ptr<SqliteJournal>> Open(const Options& options);
  ~SqliteJournal() override;

  base::Status Append(const Record& record) override;
  base::Result<std::vector<Record>> Read(std::uint64_t sequence, std::size_t max_bytes) override;
  base::Status PutSnapshot(const Snapshot& snapshot) override;
  base::Result<std::optional<Snapshot>> GetSnapshot(std::uint64_t sequence) override;
  base::Result<std::vector<Segment>> Segments() override;
  base::Status DropBefore(std::uint64_t sequence) override;
  base::Result<std::vector<std::string>> Check() override;

  /// Writes a journal of its own with the same contents to `path`, which must not be there
  /// (`kInvalid`): whole, or an error and no file. Takes as long as reading and writing everything.
  base::Status BackupTo(const std::string& path);

 private:
  explicit SqliteJournal(Options options);

  base::Result<Store*> Ready();
  base::Result<Store*> ReadyToWrite();
  template <class Change>
  base::Status Transact(Store& store, Change change);

  Options options_;
  std::string real_path_;
  std::optional<LockFile> lock_;
  std::unique_ptr<Store> store_;  ///< none after a write in doubt, until the next call
};

}  // namespace muster::journal
