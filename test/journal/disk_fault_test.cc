// SPDX-License-Identifier: Apache-2.0
// The journal on a disk that fails. One scenario runs again and again with the 1st, 2nd, 3rd...
// operation of the disk failing, until it passes untouched. After each fault the journal must hold
// what was acknowledged, perhaps with the step that was under way, and go on.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/strings.h"
#include "test/journal/fixtures.h"
#include "test/journal/simulated_disk.h"
#include "test/support/memory_journal.h"

namespace muster::test {
namespace {

using base::ErrorCode;
using base::Status;
using journal::Journal;
using journal::SqliteJournal;
using Fault = SimulatedDisk::Fault;

struct Step {
  enum class Kind { kAppend, kSnapshot, kDrop } kind = Kind::kAppend;
  std::uint64_t sequence = 0;
  std::size_t bytes = 100;
};

Status Run(Journal& journal, const Step& step) {
  switch (step.kind) {
    case Step::Kind::kAppend:
      return journal.Append(SomeRecord(step.sequence, step.bytes));
    case Step::Kind::kSnapshot:
      return journal.PutSnapshot(SomeSnapshot(step.sequence, step.bytes));
    case Step::Kind::kDrop:
      return journal.DropBefore(step.sequence);
  }
  return {};
}

/// Every kind of write, with rows within a page and over several.
std::vector<Step> Scenario() {
  using enum Step::Kind;
  return {{kSnapshot, 0},      {kAppend, 1}, {kAppend, 2, 9000}, {kSnapshot, 2, 9000},
          {kSnapshot, 2, 300}, {kAppend, 3}, {kAppend, 4, 0},    {kSnapshot, 4, 5000},
          {kAppend, 5, 9000},  {kDrop, 3},   {kAppend, 6},       {kAppend, 7, 5000},
          {kSnapshot, 7},      {kAppend, 8}, {kDrop, 5},         {kAppend, 9}};
}

/// A run of the scenario on one disk, beside a model of what was acknowledged.
class FaultRun {
 public:
  SimulatedDisk disk;

  /// The journal, open; at the second try at the latest, since the first may meet a fault.
  Journal& journal() {
    if (journal_ == nullptr && !TryOpen()) journal_ = MustOpen(options());
    return *journal_;
  }
  bool TryOpen() {
    auto opened = SqliteJournal::Open(options());
    if (opened) journal_ = std::move(*opened);
    return opened.has_value();
  }
  void Close() { journal_.reset(); }
  /// The process ends without another word; the system has all that it wrote.
  void Kill() {
    disk.CutPower();
    Close();
    disk.GoOn();
  }
  void CutPower(base::Rng& rng) {
    disk.CutPower();
    Close();
    disk.Restart(rng);
  }

  Contents Expected() { return ReadAll(model_).value(); }
  void Acknowledge(const Step& step) { ASSERT_TRUE(Run(model_, step).has_value()); }

  /// Looks whether the step that failed has happened. True: it has. Fails the test if neither.
  bool Settle(const Step& step) {
    const auto contents = ReadAll(journal());
    EXPECT_TRUE(contents.has_value()) << contents.error().message;
    if (!contents || *contents == Expected()) return false;
    Acknowledge(step);
    EXPECT_EQ(*contents, Expected()) << "neither before nor after";
    return true;
  }
  void ExpectAllIsWell() {
    EXPECT_EQ(ReadAll(journal()).value(), Expected());
    EXPECT_EQ(journal().Check().value(), std::vector<std::string>());
  }

 private:
  SqliteJournal::Options options() const { return {.path = "journal", .vfs = disk.name()}; }

  std::unique_ptr<SqliteJournal> journal_;
  MemoryJournal model_;
};

constexpr int kNoMore = 5000;  // far more operations than the scenario has

/// One failing operation, all else works; a killed process or a power cut may come on top. False:
/// the scenario has fewer than n operations.
bool RunWithOneFault(int n, Fault fault, std::uint64_t seed) {
  SCOPED_TRACE(base::Format("operation {}, fault {}, seed {}", n, static_cast<int>(fault), seed));
  FaultRun run;
  base::Rng rng(seed);
  run.disk.FailAt(n, fault);
  EXPECT_TRUE(run.TryOpen() || run.disk.struck());
  for (const Step& step : Scenario()) {
    const Status done = Run(run.journal(), step);
    if (done) {
      run.Acknowledge(step);
      continue;
    }
    EXPECT_TRUE(run.disk.struck()) << done.error().message;
    if (rng.Below(2) == 0) run.Kill();
    const bool happened = run.Settle(step);
    if (fault == Fault::kFull) {
      EXPECT_EQ(done.error().code, ErrorCode::kExhausted) << done.error().message;
      EXPECT_FALSE(happened);
    }
    // What has been read must not change, whatever happens now.
    if (rng.Below(2) == 0) run.Kill();
    run.ExpectAllIsWell();
    if (rng.Below(2) == 0) run.CutPower(rng);
    run.ExpectAllIsWell();
    if (happened) continue;
    EXPECT_TRUE(Run(run.journal(), step).has_value());
    run.Acknowledge(step);
  }
  run.ExpectAllIsWell();
  run.Close();
  run.ExpectAllIsWell();
  return run.disk.struck();
}

TEST(DiskFault, OneFailingOperationLosesNothing) {
  base::Rng rng(5);
  for (const Fault fault : {Fault::kFull, Fault::kError}) {
    int n = 1;
    while (n < kNoMore && RunWithOneFault(n, fault, rng.Next()) && !testing::Test::HasFailure())
      ++n;
    EXPECT_GT(n, 50);
    EXPECT_LT(n, kNoMore);
  }
}

/// From the n-th operation on all fail, until the disk is well again.
bool RunWithABrokenDisk(int n, Fault fault, std::uint64_t seed) {
  SCOPED_TRACE(
      base::Format("from operation {} on fault {}, seed {}", n, static_cast<int>(fault), seed));
  FaultRun run;
  base::Rng rng(seed);
  EXPECT_TRUE(run.TryOpen());
  run.disk.FailFrom(n, fault);
  for (const Step& step : Scenario()) {
    if (Run(run.journal(), step)) {
      run.Acknowledge(step);
      continue;
    }
    for (int again = 0; again < 3; ++again) {
      static_cast<void>(Run(run.journal(), step));
      static_cast<void>(run.journal().Read(1, 1000));
    }
    if (rng.Below(2) == 0) run.Kill();
    run.disk.Heal();
    const bool happened = run.Settle(step);
    if (rng.Below(2) == 0) run.CutPower(rng);
    run.ExpectAllIsWell();
    if (happened) continue;
    EXPECT_TRUE(Run(run.journal(), step).has_value());
    run.Acknowledge(step);
  }
  run.ExpectAllIsWell();
  run.disk.Heal();
  run.Close();
  run.ExpectAllIsWell();
  return run.disk.struck();
}

TEST(DiskFault, ABrokenDiskLosesNothing) {
  base::Rng rng(7);
  for (const Fault fault : {Fault::kFull, Fault::kError}) {
    int n = 1;
    while (n < kNoMore && RunWithABrokenDisk(n, fault, rng.Next()) && !testing::Test::HasFailure())
      ++n;
    EXPECT_GT(n, 50);
    EXPECT_LT(n, kNoMore);
  }
}

bool RunWithAPowerCut(int n, std::uint64_t seed) {
  SCOPED_TRACE(base::Format("power cut at operation {}, seed {}", n, seed));
  FaultRun run;
  base::Rng rng(seed);
  run.disk.FailAt(n, Fault::kPowerCut);
  if (!run.TryOpen()) run.CutPower(rng);
  for (const Step& step : Scenario()) {
    const bool done = Run(run.journal(), step).has_value();
    if (done) run.Acknowledge(step);
    if (done && !run.disk.off()) continue;
    // Also after a step that was done: the cut may have hit the shortening of the log.
    run.CutPower(rng);
    if (!done && !run.Settle(step)) {
      EXPECT_TRUE(Run(run.journal(), step).has_value());
      run.Acknowledge(step);
    }
    run.ExpectAllIsWell();
  }
  run.Close();
  if (run.disk.off() || !run.TryOpen()) run.CutPower(rng);
  run.ExpectAllIsWell();
  return run.disk.struck();
}

TEST(DiskFault, APowerCutLosesNothingThatWasAcknowledged) {
  base::Rng rng(6);
  int n = 1;
  while (n < kNoMore && RunWithAPowerCut(n, rng.Next()) && !testing::Test::HasFailure()) ++n;
  EXPECT_GT(n, 50);
  EXPECT_LT(n, kNoMore);
}

TEST(DiskFault, AFullDiskIsSaidAndLeftBehind) {
  FaultRun run;
  ASSERT_TRUE(Fill(run.journal(), 10, 5, 2000).has_value());
  const Contents before = ReadAll(run.journal()).value();
  run.disk.SetCapacity(run.disk.Used() + 30'000);
  std::uint64_t next = 11;
  Status appended;
  while ((appended = run.journal().Append(SomeRecord(next, 2000)))) ++next;
  EXPECT_EQ(appended.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(appended.error().message,
            "no space left on the disk that holds journal: free some and try again; nothing that "
            "was acknowledged is lost");
  EXPECT_EQ(run.journal().PutSnapshot(SomeSnapshot(next - 1, 50'000)).error().code,
            ErrorCode::kExhausted);
  const Contents full = ReadAll(run.journal()).value();
  EXPECT_EQ(full.records.size(), next - 1);
  run.disk.SetCapacity(run.disk.Used());
  run.Close();
  EXPECT_EQ(ReadAll(run.journal()).value(), full);  // opens and reads on a disk without a free byte
  run.disk.SetCapacity(SIZE_MAX);
  EXPECT_TRUE(run.journal().Append(SomeRecord(next)).has_value());
  EXPECT_EQ(run.journal().Check().value(), std::vector<std::string>());
}

}  // namespace
}  // namespace muster::test
