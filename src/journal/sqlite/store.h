// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/journal.h"
#include "journal/sqlite/database.h"

namespace muster::journal {

/// The tables of an open journal file, and what is in them, kept in memory. Knows no rules: which
/// record may follow is for the journal to say.
///
/// Writes take part in the transaction that `Begin` starts. The caller changes `last_record` and
/// `segments` after `Commit`, and calls `Database::RollBack` when anything fails.
class Store {
 public:
  /// Opens the file, makes or upgrades its tables, and compares what they hold with what was noted.
  /// All that can be read from it is on the disk for good, even what an earlier process or
  /// connection committed in doubt.
  static base::Result<std::unique_ptr<Store>> Open(const DatabaseOptions& options);

  base::Status Begin() { return begin_.Run(); }
  base::Status Commit() { return commit_.Run(); }
  base::Status InsertRecord(const Record& record);
  base::Status PutSnapshot(const Snapshot& snapshot);
  /// Forgets the snapshot and the records up to its segment's end.
  base::Status DropSegment(const Segment& segment);
  /// Notes what there is after the transaction.
  struct Extent {
    std::uint64_t last_record = 0;
    std::uint64_t oldest_snapshot = 0;
    std::uint64_t newest_snapshot = 0;
    std::uint64_t snapshots = 0;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  base::Status Note(const Extent& extent);

  /// Rows of (sequence, checksum, bytes) from one to another sequence.
  Rows ReadRecords(std::uint64_t from, std::uint64_t to) { return read_records_.Query(from, to); }
  /// The snapshot at exactly this sequence; a missing or damaged one is an error.
  base::Result<Snapshot> ReadSnapshot(std::uint64_t sequence);
  /// The record of a row of `ReadRecords`, which must be number `expected`; else an error that
  /// names it.
  base::Result<Record> ReadRecord(const Rows& row, std::uint64_t expected);

  /// Fills `path`, an empty file of the system, with a database of the same contents. Not synced.
  base::Status CopyTo(const std::string& path);

  Database& database() { return *database_; }
  const std::string& path() const { return database_->shown_path(); }
  Extent extent() const;

  std::uint64_t last_record = 0;  ///< or the newest snapshot's, where none follows it
  std::vector<Segment> segments;  ///< oldest first; `last_sequence` is not kept

 private:
  explicit Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  base::Status Prepare();
  base::Status ReadSegments();
  base::Status CompareExtent();

  std::unique_ptr<Database> database_;
  Statement begin_;
  Statement commit_;
  Statement insert_record_;
  Statement put_snapshot_;
  Statement drop_records_;
  Statement drop_snapshot_;
  Statement note_;
  Statement read_records_;
  Statement read_snapshot_;
};

}  // namespace muster::journal
