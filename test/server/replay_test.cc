// SPDX-License-Identifier: Apache-2.0
// Live = replay: whatever a server did, its journal alone gives the same state, and deciding anew
// gives the same decisions. Appends fail now and then, before or after the record is stored.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "server/verify.h"
#include "test/server/site.h"

namespace muster::server {
namespace {

using Exit = driver::RankExit;

/// One random thing that a user, an operator, a gang or the disk does.
class RandomLife {
 public:
  RandomLife(Site& site, std::uint64_t seed) : site_(site), rng_(seed) {}

  void Act() {
    site_.clock.now = site_.clock.now + base::Seconds(static_cast<std::int64_t>(Below(100)));
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
        return Ask(SubmitJobs{{Job(1 + Below(3), 1 + Below(8))},
                              Below(3) == 0 ? "key" + std::to_string(Below(4)) : ""});
      case 3:
        return Ask(ChangeJob{AnyJob(),
                             static_cast<model::JobChanged::Change>(Below(5) == 3 ? 0 : Below(3))});
      case 4:
        return Ask(ChangeJob{AnyJob(), model::JobChanged::Change::kRequeue});
      case 5:
        return Ask(SetNodeState{
            Below(2) == 0 ? "gpu-1" : "gpu-2",
            Below(2) == 0 ? model::NodeState::kReady : model::NodeState::kCordoned, "why"});
      case 6:
        return Ask(PauseStarts{Below(3) == 0, "x"});
      case 7:
        return FailAppend();
      default:
        return MoveGang();
    }
  }

 private:
  int Below(int bound) { return static_cast<int>(rng_.Below(static_cast<std::uint64_t>(bound))); }
  model::JobId AnyJob() {
    return model::JobId{static_cast<std::uint32_t>(
        Below(static_cast<int>(site_.server->Look()->tables.jobs.size()) + 1))};
  }
  void Ask(Command command) {
    site_.server->Post({User("ana", Role::kAdmin), std::move(command)},
                       [](const base::Result<Reply>&) {});
    site_.Run();
  }
  void FailAppend() {
    if (Below(2) == 0) {
      site_.disk->FailNextAppend(test::MemoryDisk::AppendFault::kBefore);
    } else {
      site_.disk->FailNextAppend(test::MemoryDisk::AppendFault::kAfter);
    }
  }
  void MoveGang() {
    if (site_.driver.gangs.empty()) return;
    auto at = site_.driver.gangs.begin();
    std::advance(at, Below(static_cast<int>(site_.driver.gangs.size())));
    const driver::GangId gang = at->first;
    switch (Below(4)) {
      case 0:
        site_.driver.Started(gang);
        break;
      case 1:
        site_.driver.Ended(gang);
        break;
      case 2:
        site_.driver.Ended(gang, {.kind = Exit::Kind::kExited, .code = 1});
        break;
      default:
        site_.driver.Ended(gang, {.kind = Exit::Kind::kLost});
    }
    site_.Run();
  }

  Site& site_;
  base::Rng rng_;
};

RC_GTEST_PROP(Replay, LiveIsReplay, (std::uint64_t seed)) {
  Site site;
  site.options.snapshot_after_bytes = 2000;
  site.Start();
  RandomLife life(site, seed);
  for (int i = 0; i < 80; ++i) life.Act();
  // Until every doubt is resolved.
  for (int i = 0; i < 5; ++i) {
    site.clock.now = site.clock.now + base::Seconds(5);
    site.Run();
  }
  RC_ASSERT(site.server->Look()->trouble.empty());
  const auto replayed = RestoreState(site.journal);
  RC_ASSERT(replayed.has_value());
  RC_ASSERT(replayed->has_value());
  RC_ASSERT((*replayed)->sequence() == site.server->Look()->sequence);
  RC_ASSERT(site.server->Close().has_value());
  const auto closed = site.journal.GetSnapshot(journal::kNewest);
  RC_ASSERT((*closed)->bytes == (*replayed)->Snapshot());
  const auto check = VerifyJournal(site.journal, "test");
  RC_ASSERT(check.has_value());
  for (const SegmentCheck& segment : check->segments) RC_ASSERT(segment.detail == "");
  RC_ASSERT(check->clean());
  // No gang was launched twice.
  for (const auto& [gang, count] : site.driver.launches) RC_ASSERT(count == 1);
}

}  // namespace
}  // namespace muster::server
