// SPDX-License-Identifier: Apache-2.0
#include "test/journal/fixtures.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/strings.h"

namespace muster::test {

TempFolder::TempFolder() {
  // In memory where there is such a place: how long this disk takes to sync is not the point.
  const std::string memory = "/dev/shm/";
  std::string name = access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir();
  name += "muster_journal_XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TempFolder::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::uint8_t> SomeBytes(std::uint64_t seed, std::size_t size) {
  base::Rng rng(seed);
  std::vector<std::uint8_t> bytes(size);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = rng.Next();
    bytes[i] = static_cast<std::uint8_t>(word >> (i % 8 * 8));
  }
  return bytes;
}

journal::Record SomeRecord(std::uint64_t sequence, std::size_t size) {
  return {.sequence = sequence, .bytes = SomeBytes(sequence, size)};
}

journal::Snapshot SomeSnapshot(std::uint64_t sequence, std::size_t size) {
  return {.sequence = sequence,
          .build = base::Format("0.1.{}", sequence),
          .policy_hash = base::Format("policy-{}", sequence),
          .bytes = SomeBytes(~sequence, size)};
}

void PrintTo(const Contents& contents, std::ostream* out) {
  for (const journal::Segment& segment : contents.segments) {
    *out << base::Format("segment {}-{} ({} bytes) ", segment.snapshot_sequence,
                         segment.last_sequence, segment.snapshot_bytes);
  }
  for (const journal::Record& record : contents.records) {
    *out << base::Format("{}:{} ", record.sequence, record.bytes.size());
  }
}

base::Result<Contents> ReadAll(journal::Journal& journal) {
  Contents contents;
  base::Result<std::vector<journal::Segment>> segments = journal.Segments();
  if (!segments) return segments.error();
  contents.segments = *segments;
  for (const journal::Segment& segment : *segments) {
    base::Result<std::optional<journal::Snapshot>> snapshot =
        journal.GetSnapshot(segment.snapshot_sequence);
    if (!snapshot) return snapshot.error();
    if (*snapshot) contents.snapshots.push_back(std::move(**snapshot));
  }
  std::uint64_t next = segments->empty() ? 1 : segments->front().snapshot_sequence + 1;
  while (true) {
    base::Result<std::vector<journal::Record>> records = journal.Read(next, 1000);
    if (!records) return records.error();
    if (records->empty()) return contents;
    next = records->back().sequence + 1;
    std::ranges::move(*records, std::back_inserter(contents.records));
  }
}

std::unique_ptr<journal::SqliteJournal> MustOpen(const journal::SqliteJournal::Options& options) {
  auto journal = journal::SqliteJournal::Open(options);
  if (journal.has_value()) return std::move(*journal);
  ADD_FAILURE() << journal.error().message;
  return nullptr;
}

base::Status Fill(journal::Journal& journal, std::uint64_t records, std::uint64_t per_segment,
                  std::size_t record_bytes) {
  for (std::uint64_t sequence = 0; sequence <= records; ++sequence) {
    if (sequence > 0) {
      base::Status appended = journal.Append(SomeRecord(sequence, record_bytes));
      if (!appended) return appended;
    }
    if (sequence % per_segment == 0) {
      base::Status put = journal.PutSnapshot(SomeSnapshot(sequence));
      if (!put) return put;
    }
  }
  return {};
}

std::string ReadFileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFileBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace muster::test
