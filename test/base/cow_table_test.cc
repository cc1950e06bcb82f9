// SPDX-License-Identifier: Apache-2.0
#include "base/cow_table.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace muster::base {
namespace {

/// A row that counts how often rows are copied.
struct Counted {
  int value = 0;
  static inline std::atomic<long> copies = 0;
  Counted() = default;
  explicit Counted(int v) : value(v) {}
  Counted(const Counted& other) : value(other.value) { ++copies; }
  Counted& operator=(const Counted& other) {
    value = other.value;
    ++copies;
    return *this;
  }
  Counted(Counted&&) = default;
  Counted& operator=(Counted&&) = default;
};

constexpr std::size_t kChunkRows = 8;
using Table = CowTable<Counted, kChunkRows>;

Table Filled(int rows) {
  Table table;
  for (int i = 0; i < rows; ++i) table.PushBack(Counted(i));
  return table;
}

TEST(CowTable, HoldsWhatWasPushed) {
  const Table table = Filled(20);
  ASSERT_EQ(table.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(table[i].value, static_cast<int>(i));
  EXPECT_EQ(Table{}.size(), 0U);
}

TEST(CowTable, ACopyKeepsItsRows) {
  Table table = Filled(20);
  const Table before = table;
  table.Mutable(3).value = -3;
  table.PushBack(Counted(20));
  EXPECT_EQ(before.size(), 20U);
  EXPECT_EQ(before[3].value, 3);
  EXPECT_EQ(table.size(), 21U);
  EXPECT_EQ(table[3].value, -3);
}

TEST(CowTable, WritingACopyLeavesTheOriginal) {
  const Table table = Filled(5);
  Table trial = table;
  trial.Mutable(0).value = 99;
  EXPECT_EQ(table[0].value, 0);
}

TEST(CowTable, CopyingCopiesNoRow) {
  const Table table = Filled(1000);
  Counted::copies = 0;
  const Table copy = table;
  EXPECT_EQ(Counted::copies, 0);
  EXPECT_EQ(&copy[0], &table[0]);
  EXPECT_EQ(&copy[999], &table[999]);
}

TEST(CowTable, OnlyTheFirstWriteToASharedChunkCopiesIt) {
  Table table = Filled(1000);
  const Table copy = table;
  Counted::copies = 0;
  table.Mutable(10).value = 1;
  EXPECT_EQ(Counted::copies, static_cast<long>(kChunkRows));
  table.Mutable(11).value = 1;
  EXPECT_EQ(Counted::copies, static_cast<long>(kChunkRows));
  EXPECT_EQ(&copy[500], &table[500]);  // untouched chunks stay shared
}

TEST(CowTable, WithoutACopyWritesAreInPlace) {
  Table table = Filled(100);
  { const Table dropped = table; }
  Counted::copies = 0;
  const Counted* const row = &table[50];
  table.Mutable(50).value = 1;
  EXPECT_EQ(Counted::copies, 0);
  EXPECT_EQ(&table[50], row);
}

/// Hands tables from the writer to the reader and waits; the reader drops each without telling.
class Mailbox {
 public:
  void Send(std::optional<Table> table) {
    {
      const std::lock_guard lock(mutex_);
      table_ = std::move(table);
      full_ = true;
    }
    changed_.notify_all();
  }
  std::optional<Table> Receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return full_; });
    full_ = false;
    return std::exchange(table_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Table> table_;
  bool full_ = false;
};

// Every row of version v holds v; a reader must never see two versions in one table. Under the
// thread sanitizer this also proves that the writer's reuse of a dropped chunk comes after the
// reader's last look.
TEST(CowTable, AnotherThreadReadsAConsistentSnapshot) {
  constexpr int kVersions = 200;
  constexpr int kRows = 100;
  Table table;
  for (int i = 0; i < kRows; ++i) table.PushBack(Counted(0));
  Mailbox mailbox;
  std::atomic<int> torn = 0;
  std::thread reader([&] {
    while (const std::optional<Table> snapshot = mailbox.Receive()) {
      const int version = (*snapshot)[0].value;
      for (std::size_t i = 0; i < snapshot->size(); ++i) {
        if ((*snapshot)[i].value != version) ++torn;
      }
    }
  });
  for (int version = 1; version <= kVersions; ++version) {
    for (std::size_t i = 0; i < table.size(); ++i) table.Mutable(i).value = version;
    mailbox.Send(table);
  }
  mailbox.Send(std::nullopt);
  reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace muster::base
