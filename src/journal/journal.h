// SPDX-License-Identifier: Apache-2.0
// The port to whatever keeps the server's history. A record is what one batch of the event loop
// took in and decided, as bytes that only the server can read; a snapshot is the server's whole
// state after a record. State = the newest snapshot + the records after it.
//
// Records are numbered 1, 2, 3... without gaps. Each snapshot starts a *segment*: the records after
// it up to the next one, all written by one build under one policy.
//
// One process at a time has a journal open, and one thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::journal {

struct Record {
  std::uint64_t sequence = 0;
  std::vector<std::uint8_t> bytes;
  friend bool operator==(const Record&, const Record&) = default;
};

struct Snapshot {
  std::uint64_t sequence = 0;  ///< of the last record that is in it; 0: none is
  std::string build;           ///< version of the program that writes what follows
  std::string policy_hash;     ///< of the policy that is active after it
  std::vector<std::uint8_t> bytes;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

/// A snapshot without its bytes, and the records that follow it.
struct Segment {
  std::uint64_t snapshot_sequence = 0;
  std::uint64_t last_sequence = 0;  ///< = snapshot_sequence when nothing follows it yet
  std::string build;
  std::string policy_hash;
  std::uint64_t snapshot_bytes = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

class Journal {
 public:
  virtual ~Journal() = default;

  /// Writes one record; on the disk when it returns. `record.sequence` must be the last one's plus
  /// one, a snapshot must be there, and the record no larger than limits.h says (`kInvalid`). After
  /// any other error the record may or may not be there: only a `Read` that works tells, and what
  /// it tells stays so. `kExhausted`: no space, nothing is lost, try again when there is.
  virtual base::Status Append(const Record& record) = 0;

  /// Records from `sequence` on, in order, as many as `max_bytes` hold; at least one if there is
  /// any. A damaged one is an error that names its number, a forgotten one is `kNotFound`.
  virtual base::Result<std::vector<Record>> Read(std::uint64_t sequence, std::size_t max_bytes) = 0;

  /// Starts a segment: `snapshot.sequence` must be the last record's number. One snapshot a
  /// sequence: the same again replaces it.
  virtual base::Status PutSnapshot(const Snapshot& snapshot) = 0;
  /// The newest snapshot at or before `sequence`; none if there is none. A damaged one is an error.
  virtual base::Result<std::optional<Snapshot>> GetSnapshot(std::uint64_t sequence) = 0;

  /// All segments, oldest first.
  virtual base::Result<std::vector<Segment>> Segments() = 0;
  /// Forgets whole segments whose last record is before `sequence`; the newest always stays. The
  /// space is used again.
  virtual base::Status DropBefore(std::uint64_t sequence) = 0;

  /// Reads everything, compares checksums and numbering, and has the store check itself. Empty: all
  /// is well.
  virtual base::Result<std::vector<std::string>> Check() = 0;
};

/// "The newest of all", for `GetSnapshot`.
inline constexpr std::uint64_t kNewest = UINT64_MAX >> 1;

}  // namespace muster::journal
