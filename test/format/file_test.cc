// SPDX-License-Identifier: Apache-2.0
#include "format/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

namespace muster::format {
namespace {

/// A folder of its own for each test.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "muster-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  /// The files that are there now.
  std::size_t Count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string text = "one\ntwo\n" + std::string(200'000, 'x');
  ASSERT_TRUE(WriteFile(Path("a"), text));
  EXPECT_EQ(ReadFile(Path("a")).value(), text);
  ASSERT_TRUE(WriteFile(Path("a"), "new"));
  EXPECT_EQ(ReadFile(Path("a")).value(), "new");
  EXPECT_EQ(Count(), 1U) << "a temporary was left";
}

TEST_F(FileTest, KeepsTheRightsOfAFileThatItReplaces) {
  ASSERT_TRUE(WriteFile(Path("a"), "old"));
  for (const mode_t rights : {0600U, 0666U, 0640U}) {  // more than the umask leaves, too
    ASSERT_EQ(chmod(Path("a").c_str(), rights), 0);
    ASSERT_TRUE(WriteFile(Path("a"), "new"));
    struct stat status {};
    ASSERT_EQ(stat(Path("a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, rights);
  }
}

TEST_F(FileTest, ReadsGzip) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i) + "\n";
  ASSERT_TRUE(WriteFile(Path("a.gz"), Gzip(text)));
  EXPECT_EQ(ReadFile(Path("a.gz")).value(), text);
  ASSERT_TRUE(WriteFile(Path("b.gz"), Gzip("one\n") + Gzip("two\n")));
  EXPECT_EQ(ReadFile(Path("b.gz")).value(), "one\ntwo\n");
}

TEST_F(FileTest, RefusesDamagedGzipWithReason) {
  const std::string whole = Gzip(std::string(100'000, 'x') + "end");
  ASSERT_TRUE(WriteFile(Path("cut"), whole.substr(0, whole.size() / 2)));
  EXPECT_EQ(ReadFile(Path("cut")).error().ToString(),
            Path("cut") + ": the gzip archive is truncated");
  ASSERT_TRUE(WriteFile(Path("head"), "\x1f\x8b"));
  EXPECT_EQ(ReadFile(Path("head")).error().message, "the gzip archive is truncated");
  ASSERT_TRUE(WriteFile(Path("tail"), whole + "garbage"));
  EXPECT_EQ(ReadFile(Path("tail")).error().message, "the gzip archive is damaged");
}

TEST_F(FileTest, BoundsWhatItReads) {
  ASSERT_TRUE(WriteFile(Path("a"), "12345"));
  EXPECT_TRUE(ReadFile(Path("a"), 5));
  EXPECT_EQ(ReadFile(Path("a"), 4).error().message, "more than 4 bytes; that is the limit");
  ASSERT_TRUE(WriteFile(Path("bomb"), Gzip(std::string(1'000'000, '\0'))));
  EXPECT_EQ(ReadFile(Path("bomb"), 10'000).error().message,
            "more than 10000 bytes; that is the limit");
}

TEST_F(FileTest, NamesWhatCannotBeRead) {
  const auto missing = ReadFile(Path("none"));
  EXPECT_EQ(missing.error().ToString(), Path("none") + ": cannot read: No such file or directory");
  EXPECT_EQ(missing.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(ReadFile(folder_).error().message, "is a directory; a file was expected");
  ASSERT_TRUE(WriteFile(Path("empty"), ""));
  EXPECT_EQ(ReadFile(Path("empty")).error().message, "the file is empty");
}

TEST_F(FileTest, ZerosAfterGzipArePadding) {
  ASSERT_TRUE(WriteFile(Path("a.gz"), Gzip("one\n") + std::string(100'000, '\0')));
  EXPECT_EQ(ReadFile(Path("a.gz")).value_or("refused"), "one\n");
}

TEST_F(FileTest, AnEmptyArchiveIsAnEmptyFile) {
  ASSERT_TRUE(WriteFile(Path("a.gz"), Gzip("")));
  const auto read = ReadFile(Path("a.gz"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "the file is empty");
}

TEST_F(FileTest, ALongNameIsFine) {
  const std::string name(250, 'n');
  ASSERT_TRUE(WriteFile(Path(name), "one"));
  ASSERT_TRUE(WriteFile(Path(name), "two"));
  EXPECT_EQ(ReadFile(Path(name)).value(), "two");
  EXPECT_EQ(Count(), 1U);
}

// It took the name of the process, and removed whatever had it.
TEST_F(FileTest, OnlyItsOwnTemporaryIsRemoved) {
  const std::string pid = std::to_string(getpid());
  const std::string others[] = {Path("a." + pid + ".tmp"), Path(".muster-" + pid + "-0")};
  for (const std::string& other : others) ASSERT_TRUE(WriteFile(other, "mine"));
  ASSERT_TRUE(WriteFile(Path("a"), "one"));
  ASSERT_TRUE(WriteFile(Path("a"), "two"));
  EXPECT_EQ(ReadFile(Path("a")).value(), "two");
  for (const std::string& other : others) EXPECT_EQ(ReadFile(other).value_or("gone"), "mine");
  EXPECT_EQ(Count(), 3U);
}

TEST_F(FileTest, WritesToWhereALinkLeads) {
  namespace fs = std::filesystem;
  fs::create_directory(Path("sub"));
  ASSERT_TRUE(WriteFile(Path("sub/target"), "old"));
  fs::create_symlink("sub/target", Path("link"));
  ASSERT_TRUE(WriteFile(Path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadFile(Path("sub/target")).value(), "new");

  fs::create_symlink("sub/none", Path("dangling"));
  ASSERT_TRUE(WriteFile(Path("dangling"), "made"));
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  EXPECT_EQ(ReadFile(Path("sub/none")).value(), "made");

  fs::create_symlink("circle", Path("circle"));
  EXPECT_EQ(WriteFile(Path("circle"), "x").error().message,
            "cannot write: Too many levels of symbolic links");
}

TEST_F(FileTest, AReadOnlyFileIsLeftAlone) {
  ASSERT_TRUE(WriteFile(Path("a"), "old"));
  ASSERT_EQ(chmod(Path("a").c_str(), 0444), 0);
  const base::Status written = WriteFile(Path("a"), "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write: Permission denied");
  EXPECT_EQ(ReadFile(Path("a")).value(), "old");
  EXPECT_EQ(Count(), 1U);
}

TEST_F(FileTest, SaysThatPermissionIsMissing) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ASSERT_TRUE(WriteFile(Path("a"), "x"));
  ASSERT_EQ(chmod(Path("a").c_str(), 0), 0);
  EXPECT_EQ(ReadFile(Path("a")).error().message, "cannot read: Permission denied");
}

TEST_F(FileTest, AFailedWriteLeavesNothing) {
  EXPECT_EQ(WriteFile(folder_, "x").error().message, "is a directory; a file was expected");
  EXPECT_EQ(WriteFile(Path("no/a"), "x").error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(Count(), 0U);
}

TEST_F(FileTest, ReportsAFullDisk) {
  const base::Status written = WriteFile("/dev/full", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().ToString(), "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(written.error().code, base::ErrorCode::kExhausted);
}

}  // namespace
}  // namespace muster::format
