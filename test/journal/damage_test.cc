// SPDX-License-Identifier: Apache-2.0
// Bytes that change in the files of a journal: it says so, or the byte did not matter. Never other
// contents than those that were written.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/rng.h"
#include "base/strings.h"
#include "test/journal/fixtures.h"
#include "test/journal/simulated_disk.h"

namespace muster::test {
namespace {

using base::ErrorCode;
using journal::SqliteJournal;

/// A journal's files as a kill, or a clean end, leaves them.
struct Image {
  Bytes file;
  Bytes log;
  Contents contents;
};

Image MakeImage(bool killed) {
  SimulatedDisk disk;
  auto journal = MustOpen({.path = "journal", .vfs = disk.name()});
  EXPECT_TRUE(Fill(*journal, 40, 10).has_value());
  EXPECT_TRUE(journal->Append(SomeRecord(41, 9000)).has_value());
  for (std::uint64_t sequence = 42; sequence <= 50; ++sequence) {
    EXPECT_TRUE(journal->Append(SomeRecord(sequence)).has_value());
  }
  Image image{.contents = ReadAll(*journal).value()};
  if (!killed) journal.reset();
  image.file = disk.Get("journal");
  image.log = disk.Get("journal-wal");
  EXPECT_EQ(image.log.empty(), !killed);
  return image;
}

/// What a reader makes of an image.
struct Outcome {
  base::Result<Contents> contents;
  bool opened = false;
  std::vector<std::string> faults;  ///< that `Check` found, if it opened
};

Outcome Look(const Image& image, bool read_only) {
  SimulatedDisk disk;
  disk.Set("journal", image.file);
  if (!image.log.empty()) disk.Set("journal-wal", image.log);
  auto journal =
      SqliteJournal::Open({.path = "journal", .read_only = read_only, .vfs = disk.name()});
  if (!journal) return {.contents = journal.error()};
  auto faults = (*journal)->Check();
  return {.contents = ReadAll(**journal),
          .opened = true,
          .faults = faults ? *faults : std::vector<std::string>{faults.error().message}};
}

TEST(Damage, AFlippedByteOfTheFileIsFoundOrDoesNotMatter) {
  const Image whole = MakeImage(false);
  Image damaged = whole;
  base::Rng rng(7);
  int found = 0;
  int harmless = 0;
  for (std::size_t at = 0; at < whole.file.size(); at += 1 + rng.Below(at < 4096 ? 16 : 80)) {
    SCOPED_TRACE(base::Format("byte {}", at));
    const auto flip = static_cast<std::uint8_t>(1U << rng.Below(8));
    damaged.file[at] ^= flip;
    const Outcome outcome = Look(damaged, rng.Below(2) == 0);
    damaged.file[at] ^= flip;
    if (outcome.contents) {
      EXPECT_EQ(*outcome.contents, whole.contents);
      ++harmless;
      continue;
    }
    ++found;
    EXPECT_FALSE(outcome.contents.error().message.empty());
    if (outcome.opened) {
      EXPECT_EQ(outcome.contents.error().code, ErrorCode::kIo);
      EXPECT_FALSE(outcome.faults.empty());
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(harmless, 50);
}

TEST(Damage, ATruncatedFileIsFound) {
  const Image whole = MakeImage(false);
  for (std::size_t size = 1; size < whole.file.size(); size += 1000) {
    Image cut = whole;
    cut.file.resize(size);
    EXPECT_FALSE(Look(cut, false).contents.has_value()) << size;
  }
}

TEST(Damage, APageOfZerosIsFound) {
  const Image whole = MakeImage(false);
  for (std::size_t at = 0; at < whole.file.size(); at += 4096) {
    Image damaged = whole;
    std::fill_n(damaged.file.begin() + static_cast<std::ptrdiff_t>(at), 4096, std::uint8_t{0});
    const Outcome outcome = Look(damaged, false);
    if (outcome.contents) {
      EXPECT_EQ(*outcome.contents, whole.contents);
    }
  }
}

/// As `contents`, with the last record gone.
Contents WithoutTheLast(Contents contents) {
  contents.records.pop_back();
  contents.segments.back().last_sequence -= 1;
  return contents;
}

TEST(Damage, AFlippedByteOfTheLogIsFoundUnlessInItsLastTransaction) {
  const Image whole = MakeImage(true);
  ASSERT_EQ(*Look(whole, false).contents, whole.contents);
  ASSERT_EQ(*Look(whole, true).contents, whole.contents);
  const Contents without_the_last = WithoutTheLast(whole.contents);
  Image damaged = whole;
  base::Rng rng(8);
  int found = 0;
  int torn = 0;
  for (std::size_t at = 0; at < whole.log.size(); at += 1 + rng.Below(at < 100 ? 2 : 400)) {
    SCOPED_TRACE(base::Format("byte {} of {}", at, whole.log.size()));
    damaged.log[at] ^= 0x10;
    const Outcome outcome = Look(damaged, rng.Below(2) == 0);
    damaged.log[at] ^= 0x10;
    if (!outcome.contents) {
      ++found;
    } else if (*outcome.contents != whole.contents) {
      ++torn;
      EXPECT_EQ(*outcome.contents, without_the_last);
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_LT(torn, 60);
}

TEST(Damage, ALogCutShortLosesWhatWasCutOffAndNoMore) {
  const Image whole = MakeImage(true);
  for (std::size_t less = 1; less < 4120; less += 500) {
    Image cut = whole;
    cut.log.resize(whole.log.size() - less);
    const Outcome outcome = Look(cut, false);
    EXPECT_EQ(outcome.contents.value(), WithoutTheLast(whole.contents)) << less;
  }
}

/// Changes a journal's file behind its back, as no flipped bit would.
void Tamper(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

struct Tampering {
  std::string sql;
  std::string fault;       ///< in what reading or opening says
  std::string check_line;  ///< among those of `Check`; empty: it does not open
};

TEST(Damage, IsNamed) {
  const std::string kStandsWrong =
      "it should hold 3 snapshots from 0 to 20 and records to 25, and ";
  const Tampering kCases[] = {
      {"UPDATE record SET bytes = x'00' WHERE sequence = 7",
       "record 7 of PATH is damaged (its checksum does not match): restore a backup; `muster "
       "journal verify PATH` lists all that is wrong",
       "record 7 is damaged: its checksum does not match"},
      {"UPDATE record SET bytes = (SELECT bytes FROM record WHERE sequence = 8),"
       "checksum = (SELECT checksum FROM record WHERE sequence = 8) WHERE sequence = 7",
       "record 7 of PATH is damaged", "record 7 is damaged: its checksum does not match"},
      {"DELETE FROM record WHERE sequence = 7",
       "record 7 of PATH is damaged (it is missing: record 8 stands there)", "record 7 is missing"},
      {"DELETE FROM record WHERE sequence BETWEEN 7 AND 9", "record 7 of PATH is damaged",
       "records 7 to 9 are missing"},
      {"UPDATE snapshot SET bytes = zeroblob(300) WHERE sequence = 10",
       "snapshot 10 of PATH is damaged", "snapshot 10 is damaged or cannot be read"},
      {"INSERT INTO record VALUES (0, 0, x'')", "",
       "record 0 should not be there: the oldest is 1"},
      {"UPDATE snapshot SET build = '9' WHERE sequence = 10", "snapshot 10 of PATH is damaged", ""},
      {"DELETE FROM record WHERE sequence = 25", kStandsWrong, ""},
      {"DELETE FROM snapshot WHERE sequence = 10", kStandsWrong, ""},
      {"DELETE FROM snapshot WHERE sequence = 20", kStandsWrong, ""},
      {"INSERT INTO record VALUES (26, 0, x'')", kStandsWrong, ""},
      {"DELETE FROM extent", "it does not say what is in it", ""},
      {"DELETE FROM meta", "the file of PATH is damaged (a value is missing)", ""},
      {"DROP TABLE record", "no such table: record", ""},
  };
  TempFolder folder;
  const std::string whole = folder / "whole";
  ASSERT_TRUE(Fill(*MustOpen({.path = whole}), 25, 10).has_value());
  for (const auto& [sql, fault, check_line] : kCases) {
    SCOPED_TRACE(sql);
    const std::string path = folder / "PATH";
    WriteFileBytes(path, ReadFileBytes(whole));
    Tamper(path, sql);
    auto journal = SqliteJournal::Open({.path = path});
    ASSERT_EQ(journal.has_value(), !check_line.empty());
    auto contents = journal ? ReadAll(**journal) : journal.error();
    ASSERT_EQ(contents.has_value(), fault.empty());
    if (!contents) {
      std::string message = contents.error().message;
      for (std::size_t at; (at = message.find(path)) != std::string::npos;) {
        message.replace(at, path.size(), "PATH");
      }
      EXPECT_NE(message.find(fault), std::string::npos) << message;
      EXPECT_EQ(contents.error().code, ErrorCode::kIo);
    }
    if (journal) {
      EXPECT_EQ((*journal)->Check().value(), std::vector<std::string>{check_line});
    }
  }
}

TEST(Damage, ManyFaultsAreCounted) {
  TempFolder folder;
  const std::string path = folder / "journal";
  ASSERT_TRUE(Fill(*MustOpen({.path = path}), 250, 1000).has_value());
  Tamper(path, "UPDATE record SET checksum = 0");
  const std::vector<std::string> faults = MustOpen({.path = path})->Check().value();
  EXPECT_EQ(faults.size(), 101U);
  EXPECT_EQ(faults.back(), "150 more");
}

}  // namespace
}  // namespace muster::test
