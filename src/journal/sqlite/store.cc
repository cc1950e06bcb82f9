// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/store.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "journal/sqlite/checksum.h"
#include "journal/sqlite/fault.h"
#include "journal/sqlite/format.h"
#include "journal/sqlite/write_ahead_log.h"

namespace muster::journal {
namespace {

using base::Error;
using base::Format;
using base::Result;
using base::Status;

constexpr const char* kWrongChecksum = "its checksum does not match";

/// What a snapshot says of itself, and the checksum of its bytes.
std::uint64_t HeadChecksum(const Segment& head, std::uint64_t bytes_checksum) {
  return Checksum()
      .Add(head.snapshot_sequence)
      .Add(std::string_view(head.build))
      .Add(std::string_view(head.policy_hash))
      .Add(head.snapshot_bytes)
      .Add(bytes_checksum)
      .Value();
}

Segment HeadOf(const Snapshot& snapshot) {
  return {.snapshot_sequence = snapshot.sequence,
          .last_sequence = snapshot.sequence,
          .build = snapshot.build,
          .policy_hash = snapshot.policy_hash,
          .snapshot_bytes = snapshot.bytes.size()};
}

Error About(const std::string& what, const Error& error) {
  return {error.code, Format("{}: {}", what, error.message)};
}

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const DatabaseOptions& options) {
  if (Status settled = SettleLog(options); !settled) return settled.error();
  Result<std::unique_ptr<Database>> database = Database::Open(options);
  if (!database) return database.error();
  if (Status format = EnsureFormat(**database, KnownFormats()); !format) return format.error();
  std::unique_ptr<Store> store(new Store(std::move(*database)));
  if (Status prepared = store->Prepare(); !prepared) return prepared.error();
  if (Status read = store->ReadSegments(); !read) return read.error();
  if (Status same = store->CompareExtent(); !same) return same.error();
  return store;
}

Status Store::Prepare() {
  const std::pair<Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&insert_record_, "INSERT INTO record VALUES (?1, ?2, ?3)"},
      {&put_snapshot_, "INSERT OR REPLACE INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&drop_records_, "DELETE FROM record WHERE sequence <= ?1"},
      {&drop_snapshot_, "DELETE FROM snapshot WHERE sequence = ?1"},
      {&note_,
       "UPDATE extent SET last_record = ?1, oldest_snapshot = ?2, newest_snapshot = ?3, "
       "snapshots = ?4"},
      {&read_records_,
       "SELECT sequence, checksum, bytes FROM record WHERE sequence BETWEEN ?1 AND ?2 "
       "ORDER BY sequence"},
      {&read_snapshot_,
       "SELECT build, policy_hash, checksum, head_checksum, bytes FROM snapshot "
       "WHERE sequence = ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database_->Prepare(sql);
    if (!prepared) return prepared.error();
    *statement = std::move(*prepared);
  }
  return {};
}

Status Store::ReadSegments() {
  Result<Statement> heads = database_->Prepare(
      "SELECT sequence, build, policy_hash, length(bytes), checksum, head_checksum FROM snapshot "
      "ORDER BY sequence");
  if (!heads) return heads.error();
  Rows rows = heads->Query();
  while (true) {
    const Result<bool> row = rows.Next();
    if (!row.has_value()) return About("the list of snapshots", row.error());
    if (!*row) return {};
    Segment head{.snapshot_sequence = rows.Integer(0),
                 .build = rows.Text(1),
                 .policy_hash = rows.Text(2),
                 .snapshot_bytes = rows.Integer(3)};
    if (HeadChecksum(head, rows.Integer(4)) != rows.Integer(5)) {
      return Damaged(path(), Format("snapshot {}", head.snapshot_sequence), kWrongChecksum);
    }
    segments.push_back(std::move(head));
  }
}

Status Store::CompareExtent() {
  Result<Statement> query = database_->Prepare(
      "SELECT last_record, oldest_snapshot, newest_snapshot, snapshots FROM extent");
  if (!query) return query.error();
  Extent noted;
  {
    Rows row = query->Query();
    const Result<bool> found = row.Next();
    if (!found.has_value()) return found.error();
    if (!*found) return Damaged(path(), "the file", "it does not say what is in it");
    noted = {.last_record = row.Integer(0),
             .oldest_snapshot = row.Integer(1),
             .newest_snapshot = row.Integer(2),
             .snapshots = row.Integer(3)};
  }
  const Result<std::uint64_t> last = database_->Number("SELECT max(sequence) FROM record");
  if (!last.has_value()) return About("the last record", last.error());
  const std::uint64_t newest = segments.empty() ? 0 : segments.back().snapshot_sequence;
  last_record = std::max(*last, newest);
  if (extent() == noted) return {};
  return Damaged(
      path(), "the file",
      Format("it should hold {} snapshots from {} to {} and records to {}, and holds {} "
             "from {} to {} and records to {}",
             noted.snapshots, noted.oldest_snapshot, noted.newest_snapshot, noted.last_record,
             extent().snapshots, extent().oldest_snapshot, extent().newest_snapshot, last_record));
}

Store::Extent Store::extent() const {
  if (segments.empty()) return {.last_record = last_record};
  return {.last_record = last_record,
          .oldest_snapshot = segments.front().snapshot_sequence,
          .newest_snapshot = segments.back().snapshot_sequence,
          .snapshots = segments.size()};
}

Status Store::InsertRecord(const Record& record) {
  return insert_record_.Run(record.sequence, ChecksumOf(record.sequence, record.bytes),
                            std::span(record.bytes));
}

Status Store::PutSnapshot(const Snapshot& snapshot) {
  const std::uint64_t checksum = ChecksumOf(snapshot.sequence, snapshot.bytes);
  return put_snapshot_.Run(snapshot.sequence, std::string_view(snapshot.build),
                           std::string_view(snapshot.policy_hash), checksum,
                           HeadChecksum(HeadOf(snapshot), checksum), std::span(snapshot.bytes));
}

Status Store::DropSegment(const Segment& segment) {
  if (Status dropped = drop_snapshot_.Run(segment.snapshot_sequence); !dropped) return dropped;
  return drop_records_.Run(segment.last_sequence);
}

Status Store::Note(const Extent& extent) {
  return note_.Run(extent.last_record, extent.oldest_snapshot, extent.newest_snapshot,
                   extent.snapshots);
}

Result<Record> Store::ReadRecord(const Rows& row, std::uint64_t expected) {
  const std::uint64_t sequence = row.Integer(0);
  if (sequence != expected) {
    return Damaged(path(), Format("record {}", expected),
                   Format("it is missing: record {} stands there", sequence));
  }
  Record record{.sequence = sequence, .bytes = row.Blob(2)};
  if (ChecksumOf(sequence, record.bytes) == row.Integer(1)) return record;
  return Damaged(path(), Format("record {}", sequence), kWrongChecksum);
}

Result<Snapshot> Store::ReadSnapshot(std::uint64_t sequence) {
  const std::string what = Format("snapshot {}", sequence);
  Rows row = read_snapshot_.Query(sequence);
  const Result<bool> found = row.Next();
  if (!found.has_value()) return About(what, found.error());
  if (!*found) return Damaged(path(), what, "it is missing");
  Snapshot snapshot{
      .sequence = sequence, .build = row.Text(0), .policy_hash = row.Text(1), .bytes = row.Blob(4)};
  const std::uint64_t checksum = ChecksumOf(sequence, snapshot.bytes);
  if (checksum == row.Integer(2) && HeadChecksum(HeadOf(snapshot), checksum) == row.Integer(3)) {
    return snapshot;
  }
  return Damaged(path(), what, kWrongChecksum);
}

Status Store::CopyTo(const std::string& path) {
  // The copy goes to the system's files, wherever the journal itself is.
  const std::string target = FileUri(path, "vfs=unix");
  Result<Statement> copy = database_->Prepare("VACUUM INTO ?1");
  if (!copy) return copy.error();
  return copy->Run(std::string_view(target));
}

}  // namespace muster::journal
