// SPDX-License-Identifier: Apache-2.0
// What every journal does, whatever keeps it. A new implementation gets a row in `kKinds`.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "journal/limits.h"
#include "test/journal/fixtures.h"
#include "test/support/memory_journal.h"

namespace muster::test {
namespace {

using base::ErrorCode;
using journal::Journal;
using journal::kNewest;
using journal::Record;
using journal::Segment;
using journal::Snapshot;

/// A way to open the same journal again and again.
class Store {
 public:
  virtual ~Store() = default;
  virtual std::unique_ptr<Journal> Open() = 0;
};

class SqliteStore : public Store {
 public:
  std::unique_ptr<Journal> Open() override { return MustOpen({.path = folder_ / "journal"}); }

 private:
  TempFolder folder_;
};

class MemoryStore : public Store {
 public:
  std::unique_ptr<Journal> Open() override { return std::make_unique<MemoryJournal>(disk_); }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Store>()> make;
  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

const Kind kKinds[] = {
    {"sqlite", [] { return std::make_unique<SqliteStore>(); }},
    {"memory", [] { return std::make_unique<MemoryStore>(); }},
};

class JournalConformance : public testing::TestWithParam<Kind> {
 protected:
  JournalConformance() : store_(GetParam().make()), journal_(store_->Open()) {}

  void Reopen() {
    journal_.reset();
    journal_ = store_->Open();
  }
  std::vector<std::uint64_t> ReadNumbers(std::uint64_t sequence, std::size_t max_bytes) {
    std::vector<std::uint64_t> numbers;
    const std::vector<Record> records = journal_->Read(sequence, max_bytes).value();
    for (const Record& record : records) numbers.push_back(record.sequence);
    return numbers;
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Journal> journal_;
};

using Numbers = std::vector<std::uint64_t>;

TEST_P(JournalConformance, StartsEmpty) {
  EXPECT_EQ(journal_->Read(1, 1000).value(), std::vector<Record>());
  EXPECT_EQ(journal_->GetSnapshot(kNewest).value(), std::nullopt);
  EXPECT_EQ(journal_->Segments().value(), std::vector<Segment>());
  EXPECT_EQ(journal_->Check().value(), std::vector<std::string>());
  EXPECT_TRUE(journal_->DropBefore(10).has_value());
}

TEST_P(JournalConformance, WantsASnapshotFirst) {
  EXPECT_EQ(journal_->Append(SomeRecord(1)).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(journal_->PutSnapshot(SomeSnapshot(0)).has_value());
  EXPECT_TRUE(journal_->Append(SomeRecord(1)).has_value());
}

TEST_P(JournalConformance, GivesBackWhatWasStored) {
  ASSERT_TRUE(Fill(*journal_, 25, 10).has_value());
  const Contents before = ReadAll(*journal_).value();
  ASSERT_EQ(before.records.size(), 25U);
  for (std::uint64_t sequence = 1; sequence <= 25; ++sequence) {
    EXPECT_EQ(before.records[sequence - 1], SomeRecord(sequence));
  }
  EXPECT_EQ(before.snapshots,
            (std::vector<Snapshot>{SomeSnapshot(0), SomeSnapshot(10), SomeSnapshot(20)}));
  Reopen();
  EXPECT_EQ(ReadAll(*journal_).value(), before);
  EXPECT_EQ(journal_->Check().value(), std::vector<std::string>());
}

TEST_P(JournalConformance, RefusesARecordOutOfOrder) {
  ASSERT_TRUE(Fill(*journal_, 3, 10).has_value());
  for (const std::uint64_t wrong : {0U, 1U, 3U, 5U, 1000U}) {
    EXPECT_EQ(journal_->Append(SomeRecord(wrong)).error().code, ErrorCode::kInvalid) << wrong;
  }
  EXPECT_TRUE(journal_->Append(SomeRecord(4)).has_value());
}

TEST_P(JournalConformance, RefusesASnapshotThatIsNotOfTheLastRecord) {
  EXPECT_EQ(journal_->PutSnapshot(SomeSnapshot(1)).error().code, ErrorCode::kInvalid);
  ASSERT_TRUE(Fill(*journal_, 3, 10).has_value());
  for (const std::uint64_t wrong : {0U, 2U, 4U}) {
    EXPECT_EQ(journal_->PutSnapshot(SomeSnapshot(wrong)).error().code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(journal_->PutSnapshot(SomeSnapshot(3)).has_value());
}

TEST_P(JournalConformance, AnotherSnapshotOfTheSameRecordReplacesTheFirst) {
  ASSERT_TRUE(Fill(*journal_, 2, 10).has_value());
  ASSERT_TRUE(journal_->PutSnapshot(SomeSnapshot(2)).has_value());
  Snapshot second = SomeSnapshot(2, 7);
  second.build = "other";
  ASSERT_TRUE(journal_->PutSnapshot(second).has_value());
  Reopen();
  EXPECT_EQ(journal_->GetSnapshot(kNewest).value(), second);
  EXPECT_EQ(journal_->Segments().value().size(), 2U);
}

TEST_P(JournalConformance, FindsTheNewestSnapshotAtOrBefore) {
  ASSERT_TRUE(Fill(*journal_, 25, 10).has_value());
  const struct {
    std::uint64_t at, found;
  } kCases[] = {{0, 0}, {9, 0}, {10, 10}, {11, 10}, {20, 20}, {kNewest, 20}, {UINT64_MAX, 20}};
  for (const auto& [at, found] : kCases) {
    EXPECT_EQ(journal_->GetSnapshot(at).value(), SomeSnapshot(found)) << at;
  }
}

TEST_P(JournalConformance, ReadsUpToAnAmountOfBytes) {
  ASSERT_TRUE(Fill(*journal_, 5, 10, 100).has_value());
  EXPECT_EQ(ReadNumbers(1, 0), (Numbers{1}));  // at least one
  EXPECT_EQ(ReadNumbers(1, 100), (Numbers{1}));
  EXPECT_EQ(ReadNumbers(1, 199), (Numbers{1}));
  EXPECT_EQ(ReadNumbers(1, 200), (Numbers{1, 2}));
  EXPECT_EQ(ReadNumbers(4, SIZE_MAX), (Numbers{4, 5}));
  EXPECT_EQ(ReadNumbers(0, SIZE_MAX), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(ReadNumbers(6, 1000), Numbers());
  EXPECT_EQ(ReadNumbers(UINT64_MAX, 1000), Numbers());
}

TEST_P(JournalConformance, ListsSegments) {
  ASSERT_TRUE(Fill(*journal_, 20, 10).has_value());
  const auto segment = [](std::uint64_t from, std::uint64_t to) {
    const Snapshot snapshot = SomeSnapshot(from);
    return Segment{from, to, snapshot.build, snapshot.policy_hash, snapshot.bytes.size()};
  };
  EXPECT_EQ(journal_->Segments().value(),
            (std::vector<Segment>{segment(0, 10), segment(10, 20), segment(20, 20)}));
  ASSERT_TRUE(journal_->Append(SomeRecord(21)).has_value());
  EXPECT_EQ(journal_->Segments().value().back(), segment(20, 21));
}

TEST_P(JournalConformance, DropsWholeSegments) {
  const struct {
    std::uint64_t before, oldest;
  } kCases[] = {{0, 0}, {10, 0}, {11, 10}, {20, 10}, {21, 20}, {30, 20}, {UINT64_MAX, 30}};
  ASSERT_TRUE(Fill(*journal_, 35, 10).has_value());
  for (const auto& [before, oldest] : kCases) {
    ASSERT_TRUE(journal_->DropBefore(before).has_value());
    EXPECT_EQ(journal_->Segments().value().front().snapshot_sequence, oldest) << before;
    EXPECT_EQ(ReadNumbers(oldest + 1, 0), (Numbers{oldest + 1}));
    EXPECT_EQ(journal_->Check().value(), std::vector<std::string>());
    if (oldest == 0) continue;
    EXPECT_EQ(journal_->Read(oldest, 0).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(journal_->GetSnapshot(oldest - 1).value(), std::nullopt);
  }
  Reopen();
  EXPECT_EQ(journal_->Segments().value().size(), 1U);
  EXPECT_TRUE(journal_->Append(SomeRecord(36)).has_value());
}

TEST_P(JournalConformance, GoesOnAfterEverythingBeforeASnapshotIsDropped) {
  ASSERT_TRUE(Fill(*journal_, 10, 10).has_value());
  ASSERT_TRUE(journal_->DropBefore(kNewest).has_value());
  Reopen();  // the number of the last record is the snapshot's alone now
  EXPECT_EQ(ReadNumbers(11, 1000), Numbers());
  EXPECT_EQ(journal_->Append(SomeRecord(1)).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(journal_->Append(SomeRecord(11)).has_value());
}

TEST_P(JournalConformance, KeepsAnyBytesAndTexts) {
  Snapshot snapshot{.sequence = 0, .build = "", .policy_hash = std::string("a\0b\xff'", 5)};
  ASSERT_TRUE(journal_->PutSnapshot(snapshot).has_value());
  ASSERT_TRUE(journal_->Append({.sequence = 1}).has_value());
  ASSERT_TRUE(journal_->Append({.sequence = 2, .bytes = {0, 255, 0}}).has_value());
  Reopen();
  EXPECT_EQ(journal_->GetSnapshot(0).value(), snapshot);
  EXPECT_EQ(journal_->Read(1, 10).value(),
            (std::vector<Record>{{.sequence = 1}, {.sequence = 2, .bytes = {0, 255, 0}}}));
}

TEST_P(JournalConformance, KeepsLargeRecordsAndRefusesTooLargeOnes) {
  ASSERT_TRUE(journal_->PutSnapshot(SomeSnapshot(0)).has_value());
  const Record large{.sequence = 1, .bytes = std::vector<std::uint8_t>(16U << 20, 7)};
  ASSERT_TRUE(journal_->Append(large).has_value());
  const Record too_large{.sequence = 2,
                         .bytes = std::vector<std::uint8_t>(journal::kMaxRecordBytes + 1)};
  const auto refused = journal_->Append(too_large);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_NE(refused.error().message.find("record 2"), std::string::npos);
  ASSERT_TRUE(journal_->Append(SomeRecord(2)).has_value());
  Reopen();
  EXPECT_EQ(journal_->Read(1, 0).value(), std::vector<Record>{large});
}

INSTANTIATE_TEST_SUITE_P(All, JournalConformance, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace muster::test
