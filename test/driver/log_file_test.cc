// SPDX-License-Identifier: Apache-2.0
#include "driver/local/log_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "test/driver/local_fixture.h"

namespace muster::driver {
namespace {

constexpr std::int64_t kLimit = 8192;  // two segments of 4096

std::string Read(const std::string& folder, std::uint64_t offset, std::size_t most = 65536) {
  const auto chunk = ReadRankLog(folder, {.rank = 0, .offset = offset, .max_bytes = most});
  return chunk ? chunk->bytes : chunk.error().message;
}

TEST(LogFile, OffsetsGoOnAcrossSegments) {
  const TestFolder folder;
  RankLog log(folder.path(), 0, kLimit);
  std::string all;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece = std::to_string(i) + "\n";
    log.Append(piece);
    all += piece;
    if (all.size() > 4090 && all.size() < 4100) {
      EXPECT_EQ(Read(folder.path(), 0).size() + Read(folder.path(), 4096).size(), all.size());
    }
  }
  const auto chunk = ReadRankLog(folder.path(), {.rank = 0});
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->end, all.size());
  EXPECT_GT(chunk->offset, 0U);
  EXPECT_GE(chunk->offset + kLimit, all.size());
  std::string kept;
  std::uint64_t offset = chunk->offset;
  while (offset < chunk->end) {
    const std::string piece = Read(folder.path(), offset, 1000);
    ASSERT_FALSE(piece.empty());
    kept += piece;
    offset += piece.size();
  }
  EXPECT_EQ(kept, all.substr(all.size() - kept.size()));
}

TEST(LogFile, AnotherWriterGoesOn) {
  const TestFolder folder;
  RankLog(folder.path(), 0, kLimit).Append("one\n");
  RankLog(folder.path(), 0, kLimit).Append("two\n");
  EXPECT_EQ(Read(folder.path(), 0) + Read(folder.path(), 4), "one\ntwo\n");
}

TEST(LogFile, RanksAreApartAndTheEndIsEmpty) {
  const TestFolder folder;
  RankLog(folder.path(), 1, kLimit).Append("one\n");
  RankLog(folder.path(), 11, kLimit).Append("eleven\n");
  const auto end = ReadRankLog(folder.path(), {.rank = 1, .offset = 4});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->bytes, "");
  EXPECT_EQ(end->end, 4U);
  const auto none = ReadRankLog(folder.path(), {.rank = 2});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::ErrorCode::kNotFound);
}

TEST(LogFile, LinksAndOddNamesAreNotRead) {
  const TestFolder folder;
  std::ofstream(folder / "elsewhere") << "hidden";
  std::filesystem::create_symlink(folder / "elsewhere", folder / "0.0.log");
  std::ofstream(folder / "0.007.log") << "odd";
  std::ofstream(folder / "0.log") << "odd";
  std::filesystem::create_directory(folder / "0.9.log");
  EXPECT_FALSE(ReadRankLog(folder.path(), {.rank = 0}));
}

/// Files of at most `bytes`: what a full disk is to one file.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(LogFile, WhatDoesNotFitIsCountedAndToldLater) {
  const TestFolder folder;
  RankLog log(folder.path(), 0, kLimit);
  log.Append("before\n");
  {
    const SmallFiles full(10);
    log.Append("this does not fit\n");
    log.Append("nor this\n");
    log.Finish();
    EXPECT_GT(log.lost_bytes(), 0);
  }
  log.Append("after\n");
  EXPECT_EQ(log.lost_bytes(), 0);
  EXPECT_EQ(Read(folder.path(), 0),
            "before\nthi\n[muster: 24 bytes of output lost: File too large]\nafter\n");
}

TEST(LogFile, WithoutAFolderNothingHappens) {
  RankLog log("/no/such/folder", 0, kLimit);
  log.Append("lost\n");
  log.Finish();
  EXPECT_EQ(log.lost_bytes(), 5);
}

TEST(LogFile, TheOldestAttemptsGoFirst) {
  const TestFolder folder;
  const std::string block(16384, 'x');
  const std::vector<GangId> gangs{{{1}, {1}}, {{1}, {2}}, {{2}, {1}}, {{3}, {1}}};
  std::int64_t time = 1000;
  for (const GangId gang : gangs) {
    const std::string path = LogFolder(folder.path(), gang);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/0.0.log") << block;
    const timespec stamps[2] = {{time, 0}, {time, 0}};
    time += 10;
    ASSERT_EQ(utimensat(AT_FDCWD, (path + "/0.0.log").c_str(), stamps, 0), 0);
  }
  std::filesystem::create_directory(folder / "unrelated");
  const auto exists = [&](GangId gang) {
    return std::filesystem::exists(LogFolder(folder.path(), gang));
  };
  TrimLogs(folder.path(), 1 << 20, [](GangId) { return false; });
  for (const GangId gang : gangs) EXPECT_TRUE(exists(gang));
  TrimLogs(folder.path(), 40'000, [&](GangId gang) { return gang == gangs[0]; });
  EXPECT_TRUE(exists(gangs[0]));
  EXPECT_FALSE(exists(gangs[1]));
  EXPECT_FALSE(exists(gangs[2]));
  EXPECT_TRUE(exists(gangs[3]));
  EXPECT_FALSE(std::filesystem::exists(folder / "2"));
  EXPECT_TRUE(std::filesystem::exists(folder / "unrelated"));
}

}  // namespace
}  // namespace muster::driver
