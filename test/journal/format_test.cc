// SPDX-License-Identifier: Apache-2.0
// Files of other formats than this build's.
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "journal/sqlite/database.h"
#include "journal/sqlite/format.h"
#include "test/journal/fixtures.h"

namespace muster::test {
namespace {

using base::ErrorCode;
using base::Format;
using base::Status;
using journal::Database;
using journal::EnsureFormat;
using journal::Formats;
using journal::SqliteJournal;
using journal::UpgradeStep;

/// A file of the made-up format `format`, with one table and one row.
void WriteOld(const std::string& path, int format) {
  WriteFileBytes(path, "");
  auto database = Database::Open({.path = path, .shown_path = path}).value();
  ASSERT_TRUE(database
                  ->Execute(Format("PRAGMA application_id = {};"
                                   "CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY,"
                                   "                   value INTEGER NOT NULL) STRICT;"
                                   "INSERT INTO meta VALUES ('format', {});"
                                   "CREATE TABLE jobs (a); INSERT INTO jobs VALUES (3)",
                                   journal::kApplicationId, format))
                  .has_value());
}

class FormatTest : public testing::Test {
 protected:
  Status Ensure(const Formats& formats, bool read_only = false) {
    auto database =
        Database::Open({.path = path_, .shown_path = "journal", .read_only = read_only}).value();
    return EnsureFormat(*database, formats);
  }
  /// -1: it has no such table or column.
  long Number(const std::string& sql) {
    auto database = Database::Open({.path = path_, .shown_path = "journal"}).value();
    const auto number = database->Number(sql);
    return number ? static_cast<long>(*number) : -1;
  }
  long FormatOfFile() { return Number("SELECT value FROM meta"); }

  TempFolder folder_;
  std::string path_ = folder_ / "journal";
};

constexpr UpgradeStep kSteps[] = {
    {1, "ALTER TABLE jobs ADD COLUMN b INTEGER NOT NULL DEFAULT 5"},
    {0,
     "ALTER TABLE jobs RENAME TO work; ALTER TABLE work RENAME TO jobs;"
     "INSERT INTO jobs VALUES (4)"},
};
constexpr Formats kTwo{.newest = 2, .steps = kSteps, .create = "CREATE TABLE meta (a, b)"};

TEST_F(FormatTest, UpgradesStepByStep) {
  WriteOld(path_, 0);
  ASSERT_TRUE(Ensure(kTwo).has_value());
  EXPECT_EQ(FormatOfFile(), 2);
  EXPECT_EQ(Number("SELECT sum(a) + sum(b) FROM jobs"), 3 + 4 + 5 + 5);
  ASSERT_TRUE(Ensure(kTwo).has_value());  // once only
  EXPECT_EQ(Number("SELECT sum(a) + sum(b) FROM jobs"), 3 + 4 + 5 + 5);
}

TEST_F(FormatTest, StartsFromTheMiddle) {
  WriteOld(path_, 1);
  ASSERT_TRUE(Ensure(kTwo).has_value());
  EXPECT_EQ(FormatOfFile(), 2);
  EXPECT_EQ(Number("SELECT sum(a) + sum(b) FROM jobs"), 3 + 5);
}

TEST_F(FormatTest, AFailedStepChangesNothing) {
  constexpr UpgradeStep kBroken[] = {{0, "INSERT INTO jobs VALUES (4)"},
                                     {1, "INSERT INTO nowhere VALUES (1)"}};
  WriteOld(path_, 0);
  EXPECT_FALSE(Ensure({.newest = 2, .steps = kBroken}).has_value());
  EXPECT_EQ(FormatOfFile(), 0);
  EXPECT_EQ(Number("SELECT sum(a) FROM jobs"), 3);
}

TEST_F(FormatTest, AnOldFileIsNotChangedByAReader) {
  WriteOld(path_, 0);
  const Status judged = Ensure(kTwo, true);
  EXPECT_EQ(judged.error().message,
            "journal was written by an older Muster (format 0): a server of this version upgrades "
            "it when it starts; until then, read it with the older version");
  EXPECT_EQ(FormatOfFile(), 0);
}

TEST_F(FormatTest, NewerAndForgottenFormatsAreRefused) {
  const struct {
    int format;
    std::string message;
  } kCases[] = {
      {3, Format("{} was written by a newer Muster (format 3); this build reads formats 1 to 1: "
                 "install that version, or restore a backup",
                 path_)},
      {0, Format("{} was written by an older Muster (format 0), which this build no longer reads: "
                 "upgrade by way of a version in between",
                 path_)},
  };
  for (const auto& [format, message] : kCases) {
    WriteOld(path_, format);
    const auto opened = SqliteJournal::Open({.path = path_});
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(opened.error().message, message);
  }
}

TEST_F(FormatTest, ThisBuildWritesFormatOne) {
  MustOpen({.path = path_});
  EXPECT_EQ(FormatOfFile(), 1);
  EXPECT_EQ(Number("PRAGMA application_id"), 0x4D757374);
}

}  // namespace
}  // namespace muster::test
