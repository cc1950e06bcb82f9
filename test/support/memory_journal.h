// SPDX-License-Identifier: Apache-2.0
// A journal in memory for tests of what stands on one: obvious, and with faults on demand. It
// passes the same conformance suite as the real one (test/journal/conformance_test.cc).
//
//   auto disk = std::make_shared<MemoryDisk>();
//   Server server(std::make_unique<MemoryJournal>(disk), ...);
//   disk->FailNextAppend(MemoryDisk::AppendFault::kAfter);   // stored, and an error all the same
//   ...
//   Server again(std::make_unique<MemoryJournal>(disk), ...);  // a crash: what was stored is there
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strings.h"
#include "journal/journal.h"
#include "journal/limits.h"

namespace muster::test {

/// What a `MemoryJournal` stores, and the faults it meets. Outlives the journals on it, as a disk
/// outlives processes. A test may set faults and look while a server's thread writes, hence the
/// mutex.
class MemoryDisk {
 public:
  enum class AppendFault {
    kBefore,  ///< an error, nothing stored
    kAfter,   ///< an error, but stored: only a `Read` tells
  };

  /// The next `Append` fails with `kIo`, once. Called n times: the next n do, in order.
  void FailNextAppend(AppendFault fault) {
    const std::scoped_lock lock(mutex_);
    append_faults_.push_back(fault);
  }
  /// While full, every write fails with `kExhausted` and stores nothing.
  void SetFull(bool full) {
    const std::scoped_lock lock(mutex_);
    full_ = full;
  }
  /// While set, `Read`, `GetSnapshot`, `Segments` and `Check` fail with `kIo`.
  void FailReads(bool fail) {
    const std::scoped_lock lock(mutex_);
    fail_reads_ = fail;
  }
  /// Appends that were stored, on all journals together.
  int appends() const {
    const std::scoped_lock lock(mutex_);
    return appends_;
  }
  std::uint64_t last_sequence() const {
    const std::scoped_lock lock(mutex_);
    return LastSequence();
  }

 private:
  friend class MemoryJournal;

  std::uint64_t LastSequence() const {
    if (!records_.empty()) return records_.back().sequence;
    return snapshots_.empty() ? 0 : snapshots_.rbegin()->first;
  }

  mutable std::mutex mutex_;
  std::deque<journal::Record> records_;  // without gaps
  std::map<std::uint64_t, journal::Snapshot> snapshots_;
  std::deque<AppendFault> append_faults_;
  bool full_ = false;
  bool fail_reads_ = false;
  int appends_ = 0;
  const void* user_ = nullptr;  // the newest journal; older ones are of a process that is gone
};

/// See the top of the file. Opening another on the same disk ends this one: its calls fail with
/// `kUnavailable` from then on.
class MemoryJournal final : public journal::Journal {
 public:
  explicit MemoryJournal(std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>())
      : disk_(std::move(disk)) {
    const std::scoped_lock lock(disk_->mutex_);
    disk_->user_ = this;
  }

  base::Status Append(const journal::Record& record) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToWrite(); !ready) return ready;
    const std::uint64_t next = disk_->LastSequence() + 1;
    if (disk_->snapshots_.empty()) return Refused("a journal begins with a snapshot");
    if (record.sequence != next) {
      return Refused(base::Format("record {}: the next is {}", record.sequence, next));
    }
    if (record.bytes.size() > journal::kMaxRecordBytes) {
      return Refused(base::Format("record {} is too large", record.sequence));
    }
    std::optional<MemoryDisk::AppendFault> fault;
    if (!disk_->append_faults_.empty()) {
      fault = disk_->append_faults_.front();
      disk_->append_faults_.pop_front();
    }
    if (fault != MemoryDisk::AppendFault::kBefore) {
      disk_->records_.push_back(record);
      ++disk_->appends_;
    }
    if (fault) return base::Error{base::ErrorCode::kIo, "the disk failed, as the test asked"};
    return {};
  }

  base::Result<std::vector<journal::Record>> Read(std::uint64_t sequence,
                                                  std::size_t max_bytes) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToRead(); !ready) return ready.error();
    const std::uint64_t first = std::max<std::uint64_t>(sequence, 1);
    std::vector<journal::Record> found;
    if (first > disk_->LastSequence()) return found;
    if (first <= disk_->snapshots_.begin()->first) {
      return base::Error{base::ErrorCode::kNotFound, base::Format("record {} is gone", first)};
    }
    std::size_t bytes = 0;
    for (const journal::Record& record : disk_->records_) {
      if (record.sequence < first) continue;
      bytes += record.bytes.size();
      if (!found.empty() && bytes > max_bytes) break;
      found.push_back(record);
    }
    return found;
  }

  base::Status PutSnapshot(const journal::Snapshot& snapshot) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToWrite(); !ready) return ready;
    if (snapshot.sequence != disk_->LastSequence()) {
      return Refused(base::Format("snapshot {}: the last record is {}", snapshot.sequence,
                                  disk_->LastSequence()));
    }
    if (snapshot.bytes.size() > journal::kMaxSnapshotBytes) return Refused("too large");
    disk_->snapshots_[snapshot.sequence] = snapshot;
    return {};
  }

  base::Result<std::optional<journal::Snapshot>> GetSnapshot(std::uint64_t sequence) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToRead(); !ready) return ready.error();
    const auto after = disk_->snapshots_.upper_bound(sequence);
    if (after == disk_->snapshots_.begin()) return std::optional<journal::Snapshot>();
    return std::optional(std::prev(after)->second);
  }

  base::Result<std::vector<journal::Segment>> Segments() override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToRead(); !ready) return ready.error();
    return ListSegments();
  }

  base::Status DropBefore(std::uint64_t sequence) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToWrite(); !ready) return ready;
    for (const journal::Segment& segment : ListSegments()) {
      const bool newest = segment.snapshot_sequence == disk_->snapshots_.rbegin()->first;
      if (newest || segment.last_sequence >= sequence) break;
      disk_->snapshots_.erase(segment.snapshot_sequence);
      std::erase_if(disk_->records_, [&](const journal::Record& record) {
        return record.sequence <= segment.last_sequence;
      });
    }
    return {};
  }

  base::Result<std::vector<std::string>> Check() override {
    const std::scoped_lock lock(disk_->mutex_);
    if (auto ready = ReadyToRead(); !ready) return ready.error();
    return std::vector<std::string>();
  }

 private:
  static base::Error Refused(std::string message) {
    return {base::ErrorCode::kInvalid, std::move(message)};
  }
  base::Status Ready() const {
    if (disk_->user_ == this) return {};
    return base::Error{base::ErrorCode::kUnavailable, "another journal was opened on this disk"};
  }
  base::Status ReadyToRead() const {
    if (disk_->fail_reads_) {
      return base::Error{base::ErrorCode::kIo, "reading failed, as the test asked"};
    }
    return Ready();
  }
  base::Status ReadyToWrite() const {
    if (disk_->full_) return base::Error{base::ErrorCode::kExhausted, "no space left"};
    return Ready();
  }
  std::vector<journal::Segment> ListSegments() const {
    std::vector<journal::Segment> segments;
    for (const auto& [sequence, snapshot] : disk_->snapshots_) {
      if (!segments.empty()) segments.back().last_sequence = sequence;
      segments.push_back({.snapshot_sequence = sequence,
                          .last_sequence = disk_->LastSequence(),
                          .build = snapshot.build,
                          .policy_hash = snapshot.policy_hash,
                          .snapshot_bytes = snapshot.bytes.size()});
    }
    return segments;
  }

  std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace muster::test
