// SPDX-License-Identifier: Apache-2.0
// The journal as a file of the system: who may open it, what else may stand under its name, how
// large it gets, backups, formats.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
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

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Status;
using journal::Database;
using journal::SqliteJournal;

Error OpenError(const SqliteJournal::Options& options) {
  auto journal = SqliteJournal::Open(options);
  if (!journal) return journal.error();
  ADD_FAILURE() << options.path << " opened";
  return {};
}

void ExpectHas(const Error& error, ErrorCode code, const std::string& text) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
}

void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(SqliteFile, IsTheOwnersAlone) {
  TempFolder folder;
  auto journal = MustOpen({.path = folder / "journal"});
  ASSERT_TRUE(Fill(*journal, 3, 10).has_value());
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"journal", "journal-lock", "journal-wal"}));
  for (const std::string& name : folder.Names()) {
    struct stat status {};
    ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << name;
  }
  journal.reset();
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"journal", "journal-lock"}));
}

TEST(SqliteFile, NamesWithAnySignWork) {
  TempFolder folder;
  for (const char* name : {"a b", "a?b=c", "a#b", "50%25", "\xC3\xA4", "file:x"}) {
    ASSERT_TRUE(Fill(*MustOpen({.path = folder / name}), 3, 10).has_value()) << name;
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(MustOpen({.path = folder / name, .read_only = true})->Segments().value().size(), 1U);
  }
}

TEST(SqliteFile, HasOneServer) {
  TempFolder folder;
  const std::string path = folder / "journal";
  auto first = MustOpen({.path = path});
  ASSERT_TRUE(Fill(*first, 3, 10).has_value());
  const Error second = OpenError({.path = path});
  EXPECT_EQ(second.code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.message,
            Format("{} is in use by another muster server (pid {})", path, getpid()));
  ExpectHas(OpenError({.path = path, .read_only = true}), ErrorCode::kUnavailable,
            Format("{} is in use by a muster server (pid {}): ask the server", path, getpid()));
  std::filesystem::create_symlink(path, folder / "link");
  ExpectHas(OpenError({.path = folder / "link"}), ErrorCode::kUnavailable, "in use by another");
  std::filesystem::create_hard_link(path, folder / "twin");  // SQLite's own lock is on the file
  ExpectHas(OpenError({.path = folder / "twin"}), ErrorCode::kUnavailable, "another program");
  EXPECT_TRUE(first->Append(SomeRecord(4)).has_value());
  first.reset();
  EXPECT_EQ(ReadAll(*MustOpen({.path = path})).value().records.size(), 4U);
}

TEST(SqliteFile, OtherProcessesAreKeptOutToo) {
  TempFolder folder;
  auto journal = MustOpen({.path = folder / "journal"});
  const pid_t server = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const auto opened = SqliteJournal::Open({.path = folder / "journal"});
    const bool named =
        !opened && opened.error().message.find(Format("(pid {})", server)) != std::string::npos;
    _exit(named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SqliteFile, ReadersShareAndKeepServersOut) {
  TempFolder folder;
  const std::string path = folder / "journal";
  ASSERT_TRUE(Fill(*MustOpen({.path = path}), 3, 10).has_value());
  auto reader = MustOpen({.path = path, .read_only = true});
  auto other = MustOpen({.path = path, .read_only = true});
  EXPECT_EQ(ReadAll(*reader).value(), ReadAll(*other).value());
  // The lock file still holds our own number, as a writer's.
  ExpectHas(OpenError({.path = path}), ErrorCode::kUnavailable, "is in use by another muster");
}

TEST(SqliteFile, ReadOnlyChangesNothing) {
  TempFolder folder;
  const std::string path = folder / "journal";
  auto server = MustOpen({.path = path});
  ASSERT_TRUE(Fill(*server, 25, 10).has_value());
  const Contents contents = ReadAll(*server).value();
  // With the log that a kill leaves, then with a clean end.
  std::filesystem::copy(path, folder / "killed");
  std::filesystem::copy(path + "-wal", folder / "killed-wal");
  server.reset();
  for (const std::string& name : {std::string("killed"), std::string("journal")}) {
    const std::string file = ReadFileBytes(folder / name);
    const std::string log = ReadFileBytes(folder / (name + "-wal"));
    {
      auto reader = MustOpen({.path = folder / name, .read_only = true});
      EXPECT_EQ(ReadAll(*reader).value(), contents);
      EXPECT_EQ(reader->Check().value(), std::vector<std::string>());
      for (const Status& refused : {reader->Append(SomeRecord(26)), reader->DropBefore(11),
                                    reader->PutSnapshot(SomeSnapshot(25))}) {
        ExpectHas(refused.error(), ErrorCode::kNotAllowed, "is open for reading only");
      }
    }
    EXPECT_EQ(ReadFileBytes(folder / name), file);
    EXPECT_EQ(ReadFileBytes(folder / (name + "-wal")), log);
  }
  ExpectHas(OpenError({.path = folder / "none", .read_only = true}), ErrorCode::kNotFound,
            "there is no journal");
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST(SqliteFile, RightsAreRespected) {
  if (geteuid() == 0) GTEST_SKIP() << "root may do everything";
  TempFolder folder;
  const std::string path = folder / "journal";
  ASSERT_TRUE(Fill(*MustOpen({.path = path}), 3, 10).has_value());
  std::filesystem::remove(path + "-lock");
  ASSERT_EQ(chmod((folder / "").c_str(), 0500), 0);
  ExpectHas(OpenError({.path = path}), ErrorCode::kNotAllowed, path);
  ExpectHas(OpenError({.path = folder / "new"}), ErrorCode::kNotAllowed, "cannot");
  EXPECT_EQ(ReadAll(*MustOpen({.path = path, .read_only = true})).value().records.size(), 3U);
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ExpectHas(OpenError({.path = path, .read_only = true}), ErrorCode::kNotAllowed, path);
  ASSERT_EQ(chmod((folder / "").c_str(), 0700), 0);
}

TEST(SqliteFile, WhatIsNoJournalIsRefusedAndLeftAlone) {
  TempFolder folder;
  const std::string path = folder / "file";
  WriteFileBytes(path, std::string(10'000, 'x'));
  ExpectHas(OpenError({.path = path}), ErrorCode::kInvalid, "is no Muster journal");
  EXPECT_EQ(ReadFileBytes(path), std::string(10'000, 'x'));

  std::filesystem::remove(path);
  RunSql(path, "CREATE TABLE theirs (a)");
  const std::string theirs = ReadFileBytes(path);
  ExpectHas(OpenError({.path = path}), ErrorCode::kInvalid,
            "is no Muster journal (a file of SQLite that another program has written)");
  EXPECT_EQ(ReadFileBytes(path), theirs);

  ExpectHas(OpenError({.path = ""}), ErrorCode::kInvalid, "empty");
  ExpectHas(OpenError({.path = folder / ""}), ErrorCode::kInvalid, "is a folder");
  ExpectHas(OpenError({.path = folder / "none/"}), ErrorCode::kInvalid, "is a folder");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  ExpectHas(OpenError({.path = folder / "pipe"}), ErrorCode::kInvalid, "not a plain file");
  ExpectHas(OpenError({.path = folder / "none/journal"}), ErrorCode::kNotFound,
            Format("the folder {} of the journal {} is not there", folder / "none",
                   folder / "none/journal"));
  ExpectHas(OpenError({.path = folder / "file/journal"}), ErrorCode::kNotFound, "file");
  std::filesystem::create_symlink(folder / "none", folder / "dangling");
  ExpectHas(OpenError({.path = folder / "dangling"}), ErrorCode::kNotFound, "dangling");
}

TEST(SqliteFile, AnEmptyFileBecomesAJournal) {
  TempFolder folder;  // as a crash right after its creation leaves it
  WriteFileBytes(folder / "journal", "");
  ExpectHas(OpenError({.path = folder / "journal", .read_only = true}), ErrorCode::kInvalid,
            "nothing was ever written to it");
  EXPECT_TRUE(Fill(*MustOpen({.path = folder / "journal"}), 3, 10).has_value());
}

TEST(SqliteFile, WorksThroughALinkAndFromAnotherFolder) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  auto journal = MustOpen({.path = folder / "elsewhere/journal"});
  std::filesystem::create_symlink(folder / "elsewhere/journal", folder / "link");
  ASSERT_TRUE(Fill(*journal, 3, 10).has_value());
  journal.reset();
  journal = MustOpen({.path = folder / "link"});
  EXPECT_TRUE(journal->Append(SomeRecord(4)).has_value());
  EXPECT_TRUE(std::filesystem::exists(folder / "elsewhere/journal-wal"));
}

TEST(SqliteFile, StaysBoundedWhenOldSegmentsAreDropped) {
  TempFolder folder;
  const std::string path = folder / "journal";
  auto journal = MustOpen({.path = path});
  ASSERT_TRUE(journal->PutSnapshot(SomeSnapshot(0)).has_value());
  const auto total = [&] {
    return std::filesystem::file_size(path) + std::filesystem::file_size(path + "-wal");
  };
  std::uintmax_t after_three = 0;
  std::uintmax_t most = 0;
  std::uint64_t sequence = 0;
  for (int segment = 1; segment <= 30; ++segment) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(journal->Append(SomeRecord(++sequence, 5000)).has_value());
    }
    ASSERT_TRUE(journal->PutSnapshot(SomeSnapshot(sequence, 200'000)).has_value());
    ASSERT_TRUE(journal->DropBefore(sequence).has_value());
    if (segment == 3) after_three = total();
    if (segment > 3) most = std::max(most, total());
  }
  EXPECT_LE(most, after_three * 5 / 4);
  EXPECT_EQ(journal->Segments().value().size(), 2U);
  EXPECT_EQ(journal->Check().value(), std::vector<std::string>());
}

TEST(SqliteFile, BacksUpWholeOrNotAtAll) {
  TempFolder folder;
  auto journal = MustOpen({.path = folder / "journal"});
  ASSERT_TRUE(Fill(*journal, 25, 10).has_value());
  const std::string backup = folder / "backup";
  ASSERT_TRUE(journal->BackupTo(backup).has_value());
  struct stat status {};
  ASSERT_EQ(stat(backup.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(ReadAll(*MustOpen({.path = backup, .read_only = true})).value(),
            ReadAll(*journal).value());
  const std::string bytes = ReadFileBytes(backup);
  ExpectHas(journal->BackupTo(backup).error(), ErrorCode::kInvalid, "is there already");
  ExpectHas(journal->BackupTo(folder / "journal").error(), ErrorCode::kInvalid, "there already");
  ExpectHas(journal->BackupTo(folder / "none/x").error(), ErrorCode::kNotFound, "none");
  EXPECT_EQ(ReadFileBytes(backup), bytes);

  // A backup is a journal like any other, and so is its backup.
  auto restored = MustOpen({.path = backup});
  EXPECT_TRUE(restored->Append(SomeRecord(26)).has_value());
  EXPECT_EQ(restored->Check().value(), std::vector<std::string>());
  restored.reset();
  auto reader = MustOpen({.path = backup, .read_only = true});
  EXPECT_TRUE(reader->BackupTo(folder / "second").has_value());
  EXPECT_EQ(MustOpen({.path = folder / "second"})->Read(26, 0).value().size(), 1U);
}

/// No file of this process grows beyond `bytes` in its scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(SqliteFile, TheSystemsOwnRefusalOfSpaceIsSaidAndLeftBehind) {
  TempFolder folder;
  auto journal = MustOpen({.path = folder / "journal"});
  ASSERT_TRUE(Fill(*journal, 10, 5).has_value());
  const Contents before = ReadAll(*journal).value();
  {
    const FileSizeLimit limit(200'000);
    ExpectHas(journal->Append(SomeRecord(11, 300'000)).error(), ErrorCode::kExhausted,
              "no space left on the disk that holds");
    EXPECT_EQ(ReadAll(*journal).value(), before);
    EXPECT_TRUE(journal->Append(SomeRecord(11, 1000)).has_value());
  }
  EXPECT_TRUE(journal->Append(SomeRecord(12, 300'000)).has_value());
  {
    const FileSizeLimit limit(100'000);
    ExpectHas(journal->BackupTo(folder / "backup").error(), ErrorCode::kExhausted, "backup");
  }
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"journal", "journal-lock", "journal-wal"}));
  EXPECT_EQ(journal->Check().value(), std::vector<std::string>());
}

/// Every connection that opens meanwhile has at most so many pages.
class PageLimit {
 public:
  PageLimit() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&Apply)); }
  ~PageLimit() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&Apply)); }
  PageLimit(const PageLimit&) = delete;
  PageLimit& operator=(const PageLimit&) = delete;

 private:
  static int Apply(sqlite3* database, char** /*error*/, const void* /*functions*/) {
    return sqlite3_exec(database, "PRAGMA max_page_count = 100", nullptr, nullptr, nullptr);
  }
};

TEST(SqliteFile, AFullDatabaseTakesRecordsAgainOnceSegmentsAreDropped) {
  TempFolder folder;
  const PageLimit limit;
  auto journal = MustOpen({.path = folder / "journal"});
  ASSERT_TRUE(Fill(*journal, 10, 10, 20'000).has_value());
  std::uint64_t next = 11;
  Status appended;
  while ((appended = journal->Append(SomeRecord(next, 20'000)))) ++next;
  EXPECT_EQ(appended.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(journal->Read(next - 1, 0).value().size(), 1U);
  EXPECT_EQ(journal->Read(next, 0).value().size(), 0U);
  ASSERT_TRUE(journal->DropBefore(11).has_value());
  EXPECT_TRUE(journal->Append(SomeRecord(next, 20'000)).has_value());
}

}  // namespace
}  // namespace muster::test
