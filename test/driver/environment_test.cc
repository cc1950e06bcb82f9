// SPDX-License-Identifier: Apache-2.0
#include "driver/local/environment.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::driver {
namespace {

using testing::ElementsAreArray;

AccountFacts Account() { return {.home = "/home/ann", .shell = "/bin/bash"}; }

/// Two groups on two nodes: two trainers with two devices each, and a helper with none.
Plan ThreeRanks(model::Launch launch) {
  Plan plan{.launch = {.gang = {{12}, {3}},
                       .owner = {.uid = 1000, .gid = 1000, .user = "ann"},
                       .groups = {{.name = "worker"}, {.name = "helper"}},
                       .replicas = {{.group = 0, .node = "n1", .devices = 0b0011},
                                    {.group = 0, .node = "n2", .devices = 0b1100},
                                    {.group = 1, .node = "n1"}}},
            .invocation = "00ff",
            .master_address = "127.0.0.1",
            .master_port = 20007,
            .nodes = {"n1", "n2"},
            .ranks = {{.node = 0, .devices = {"GPU-a", "GPU-b"}},
                      {.node = 1, .devices = {"2", "3"}},
                      {.node = 0}},
            .log_bytes_per_rank = 1};
  plan.launch.groups[0].command.launch = launch;
  return plan;
}

std::vector<std::string> Of(const Plan& plan, TaskPlace place) {
  return TaskEnvironment(plan, place, Account(), {});
}

TEST(Environment, PerReplica) {
  EXPECT_THAT(Of(ThreeRanks(model::Launch::kPerReplica), {.rank = 1}),
              ElementsAreArray({
                  "CUDA_VISIBLE_DEVICES=2,3",
                  "HOME=/home/ann",
                  "LANG=C.UTF-8",
                  "LOGNAME=ann",
                  "MASTER_ADDR=127.0.0.1",
                  "MASTER_PORT=20007",
                  "MUSTER_ATTEMPT=3",
                  "MUSTER_HOSTS=n1,n2",
                  "MUSTER_INVOCATION=00ff-1",
                  "MUSTER_JOB_ID=12",
                  "MUSTER_NODE_RANK=1",
                  "MUSTER_RANK=1",
                  "MUSTER_TASK=worker",
                  "MUSTER_WORLD_SIZE=3",
                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                  "PET_NNODES=3",
                  "PET_NODE_RANK=1",
                  "PET_NPROC_PER_NODE=2",
                  "PET_RDZV_ENDPOINT=127.0.0.1:20007",
                  "PET_RDZV_ID=12-3",
                  "SHELL=/bin/bash",
                  "TMPDIR=/tmp",
                  "USER=ann",
              }));
}

TEST(Environment, PerGpu) {
  EXPECT_THAT(Of(ThreeRanks(model::Launch::kPerGpu), {.rank = 1, .local = 1}),
              ElementsAreArray({
                  "CUDA_VISIBLE_DEVICES=2,3",
                  "HOME=/home/ann",
                  "LANG=C.UTF-8",
                  "LOCAL_RANK=1",
                  "LOCAL_WORLD_SIZE=2",
                  "LOGNAME=ann",
                  "MASTER_ADDR=127.0.0.1",
                  "MASTER_PORT=20007",
                  "MUSTER_ATTEMPT=3",
                  "MUSTER_HOSTS=n1,n2",
                  "MUSTER_INVOCATION=00ff-1",
                  "MUSTER_JOB_ID=12",
                  "MUSTER_NODE_RANK=1",
                  "MUSTER_RANK=1",
                  "MUSTER_TASK=worker",
                  "MUSTER_WORLD_SIZE=3",
                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                  "PET_NNODES=3",
                  "PET_NODE_RANK=1",
                  "PET_NPROC_PER_NODE=2",
                  "PET_RDZV_ENDPOINT=127.0.0.1:20007",
                  "PET_RDZV_ID=12-3",
                  "RANK=3",
                  "SHELL=/bin/bash",
                  "TMPDIR=/tmp",
                  "USER=ann",
                  "WORLD_SIZE=5",
              }));
}

TEST(Environment, WithoutDevicesTheListIsEmptyNotMissing) {
  EXPECT_THAT(
      Of(ThreeRanks(model::Launch::kPerReplica), {.rank = 2}),
      testing::IsSupersetOf({"CUDA_VISIBLE_DEVICES=", "PET_NPROC_PER_NODE=1", "MUSTER_TASK=helper",
                             "MUSTER_NODE_RANK=0", "MUSTER_INVOCATION=00ff-0"}));
}

TEST(Environment, WhatIsGivenOnlyWhereItIsSet) {
  Plan plan = ThreeRanks(model::Launch::kPerReplica);
  plan.launch.checkpoint_dir = "/data/ckpt";
  plan.launch.checkpoint_signal = "SIGUSR1";
  plan.launch.checkpoint_every = base::Microseconds(90'300'000);
  plan.launch.resume_from = "/data/ckpt/2/step-9";
  plan.launch.api = "unix:/run/muster.sock";
  plan.launch.token = "t";
  EXPECT_THAT(
      Of(plan, {}),
      testing::IsSupersetOf(
          {"MUSTER_CHECKPOINT_DIR=/data/ckpt/3", "MUSTER_CHECKPOINT_SIGNAL=SIGUSR1",
           "MUSTER_CHECKPOINT_EVERY_SECONDS=90.300000", "MUSTER_RESUME_FROM=/data/ckpt/2/step-9",
           "MUSTER_API=unix:/run/muster.sock", "MUSTER_TOKEN=t"}));
}

TEST(Environment, WhoWins) {
  Plan plan = ThreeRanks(model::Launch::kPerReplica);
  plan.launch.groups[0].command.env = {{"CUDA_VISIBLE_DEVICES", "7"},
                                       {"LOCAL_RANK", "5"},
                                       {"MASTER_PORT", "29500"},
                                       {"MUSTER_INVOCATION", "other"},
                                       {"MUSTER_RANK", "9"},
                                       {"MUSTER_RESUME_FROM", "/stolen"},
                                       {"NCCL_DEBUG", "INFO"},
                                       {"OMP_NUM_THREADS", "4"},
                                       {"PATH", "/opt/bin"},
                                       {"PET_RDZV_ID", "old"},
                                       {"RANK", "5"},
                                       {"SHARED", "plain"}};
  const std::vector<std::string> environment =
      TaskEnvironment(plan, {}, Account(), {{"HOME", "/secret"}, {"SHARED", "hidden"}});
  EXPECT_THAT(environment,
              testing::IsSupersetOf({"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b", "MASTER_PORT=20007",
                                     "MUSTER_INVOCATION=00ff-0", "MUSTER_RANK=0", "NCCL_DEBUG=INFO",
                                     "OMP_NUM_THREADS=4", "PATH=/opt/bin", "PET_RDZV_ID=12-3",
                                     "HOME=/secret", "SHARED=hidden"}));
  for (const std::string& variable : environment) {
    EXPECT_FALSE(variable.starts_with("RANK=") || variable.starts_with("LOCAL_RANK=") ||
                 variable.starts_with("MUSTER_RESUME_FROM="))
        << variable;
  }
}

TEST(Environment, Processes) {
  const Plan gpu = ThreeRanks(model::Launch::kPerGpu);
  EXPECT_EQ(ProcessesOf(gpu, 0), 2);
  EXPECT_EQ(ProcessesOf(gpu, 2), 1);
  EXPECT_EQ(ProcessesOf(ThreeRanks(model::Launch::kPerReplica), 0), 1);
}

}  // namespace
}  // namespace muster::driver
