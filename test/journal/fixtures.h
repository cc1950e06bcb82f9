// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, sample records, and all of a journal as one value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "journal/journal.h"
#include "journal/sqlite/sqlite_journal.h"

namespace muster::test {

/// An empty folder, removed with all in it at the end of its scope.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ / name; }
  /// Names in it, sorted.
  std::vector<std::string> Names() const;

 private:
  std::filesystem::path path_;
};

/// Bytes that depend on `seed` and look random.
std::vector<std::uint8_t> SomeBytes(std::uint64_t seed, std::size_t size);

/// A record whose bytes follow from its number.
journal::Record SomeRecord(std::uint64_t sequence, std::size_t size = 100);
journal::Snapshot SomeSnapshot(std::uint64_t sequence, std::size_t size = 300);

/// Everything that a journal's reader can see.
struct Contents {
  std::vector<journal::Segment> segments;
  std::vector<journal::Snapshot> snapshots;
  std::vector<journal::Record> records;
  friend bool operator==(const Contents&, const Contents&) = default;
  friend void PrintTo(const Contents& contents, std::ostream* out);
};
base::Result<Contents> ReadAll(journal::Journal& journal);

/// Opens, or fails the test and gives none.
std::unique_ptr<journal::SqliteJournal> MustOpen(const journal::SqliteJournal::Options& options);

/// Snapshot 0 and records 1 to `records`, with a snapshot after every `per_segment`.
base::Status Fill(journal::Journal& journal, std::uint64_t records, std::uint64_t per_segment,
                  std::size_t record_bytes = 100);

std::string ReadFileBytes(const std::string& path);
void WriteFileBytes(const std::string& path, const std::string& bytes);

}  // namespace muster::test
