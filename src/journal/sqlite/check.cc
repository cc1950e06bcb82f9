// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/check.h"

#include <cstddef>
#include <cstdint>

#include "base/strings.h"

namespace muster::journal {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;
using base::Status;

constexpr std::size_t kMostFaults = 100;

using Lines = std::vector<std::string>;

/// Faults of one kind: the first ones as lines, the rest as their number.
class Faults {
 public:
  void Add(std::string line) {
    ++count_;
    if (lines_.size() < kMostFaults) lines_.push_back(std::move(line));
  }
  Lines Take() && {
    if (count_ > lines_.size()) lines_.push_back(Format("{} more", count_ - lines_.size()));
    return std::move(lines_);
  }

 private:
  Lines lines_;
  std::size_t count_ = 0;
};

/// Damage is what a check looks for; that the file cannot be read now is another matter.
bool IsDamage(const Error& error) { return error.code == ErrorCode::kIo; }

Result<Lines> CheckFile(Store& store) {
  Result<Statement> check =
      store.database().Prepare(Format("PRAGMA integrity_check({})", kMostFaults));
  if (!check) return check.error();
  Faults faults;
  Rows rows = check->Query();
  while (true) {
    const Result<bool> row = rows.Next();
    if (!row.has_value()) {
      if (!IsDamage(row.error())) return row.error();
      faults.Add(row.error().message);
      break;
    }
    if (!*row) break;
    if (rows.Text(0) != "ok") faults.Add("SQLite: " + rows.Text(0));
  }
  return std::move(faults).Take();
}

std::string Missing(std::uint64_t from, std::uint64_t to) {
  return from == to ? Format("record {} is missing", from)
                    : Format("records {} to {} are missing", from, to);
}

Result<Lines> CheckRecords(Store& store) {
  Faults faults;
  Rows rows = store.ReadRecords(0, kNewest);
  std::uint64_t expected = store.extent().oldest_snapshot + 1;
  while (true) {
    const Result<bool> row = rows.Next();
    if (!row.has_value()) {
      if (!IsDamage(row.error())) return row.error();
      faults.Add(
          Format("record {} cannot be read, nor what follows: {}", expected, row.error().message));
      return std::move(faults).Take();
    }
    if (!*row) break;
    const std::uint64_t sequence = rows.Integer(0);
    if (sequence < expected) {
      faults.Add(Format("record {} should not be there: the oldest is {}", sequence,
                        store.extent().oldest_snapshot + 1));
      continue;
    }
    if (sequence > expected) faults.Add(Missing(expected, sequence - 1));
    if (!store.ReadRecord(rows, sequence).has_value()) {
      faults.Add(Format("record {} is damaged: its checksum does not match", sequence));
    }
    expected = sequence + 1;
  }
  if (expected <= store.last_record) faults.Add(Missing(expected, store.last_record));
  return std::move(faults).Take();
}

Result<Lines> CheckSnapshots(Store& store) {
  Faults faults;
  for (const Segment& segment : store.segments) {
    const Result<Snapshot> snapshot = store.ReadSnapshot(segment.snapshot_sequence);
    if (snapshot.has_value()) continue;
    if (!IsDamage(snapshot.error())) return snapshot.error();
    faults.Add(Format("snapshot {} is damaged or cannot be read", segment.snapshot_sequence));
  }
  return std::move(faults).Take();
}

}  // namespace

Result<std::vector<std::string>> CheckStore(Store& store) {
  Lines all;
  for (const auto check : {CheckFile, CheckRecords, CheckSnapshots}) {
    const Result<Lines> lines = check(store);
    if (!lines.has_value()) return lines.error();
    all.insert(all.end(), lines->begin(), lines->end());
  }
  return all;
}

}  // namespace muster::journal
