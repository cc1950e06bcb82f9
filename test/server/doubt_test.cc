// SPDX-License-Identifier: Apache-2.0
// What happens when the journal fails: nothing is acknowledged that is not durable, nothing durable
// is lost, what runs is left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/server/site.h"

namespace muster::server {
namespace {

using engine::JobPhase;
using testing::HasSubstr;
using testing::SizeIs;

struct DoubtCase {
  const char* name;
  bool stored;
};
class Doubt : public testing::TestWithParam<DoubtCase> {};

TEST_P(Doubt, IsResolvedByAskingTheJournal) {
  Site site;
  site.Start();
  if (GetParam().stored) {
    site.disk->FailNextAppend(test::MemoryDisk::AppendFault::kAfter);
  } else {
    site.disk->FailNextAppend(test::MemoryDisk::AppendFault::kBefore);
  }
  const auto reply = site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, "key"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(site.driver.orders, SizeIs(0));
  EXPECT_THAT(site.server->Look()->trouble, HasSubstr("the disk failed"));
  EXPECT_EQ(site.View({1}).phase, JobPhase::kUnknown);
  // While it lasts, requests are sent away at once.
  EXPECT_EQ(site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, "key"}).error().code,
            base::ErrorCode::kUnavailable);
  site.clock.now = site.clock.now + base::Seconds(2);
  site.Run();
  EXPECT_EQ(site.server->Look()->trouble, "");
  // The same key again: one job, whichever way it went.
  const auto again = site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, "key"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->repeated, GetParam().stored);
  EXPECT_EQ(again->jobs.front(), model::JobId{1});
  EXPECT_EQ(site.driver.launches[site.Gang({1})], 1);
}

INSTANTIATE_TEST_SUITE_P(Table, Doubt,
                         testing::Values(DoubtCase{"NotStored", false}, DoubtCase{"Stored", true}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DoubtTest, ObservationsAreKeptAndRunningGangsLeftAlone) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 8));
  const driver::GangId gang = site.Gang(job);
  site.driver.Started(gang);
  site.Run();
  site.disk->FailNextAppend(test::MemoryDisk::AppendFault::kBefore);
  site.driver.Ended(gang);
  site.Run();
  EXPECT_EQ(site.View(job).phase, JobPhase::kRunning);
  EXPECT_THAT(site.driver.Given<driver::Stop>(), SizeIs(0));
  site.clock.now = site.clock.now + base::Seconds(2);
  site.Run();
  EXPECT_EQ(site.View(job).end, model::JobEnd::kCompleted) << "the fact was kept";
}

TEST(DoubtTest, ARefusalStandsWhateverBecameOfItsBatch) {
  Site site;
  site.Start();
  std::vector<base::ErrorCode> codes;
  const auto keep = [&codes](base::Result<Reply> reply) { codes.push_back(reply.error().code); };
  site.disk->FailNextAppend(test::MemoryDisk::AppendFault::kBefore);
  site.server->Post({User("ana"), SubmitJobs{{Job(1, 8)}, ""}}, keep);
  site.server->Post({User("ana"), SubmitJobs{}}, keep);
  site.Run();
  EXPECT_THAT(codes,
              testing::ElementsAre(base::ErrorCode::kUnavailable, base::ErrorCode::kInvalid));
}

TEST(DoubtTest, AJournalThatStaysAwayKeepsTheServerAnswering) {
  Site site;
  site.Start();
  site.disk->FailNextAppend(test::MemoryDisk::AppendFault::kBefore);
  site.disk->FailReads(true);
  ASSERT_FALSE(site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, ""}));
  for (int i = 0; i < 3; ++i) {
    site.clock.now = site.clock.now + base::Seconds(2);
    EXPECT_EQ(site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, ""}).error().code,
              base::ErrorCode::kUnavailable);
  }
  site.disk->FailReads(false);
  site.clock.now = site.clock.now + base::Seconds(2);
  EXPECT_TRUE(site.Ask(User("ana"), SubmitJobs{{Job(1, 8)}, ""}));
}

}  // namespace
}  // namespace muster::server
