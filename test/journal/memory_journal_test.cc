// SPDX-License-Identifier: Apache-2.0
// The faults of the journal in memory; what it does without them is in conformance_test.cc.
#include "test/support/memory_journal.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "test/journal/fixtures.h"

namespace muster::test {
namespace {

using base::ErrorCode;
using AppendFault = MemoryDisk::AppendFault;

class MemoryFault : public testing::Test {
 protected:
  MemoryFault() { EXPECT_TRUE(Fill(*journal_, 3, 10).has_value()); }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<MemoryJournal> journal_ = std::make_unique<MemoryJournal>(disk_);
};

TEST_F(MemoryFault, AppendsFailBeforeOrAfterTheyAreStored) {
  disk_->FailNextAppend(AppendFault::kBefore);
  disk_->FailNextAppend(AppendFault::kAfter);
  EXPECT_EQ(journal_->Append(SomeRecord(4)).error().code, ErrorCode::kIo);
  EXPECT_EQ(journal_->Read(4, 0).value(), std::vector<journal::Record>());
  EXPECT_EQ(journal_->Append(SomeRecord(4)).error().code, ErrorCode::kIo);
  EXPECT_EQ(journal_->Read(4, 0).value(), std::vector<journal::Record>{SomeRecord(4)});
  EXPECT_TRUE(journal_->Append(SomeRecord(5)).has_value());
  EXPECT_EQ(disk_->appends(), 5);
}

TEST_F(MemoryFault, AFullDiskTakesNothing) {
  disk_->SetFull(true);
  EXPECT_EQ(journal_->Append(SomeRecord(4)).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(journal_->PutSnapshot(SomeSnapshot(3)).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(disk_->last_sequence(), 3U);
  disk_->SetFull(false);
  EXPECT_TRUE(journal_->Append(SomeRecord(4)).has_value());
}

TEST_F(MemoryFault, ReadsFailWhileAsked) {
  disk_->FailReads(true);
  EXPECT_EQ(ReadAll(*journal_).error().code, ErrorCode::kIo);
  EXPECT_TRUE(journal_->Append(SomeRecord(4)).has_value());
  disk_->FailReads(false);
  EXPECT_EQ(ReadAll(*journal_).value().records.size(), 4U);
}

TEST_F(MemoryFault, TheDiskOutlivesItsJournalAndHasOneAtATime) {
  MemoryJournal again(disk_);
  EXPECT_EQ(ReadAll(again).value().records.size(), 3U);
  EXPECT_EQ(journal_->Append(SomeRecord(4)).error().code, ErrorCode::kUnavailable);
  journal_.reset();
  EXPECT_TRUE(again.Append(SomeRecord(4)).has_value());
}

}  // namespace
}  // namespace muster::test
