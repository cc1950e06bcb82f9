// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/journal.h"

namespace muster::server {

/// What a check of one segment found.
struct SegmentCheck {
  journal::Segment segment;
  enum class Outcome : std::uint8_t {
    kSame,           ///< deciding anew gives what was recorded, and the next snapshot
    kNotComparable,  ///< written by another build: replayed only
    kDiffers,
  };
  Outcome outcome = Outcome::kSame;
  std::uint64_t records = 0;
  std::uint64_t decisions = 0;
  std::string detail;  ///< what differs, and where
};

struct JournalCheck {
  std::vector<std::string> store_faults;  ///< of the store itself
  std::vector<SegmentCheck> segments;
  bool clean() const;
};

/// Checks the store, then decides every segment of this build anew from its snapshot and compares
/// with what was recorded. Segments of other builds are replayed: their states must lead to the
/// next snapshot too.
base::Result<JournalCheck> VerifyJournal(journal::Journal& journal, const std::string& build);

}  // namespace muster::server
