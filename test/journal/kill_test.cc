// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed, at any moment: what it had acknowledged is there.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "test/journal/fixtures.h"

namespace muster::test {
namespace {

/// Goes on from where the journal ends and tells the number of each record once it is written,
/// until killed.
[[noreturn]] void WriteForever(const std::string& path, int acknowledgements) {
  auto journal = journal::SqliteJournal::Open({.path = path});
  if (!journal) _exit(1);
  const auto segments = (*journal)->Segments().value();
  std::uint64_t sequence = segments.empty() ? 0 : segments.back().last_sequence;
  if (segments.empty() && !(*journal)->PutSnapshot(SomeSnapshot(0))) _exit(2);
  while (true) {
    ++sequence;
    if (!(*journal)->Append(SomeRecord(sequence, sequence * 797 % 9000))) _exit(3);
    if (write(acknowledgements, &sequence, sizeof sequence) != sizeof sequence) _exit(4);
    if (sequence % 7 == 0 && !(*journal)->PutSnapshot(SomeSnapshot(sequence, 20'000))) _exit(5);
    if (sequence % 14 == 0 && !(*journal)->DropBefore(sequence - 20)) _exit(6);
  }
}

/// Lets a writer acknowledge so many records and kills it; the last that it acknowledged.
std::uint64_t WriteAndKill(const std::string& path, std::uint64_t records) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    WriteForever(path, ends[1]);
  }
  close(ends[1]);
  std::uint64_t last = 0;
  std::uint64_t sequence = 0;
  for (std::uint64_t i = 0; read(ends[0], &sequence, sizeof sequence) == sizeof sequence; ++i) {
    last = sequence;  // to the end of the pipe: it may have written more by the time it died
    if (i == records) kill(writer, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with status " << status;
  return last;
}

TEST(Kill, LosesNothingThatWasAcknowledged) {
  TempFolder folder;
  const std::string path = folder / "journal";
  base::Rng rng(11);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t last = WriteAndKill(path, rng.Below(15));
    auto journal = MustOpen({.path = path, .read_only = round % 2 == 0});
    ASSERT_NE(journal, nullptr);
    const Contents contents = ReadAll(*journal).value();
    ASSERT_FALSE(contents.records.empty());
    EXPECT_GE(contents.segments.back().last_sequence, last);
    EXPECT_LE(contents.segments.back().last_sequence, last + 1);
    for (const journal::Record& record : contents.records) {
      EXPECT_EQ(record, SomeRecord(record.sequence, record.sequence * 797 % 9000));
    }
    EXPECT_EQ(journal->Check().value(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace muster::test
