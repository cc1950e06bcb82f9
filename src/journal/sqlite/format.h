// SPDX-License-Identifier: Apache-2.0
// What is in a journal file, and how a file of an older build becomes one of this build.
//
//   meta      name -> number; "format" is the version of all this
//   record    a row a record, with a checksum over number and bytes
//   snapshot  a row a snapshot; `head_checksum` covers all but the bytes, which `checksum` covers
//   extent    one row: which records and snapshots there are. Rows can be lost without a trace
//   where
//             a page is damaged; then this row disagrees.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "journal/sqlite/database.h"

namespace muster::journal {

/// In the header of the file, for `file` and for us: "Must".
inline constexpr std::uint64_t kApplicationId = 0x4D757374;

/// Brings a file from format `from` to `from + 1`. A format that has shipped keeps its step for as
/// long as it can be read.
struct UpgradeStep {
  int from = 0;
  const char* sql = nullptr;
};

/// The formats a build knows: it writes `newest`, and reads what `steps` lead to it.
struct Formats {
  int newest = 0;
  std::span<const UpgradeStep> steps;
  const char* create = nullptr;  ///< SQL that makes an empty file one of the newest format
};

/// Those of this build.
const Formats& KnownFormats();

/// Makes an empty file a journal, upgrades an older one, in one transaction each, and refuses
/// (`kInvalid`) what is no journal or of a newer format. A read-only database is only judged.
base::Status EnsureFormat(Database& database, const Formats& formats);

}  // namespace muster::journal
