// SPDX-License-Identifier: Apache-2.0
// Random operations on a journal of SQLite and on the obvious one in memory, opened anew between:
// both say the same at each step. Many are wrong on purpose.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/journal/fixtures.h"
#include "test/journal/simulated_disk.h"
#include "test/support/memory_journal.h"

namespace muster::test {
namespace {

using journal::Journal;
using journal::SqliteJournal;

/// The same outcome: the same value, or an error of the same kind.
template <class T>
bool Same(const base::Result<T>& a, const base::Result<T>& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return a.error().code == b.error().code;
  if constexpr (!std::is_void_v<T>) return *a == *b;
  return true;
}

/// A number near `about`, mostly.
std::uint64_t Near(std::uint64_t about) {
  const auto step = *rc::gen::inRange<std::uint64_t>(0, 4);
  return about + step - std::min<std::uint64_t>(about, 1);
}

class Pair {
 public:
  void Open() {
    sqlite_.reset();
    sqlite_ = MustOpen({.path = "journal", .vfs = disk_.name()});
    memory_ = std::make_unique<MemoryJournal>(memory_disk_);
  }
  /// One random call on both.
  void Step() {
    const std::uint64_t last = memory_disk_->last_sequence();
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        return Open();
      case 1:
      case 2: {
        const journal::Snapshot snapshot = SomeSnapshot(
            *rc::gen::weightedElement<std::uint64_t>({{9, last}, {1, Near(last)}}), Size());
        return Compare([&](Journal& journal) { return journal.PutSnapshot(snapshot); });
      }
      case 3: {
        const std::uint64_t before = *rc::gen::inRange<std::uint64_t>(0, last + 2);
        return Compare([&](Journal& journal) { return journal.DropBefore(before); });
      }
      case 4: {
        const std::uint64_t at = *rc::gen::inRange<std::uint64_t>(0, last + 2);
        return Compare([&](Journal& journal) { return journal.GetSnapshot(at); });
      }
      case 5: {
        const std::uint64_t from = *rc::gen::inRange<std::uint64_t>(0, last + 2);
        const std::size_t bytes = *rc::gen::inRange<std::size_t>(0, 10'000);
        return Compare([&](Journal& journal) { return journal.Read(from, bytes); });
      }
      default: {
        const journal::Record record = SomeRecord(
            *rc::gen::weightedElement<std::uint64_t>({{9, last + 1}, {1, Near(last)}}), Size());
        return Compare([&](Journal& journal) { return journal.Append(record); });
      }
    }
  }
  void CompareAll() {
    Compare([](Journal& journal) { return ReadAll(journal); });
    Compare([](Journal& journal) { return journal.Check(); });
  }

 private:
  static std::size_t Size() {
    return *rc::gen::weightedOneOf<std::size_t>(
        {{5, rc::gen::inRange<std::size_t>(0, 200)}, {1, rc::gen::inRange<std::size_t>(0, 9000)}});
  }
  template <class Call>
  void Compare(Call call) {
    RC_ASSERT(Same(call(*sqlite_), call(*memory_)));
  }

  SimulatedDisk disk_;
  std::shared_ptr<MemoryDisk> memory_disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<SqliteJournal> sqlite_;
  std::unique_ptr<MemoryJournal> memory_;
};

RC_GTEST_PROP(JournalLaw, SqliteDoesWhatTheModelDoes, ()) {
  Pair pair;
  pair.Open();
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) pair.Step();
  pair.CompareAll();
  pair.Open();
  pair.CompareAll();
}

}  // namespace
}  // namespace muster::test
