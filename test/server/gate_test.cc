// SPDX-License-Identifier: Apache-2.0
#include "server/gate.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/server/site.h"

namespace muster::server {
namespace {

using base::ErrorCode;
using Change = model::JobChanged::Change;
using testing::HasSubstr;

struct RefusalCase {
  const char* name;
  std::function<base::Result<Reply>(Site&)> ask;
  ErrorCode code;
  const char* text;
};
void PrintTo(const RefusalCase& row, std::ostream* out) { *out << row.name; }

model::JobSpec With(const std::function<void(model::JobSpec&)>& edit) {
  model::JobSpec spec = Job(1, 1);
  edit(spec);
  return spec;
}
base::Result<Reply> SubmitBy(Site& site, const Caller& caller, const model::JobSpec& spec) {
  return site.Ask(caller, SubmitJobs{{spec}, ""});
}

class Refusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, SayWhatIsWrong) {
  Site site;
  site.Start();
  const std::uint64_t jobs_before = site.server->Look()->tables.jobs.size();
  const auto reply = GetParam().ask(site);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, GetParam().code);
  EXPECT_THAT(reply.error().ToString(), HasSubstr(GetParam().text));
  EXPECT_EQ(site.server->Look()->tables.jobs.size(), jobs_before);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Refusals,
    testing::Values(
        RefusalCase{
            "Viewer",
            [](Site& site) { return SubmitBy(site, User("ana", Role::kViewer), Job(1, 1)); },
            ErrorCode::kNotAllowed, "submit needs the role user; ana has the role viewer"},
        RefusalCase{"Root",
                    [](Site& site) {
                      Caller root = User("root");
                      root.account.uid = 0;
                      return SubmitBy(site, root, Job(1, 1));
                    },
                    ErrorCode::kNotAllowed, "jobs do not run as root"},
        RefusalCase{
            "OtherAccount",
            [](Site& site) {
              site.options.rules.uid = 500;
              site.Crash();
              site.options.rules.is_root = false;
              auto opened = Server::Open({site.journal, site.driver, site.clock}, site.options);
              site.server = std::move(*opened);
              return SubmitBy(site, User("ana"), Job(1, 1));
            },
            ErrorCode::kNotAllowed, "runs jobs of uid 500 only; ana is uid 1000"},
        RefusalCase{"Nothing", [](Site& site) { return site.Ask(User("ana"), SubmitJobs{}); },
                    ErrorCode::kInvalid, "no job in the request"},
        RefusalCase{"TooMany",
                    [](Site& site) {
                      return site.Ask(User("ana"),
                                      SubmitJobs{std::vector<model::JobSpec>(1001, Job(1, 1)), ""});
                    },
                    ErrorCode::kInvalid, "1001 jobs in one request; at most 1000"},
        RefusalCase{"Queue",
                    [](Site& site) {
                      return SubmitBy(site, User("ana"),
                                      With([](auto& spec) { spec.queue = "defualt"; }));
                    },
                    ErrorCode::kInvalid,
                    "metadata.queue: the policy has no queue \"defualt\" (did you mean default?)"},
        RefusalCase{"Class",
                    [](Site& site) {
                      return SubmitBy(site, User("ana"),
                                      With([](auto& spec) { spec.priority_class = "top"; }));
                    },
                    ErrorCode::kInvalid, "spec.priorityClass: the policy has no priority class"},
        RefusalCase{"Command",
                    [](Site& site) {
                      return SubmitBy(site, User("ana"),
                                      With([](auto& spec) { spec.commands.clear(); }));
                    },
                    ErrorCode::kInvalid, "spec.tasks[0].command: nothing to run"},
        RefusalCase{"Level",
                    [](Site& site) {
                      return SubmitBy(site, User("ana"), With([](auto& spec) {
                                        spec.request.topology.required = "leaf";
                                      }));
                    },
                    ErrorCode::kInvalid, "the cluster has no topology level \"leaf\""},
        RefusalCase{"OneOfSeveral",
                    [](Site& site) {
                      return site.Ask(
                          User("ana"),
                          SubmitJobs{{Job(1, 1), With([](auto& spec) { spec.queue = "x"; })}, ""});
                    },
                    ErrorCode::kInvalid, "job 2: metadata.queue"},
        RefusalCase{"LiveJobs",
                    [](Site& site) {
                      site.options.rules.max_live_jobs = 1;
                      site.Restart();
                      return site.Ask(User("ana"), SubmitJobs{{Job(1, 1), Job(1, 1)}, ""});
                    },
                    ErrorCode::kRefused, "at most 1 may"},
        RefusalCase{"NoSuchJob",
                    [](Site& site) {
                      return site.Ask(User("ana"), ChangeJob{{77}, Change::kHold});
                    },
                    ErrorCode::kNotFound, "there is no job 77"},
        RefusalCase{"JobZero",
                    [](Site& site) {
                      return site.Ask(User("ana"), ChangeJob{{0}, Change::kHold});
                    },
                    ErrorCode::kNotFound, "there is no job 0"},
        RefusalCase{"NoSuchNode",
                    [](Site& site) {
                      return site.Ask(User("op", Role::kOperator),
                                      SetNodeState{"gpu-9", model::NodeState::kCordoned, ""});
                    },
                    ErrorCode::kNotFound, "there is no node \"gpu-9\""},
        RefusalCase{
            "NodeByUser",
            [](Site& site) {
              return site.Ask(User("ana"), SetNodeState{"gpu-1", model::NodeState::kCordoned, ""});
            },
            ErrorCode::kNotAllowed, "needs the role operator"},
        RefusalCase{"PauseByUser", [](Site& site) { return site.Ask(User("ana"), PauseStarts{}); },
                    ErrorCode::kNotAllowed, "needs the role operator"},
        RefusalCase{"TokenByOperator",
                    [](Site& site) {
                      return site.Ask(User("op", Role::kOperator), CreateToken{.name = "ci"});
                    },
                    ErrorCode::kNotAllowed, "needs the role admin"},
        RefusalCase{
            "RevokeUnknown",
            [](Site& site) { return site.Ask(User("root", Role::kAdmin), RevokeToken{"ci"}); },
            ErrorCode::kNotFound, "there is no token \"ci\""},
        RefusalCase{"HealthByUser",
                    [](Site& site) {
                      return site.Ask(User("ana"), ReportHealth{"gpu-1", 1, "x"});
                    },
                    ErrorCode::kNotAllowed, "role reporter"},
        RefusalCase{"PolicyUnsound",
                    [](Site& site) {
                      model::Policy policy = model::WithDefaults({});
                      policy.placement.strategy = "luck";
                      return site.Ask(User("root", Role::kAdmin), ActivatePolicy{policy, ""});
                    },
                    ErrorCode::kInvalid, "placement strategy"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Gate, OthersJobsAreLeftAlone) {
  Site site;
  site.Start();
  const model::JobId job = site.Submit(Job(1, 1), "ana");
  const auto reply = site.Ask(User("bob"), ChangeJob{job, Change::kCancel});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kNotAllowed);
  EXPECT_NE(site.View(job).phase, engine::JobPhase::kStopping);
  // The attempt is in the audit; an admin may.
  const PicturePtr picture = site.server->Look();
  const AuditRecord& last = picture->tables.audit[picture->tables.audit.size() - 1];
  EXPECT_EQ(last.act.user, "bob");
  EXPECT_FALSE(last.act.allowed);
  EXPECT_TRUE(site.Ask(User("root", Role::kAdmin), ChangeJob{job, Change::kCancel}));
}

TEST(Gate, AKeyMakesJobsOnce) {
  Site site;
  site.Start();
  const SubmitJobs once{{Job(1, 1), Job(1, 1)}, "key-1"};
  const auto first = site.Ask(User("ana"), once);
  ASSERT_TRUE(first);
  const auto again = site.Ask(User("ana"), once);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->jobs, first->jobs);
  site.Restart();
  EXPECT_EQ(site.Ask(User("ana"), once)->jobs, first->jobs) << "keys are durable";
  EXPECT_NE(site.Ask(User("bob"), once)->jobs, first->jobs) << "a key is its user's";
  const auto other = site.Ask(User("ana"), SubmitJobs{{Job(1, 2)}, "key-1"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kRefused);
  site.clock.now = site.clock.now + base::Hours(25);
  ASSERT_TRUE(site.Ask(User("eve"), SubmitJobs{{Job(1, 1)}, ""}));  // any batch lets old keys go
  EXPECT_FALSE(site.Ask(User("ana"), once)->repeated);
}

TEST(Gate, TheSameKeyTwiceInOneBatchMakesJobsOnce) {
  Site site;
  site.Start();
  std::vector<base::Result<Reply>> replies;
  for (int i = 0; i < 2; ++i) {
    site.server->Post({User("ana"), SubmitJobs{{Job(1, 1)}, "k"}},
                      [&](base::Result<Reply> reply) { replies.push_back(std::move(reply)); });
  }
  site.Run();
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0]->jobs, replies[1]->jobs);
  EXPECT_TRUE(replies[1]->repeated);
}

TEST(Gate, TokensComeAndGo) {
  Site site;
  site.Start();
  const Caller admin = User("root", Role::kAdmin);
  const CreateToken create{.name = "ci",
                           .hash = "abc",
                           .role = Role::kUser,
                           .account = {1000, 1000, "ana"},
                           .lifetime = base::Hours(1)};
  ASSERT_TRUE(site.Ask(admin, create));
  EXPECT_EQ(site.Ask(admin, create).error().code, ErrorCode::kRefused) << "names are unique";
  site.Restart();
  EXPECT_EQ(site.server->Look()->tables.tokens->size(), 1U);
  site.clock.now = site.clock.now + base::Hours(2);
  ASSERT_TRUE(site.Ask(admin, create)) << "an expired one does not hold its name";
  ASSERT_TRUE(site.Ask(admin, RevokeToken{"ci"}));
  EXPECT_TRUE(site.server->Look()->tables.tokens->empty());
}

TEST(Gate, AClassIsChangedWithItsName) {
  Site site;
  site.Start();
  ASSERT_TRUE(
      site.Ask(User("root", Role::kAdmin),
               ActivatePolicy{[] {
                                model::Policy policy;
                                policy.priority_classes = {{"normal", 100}, {"urgent", 1000}};
                                return model::WithDefaults(policy);
                              }(),
                              "text"}));
  const model::JobId job = site.Submit(Job(1, 1));
  ASSERT_TRUE(site.Ask(User("ana"), SetPriorityClass{job, "urgent"}));
  EXPECT_EQ(site.Record(job).text->priority_class, "urgent");
  EXPECT_EQ(site.View(job).priority, 1000);
  EXPECT_EQ(*site.server->Look()->tables.policy_text, "text");
}

TEST(Gate, HealthTakesDevicesOut) {
  Site site;
  site.Start();
  ASSERT_TRUE(site.Ask(User("dcgm", Role::kReporter), ReportHealth{"gpu-1", 0xff, "XID 79"}));
  const model::JobId job = site.Submit(Job(2, 8));
  EXPECT_EQ(site.View(job).phase, engine::JobPhase::kWaiting);
  ASSERT_TRUE(site.Ask(User("dcgm", Role::kReporter), ReportHealth{"gpu-1", 0, ""}));
  EXPECT_EQ(site.View(job).phase, engine::JobPhase::kStarting);
}

}  // namespace
}  // namespace muster::server
