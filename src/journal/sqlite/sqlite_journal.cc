// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/sqlite_journal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/strings.h"
#include "journal/limits.h"
#include "journal/sqlite/check.h"
#include "journal/sqlite/fault.h"
#include "journal/sqlite/store.h"

namespace muster::journal {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;
using base::Status;

Error Refused(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

Error TooLarge(const std::string& what, std::size_t bytes, std::size_t limit) {
  return Refused(Format("{} has {} bytes; at most {} are stored", what, bytes, limit));
}

/// Moves the log into the file, after a write that may have made it long. What was committed is
/// safe without it, and the next one tries again, so a fault here is none of the caller's.
void ShortenLog(Store& store) { static_cast<void>(store.database().Checkpoint()); }

}  // namespace

SqliteJournal::SqliteJournal(Options options) : options_(std::move(options)) {}
SqliteJournal::~SqliteJournal() = default;

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(const Options& options) {
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(options));
  journal->real_path_ = options.path;
  if (options.vfs.empty()) {
    Result<std::string> resolved = ResolveFile(options.path);
    if (!resolved) return resolved.error();
    journal->real_path_ = std::move(*resolved);
    if (options.read_only && access(journal->real_path_.c_str(), F_OK) != 0) {
      return Error{ErrorCode::kNotFound, Format("there is no journal {}", options.path)};
    }
    Result<LockFile> lock =
        LockFile::Take(journal->real_path_, options.path,
                       options.read_only ? LockFile::Mode::kReader : LockFile::Mode::kWriter);
    if (!lock) return lock.error();
    journal->lock_ = std::move(*lock);
    if (!options.read_only) {
      if (Status created = CreateIfMissing(journal->real_path_); !created) return created.error();
    }
  }
  if (Result<Store*> store = journal->Ready(); !store) return store.error();
  return journal;
}

Result<Store*> SqliteJournal::Ready() {
  if (store_ == nullptr) {
    Result<std::unique_ptr<Store>> opened = Store::Open({.path = real_path_,
                                                         .shown_path = options_.path,
                                                         .vfs = options_.vfs,
                                                         .read_only = options_.read_only});
    if (!opened) return opened.error();
    store_ = std::move(*opened);
  }
  return store_.get();
}

Result<Store*> SqliteJournal::ReadyToWrite() {
  if (!options_.read_only) return Ready();
  return Error{ErrorCode::kNotAllowed, Format("{} is open for reading only", options_.path)};
}

/// Runs `change`, which writes and notes, as one transaction. Does not use `store` after an error:
/// it may be closed.
template <class Change>
Status SqliteJournal::Transact(Store& store, Change change) {
  Status done = store.Begin();
  if (done) done = change();
  if (done) done = store.Commit();
  if (!done && !store.database().RollBack()) store_.reset();
  return done;
}

Status SqliteJournal::Append(const Record& record) {
  const Result<Store*> ready = ReadyToWrite();
  if (!ready) return ready.error();
  Store& store = **ready;
  if (store.segments.empty()) {
    return Refused(Format("{} has no snapshot yet: a journal begins with one", store.path()));
  }
  if (record.sequence != store.last_record + 1) {
    return Refused(Format("record {} cannot follow in {}: the next is {}", record.sequence,
                          store.path(), store.last_record + 1));
  }
  if (record.bytes.size() > kMaxRecordBytes) {
    return TooLarge(Format("record {}", record.sequence), record.bytes.size(), kMaxRecordBytes);
  }
  const Status done = Transact(store, [&]() -> Status {
    Store::Extent extent = store.extent();
    extent.last_record = record.sequence;
    if (Status inserted = store.InsertRecord(record); !inserted) return inserted;
    return store.Note(extent);
  });
  if (done) store.last_record = record.sequence;
  return done;
}

Result<std::vector<Record>> SqliteJournal::Read(std::uint64_t sequence, std::size_t max_bytes) {
  const Result<Store*> ready = Ready();
  if (!ready) return ready.error();
  Store& store = **ready;
  const std::uint64_t first = std::max<std::uint64_t>(sequence, 1);
  std::vector<Record> records;
  if (first > store.last_record) return records;
  if (first <= store.extent().oldest_snapshot) {
    return Error{ErrorCode::kNotFound,
                 Format("record {} is no longer in {}: the oldest is {}", first, store.path(),
                        store.extent().oldest_snapshot + 1)};
  }
  Rows rows = store.ReadRecords(first, store.last_record);
  std::size_t bytes = 0;
  for (std::uint64_t expected = first; expected <= store.last_record; ++expected) {
    const Result<bool> row = rows.Next();
    if (!row.has_value()) {
      return Error{row.error().code, Format("record {}: {}", expected, row.error().message)};
    }
    if (!*row) return Damaged(store.path(), Format("record {}", expected), "it is missing");
    Result<Record> record = store.ReadRecord(rows, expected);
    if (!record) return record.error();
    if (!records.empty() && record->bytes.size() > max_bytes - std::min(max_bytes, bytes)) break;
    bytes += record->bytes.size();
    records.push_back(std::move(*record));
  }
  return records;
}

Status SqliteJournal::PutSnapshot(const Snapshot& snapshot) {
  const Result<Store*> ready = ReadyToWrite();
  if (!ready) return ready.error();
  Store& store = **ready;
  if (snapshot.sequence != store.last_record) {
    return Refused(Format("a snapshot after record {} cannot follow in {}: the last record is {}",
                          snapshot.sequence, store.path(), store.last_record));
  }
  if (snapshot.bytes.size() > kMaxSnapshotBytes) {
    return TooLarge(Format("snapshot {}", snapshot.sequence), snapshot.bytes.size(),
                    kMaxSnapshotBytes);
  }
  std::vector<Segment> segments = store.segments;
  const bool replaces = !segments.empty() && segments.back().snapshot_sequence == snapshot.sequence;
  if (replaces) segments.pop_back();
  segments.push_back({.snapshot_sequence = snapshot.sequence,
                      .build = snapshot.build,
                      .policy_hash = snapshot.policy_hash,
                      .snapshot_bytes = snapshot.bytes.size()});
  Status done = Transact(store, [&]() -> Status {
    if (Status put = store.PutSnapshot(snapshot); !put) return put;
    return store.Note({.last_record = store.last_record,
                       .oldest_snapshot = segments.front().snapshot_sequence,
                       .newest_snapshot = snapshot.sequence,
                       .snapshots = segments.size()});
  });
  if (!done) return done;
  store.segments = std::move(segments);
  ShortenLog(store);
  return {};
}

Result<std::optional<Snapshot>> SqliteJournal::GetSnapshot(std::uint64_t sequence) {
  const Result<Store*> ready = Ready();
  if (!ready) return ready.error();
  Store& store = **ready;
  // The list in memory, not the file, says which is the newest: a damaged page can hide rows.
  const auto after =
      std::ranges::upper_bound(store.segments, sequence, {}, &Segment::snapshot_sequence);
  if (after == store.segments.begin()) return std::optional<Snapshot>();
  Result<Snapshot> snapshot = store.ReadSnapshot(std::prev(after)->snapshot_sequence);
  if (!snapshot) return snapshot.error();
  return std::optional<Snapshot>(std::move(*snapshot));
}

Result<std::vector<Segment>> SqliteJournal::Segments() {
  const Result<Store*> ready = Ready();
  if (!ready) return ready.error();
  std::vector<Segment> segments = (*ready)->segments;
  std::uint64_t end = (*ready)->last_record;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    segment->last_sequence = std::exchange(end, segment->snapshot_sequence);
  }
  return segments;
}

Status SqliteJournal::DropBefore(std::uint64_t sequence) {
  const Result<Store*> ready = ReadyToWrite();
  if (!ready) return ready.error();
  Store& store = **ready;
  const std::size_t before = store.segments.size();
  // A transaction a segment, so that the log grows by one segment's pages and not by all.
  while (store.segments.size() > 1 && store.segments[1].snapshot_sequence < sequence) {
    Segment oldest = store.segments[0];
    oldest.last_sequence = store.segments[1].snapshot_sequence;
    Store::Extent extent = store.extent();
    extent.oldest_snapshot = oldest.last_sequence;
    extent.snapshots -= 1;
    Status done = Transact(store, [&]() -> Status {
      if (Status dropped = store.DropSegment(oldest); !dropped) return dropped;
      return store.Note(extent);
    });
    if (!done) return done;
    store.segments.erase(store.segments.begin());
  }
  if (store.segments.size() < before) ShortenLog(store);
  return {};
}

Result<std::vector<std::string>> SqliteJournal::Check() {
  const Result<Store*> ready = Ready();
  if (!ready) return ready.error();
  return CheckStore(**ready);
}

Status SqliteJournal::BackupTo(const std::string& path) {
  const Result<Store*> ready = Ready();
  if (!ready) return ready.error();
  const Result<std::string> target = ResolveFile(path);
  if (!target.has_value()) return target.error();
  if (access(target->c_str(), F_OK) == 0) {
    return Refused(Format("{} is there already: give a name that is not", path));
  }
  const std::string part = *target + ".part";
  unlink(part.c_str());  // of a backup that was killed
  if (Status created = CreateIfMissing(part); !created) return created;
  Status done = (*ready)->CopyTo(part);
  if (done) done = Publish(part, *target);
  if (done) return done;
  unlink(part.c_str());
  // Only the copy takes space: what is full is its disk, not the journal's.
  if (done.error().code == ErrorCode::kExhausted) return ExplainSystem(ENOSPC, "write", path);
  return Error{done.error().code, Format("no backup {}: {}", path, done.error().message)};
}

}  // namespace muster::journal
