// SPDX-License-Identifier: Apache-2.0
#include "cli/client/job_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "format/job_document.h"

namespace muster::cli::test {
namespace {

using testing::ElementsAre;

model::JobSpec Parsed(const base::Checked<std::string>& text) {
  EXPECT_TRUE(text) << text.error().front().ToString();
  const auto jobs = format::ParseJobs(text ? *text : "", "draft");
  EXPECT_TRUE(jobs) << *text;
  return jobs ? jobs->front() : model::JobSpec{};
}

TEST(DraftCommand, SaysAllThatTheOptionsSay) {
  const model::JobSpec job =
      Parsed(DraftCommand({.gpus = "8",
                           .cpus = "96",
                           .memory = "900Gi",
                           .replicas = 4,
                           .env = {"A=b=c", "EMPTY="},
                           .name = "sft",
                           .queue = "research",
                           .priority_class = "high",
                           .time_limit = "2h",
                           .workdir = "run",
                           .labels = {"team=nlp"}},
                          {"torchrun", "train.py", "", "no", "8"}, "/home/ana"));
  EXPECT_EQ(job.name, "sft");
  EXPECT_EQ(job.queue, "research");
  EXPECT_EQ(job.priority_class, "high");
  EXPECT_THAT(job.labels, ElementsAre(std::pair<std::string, std::string>("team", "nlp")));
  EXPECT_EQ(job.request.time_limit, base::Hours(2));
  const model::TaskGroup& group = job.request.groups.front();
  EXPECT_EQ(group.replicas, 4);
  EXPECT_EQ(group.shape.gpu, base::MilliGpu::Of(8000));
  EXPECT_EQ(group.shape.cpu, base::MilliCpu::Of(96'000));
  const model::TaskCommand& command = job.commands.front();
  EXPECT_THAT(command.command, ElementsAre("torchrun", "train.py", "", "no", "8"));
  EXPECT_EQ(command.workdir, "/home/ana/run");
  EXPECT_EQ(command.env.size(), 2U);
}

TEST(DraftCommand, NamesTheJobAfterTheProgram) {
  EXPECT_EQ(Parsed(DraftCommand({}, {"/opt/bin/train.sh", "-x"}, "/")).name, "train.sh");
  EXPECT_EQ(Parsed(DraftCommand({}, {"/opt/bin/$(x)"}, "/")).name, "x");
  EXPECT_EQ(Parsed(DraftCommand({}, {"@"}, "/")).name, "job");
  EXPECT_EQ(Parsed(DraftCommand({}, {"true"}, "/tmp")).commands.front().workdir, "/tmp");
}

TEST(DraftCommand, FaultsNameTheOption) {
  const struct {
    JobDraft draft;
    const char* option;
  } kCases[] = {{{.gpus = "eight"}, "--gpus"},
                {{.cpus = "-1"}, "--cpus"},
                {{.memory = "1Zi"}, "--memory"},
                {{.env = {"=b"}}, "--env"},
                {{.env = {"MUSTER_NOT_SET_AT_ALL"}}, "--env"},
                {{.time_limit = "90"}, "--time-limit"},
                {{.labels = {"team"}}, "--label"}};
  for (const auto& test : kCases) {
    const auto drafted = DraftCommand(test.draft, {"true"}, "/");
    ASSERT_FALSE(drafted) << test.option;
    EXPECT_EQ(drafted.error().front().where, test.option) << drafted.error().front().message;
  }
}

constexpr std::string_view kTwoJobs = R"(apiVersion: muster/v1
kind: Job
metadata: {name: a}
spec: {tasks: [{name: t, resources: {cpu: 1}, command: ["true"], workdir: sub}]}
---
apiVersion: muster/v1
kind: Job
metadata: {name: b, queue: own}
spec: {tasks: [{name: t, resources: {cpu: 1}, command: ["8"], workdir: /abs},
    {name: u, resources: {cpu: 1}, command: ["true"]}]}
)";

TEST(DraftFile, TakesRelativeFoldersFromHere) {
  const auto drafted = DraftFile({}, kTwoJobs, "jobs.yaml", "/home/ana");
  ASSERT_TRUE(drafted);
  const auto jobs = format::ParseJobs(*drafted, "x");
  ASSERT_TRUE(jobs) << *drafted;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].commands[0].workdir, "/home/ana/sub");
  EXPECT_EQ((*jobs)[1].commands[0].workdir, "/abs");
  EXPECT_EQ((*jobs)[1].commands[0].command.front(), "8");
  EXPECT_EQ((*jobs)[1].commands[1].workdir, "/home/ana");
}

TEST(DraftFile, OptionsWinOverTheFile) {
  const auto drafted = DraftFile({.queue = "q", .workdir = "/w"}, kTwoJobs, "jobs.yaml", "/");
  ASSERT_TRUE(drafted);
  const auto jobs = format::ParseJobs(*drafted, "x");
  ASSERT_TRUE(jobs);
  EXPECT_EQ((*jobs)[1].queue, "q");
  EXPECT_EQ((*jobs)[1].commands[0].workdir, "/w");
}

TEST(DraftFile, FaultsHaveTheirPlaceInTheFile) {
  const auto drafted =
      DraftFile({}, "apiVersion: muster/v1\nkind: Job\nmetadata: {nmae: a}\n", "j.yaml", "/");
  ASSERT_FALSE(drafted);
  EXPECT_TRUE(std::ranges::any_of(drafted.error(), [](const base::Error& error) {
    return error.where.starts_with("j.yaml:3:");
  }));
  const auto gpus = DraftFile({.gpus = "8"}, kTwoJobs, "j.yaml", "/");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().front().where, "--gpus");
}

}  // namespace
}  // namespace muster::cli::test
