// SPDX-License-Identifier: Apache-2.0
#include "model/check_request.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/model/builders.h"

namespace muster::model {
namespace {

using test::Gpus;
using test::Groups;
using test::Worker;

struct Case {
  std::string name;
  std::function<void(GangRequest&)> change;  ///< to a good request of 8 workers with 8 GPUs each
  std::vector<std::string> faults;           ///< "where: message", in order
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class CheckRequestTest : public testing::TestWithParam<Case> {};

TEST_P(CheckRequestTest, ReportsExactlyTheseFaults) {
  GangRequest request = Groups({Worker(8, 8)});
  GetParam().change(request);
  std::vector<std::string> faults;
  for (const base::Error& error : CheckRequest(request)) {
    EXPECT_EQ(error.code, base::ErrorCode::kInvalid);
    faults.push_back(error.ToString());
  }
  EXPECT_EQ(faults, GetParam().faults);
}

const std::vector<Case> kGood = {
    {"Unchanged", [](GangRequest&) {}, {}},
    {"CpuOnly",
     [](GangRequest& r) {
       r.groups[0].shape.gpu = Gpus(0);
       r.groups[0].shape.cpu = base::MilliCpu::Of(500);
     },
     {}},
    {"ExtendedOnly",
     [](GangRequest& r) {
       r.groups[0].shape.gpu = Gpus(0);
       r.groups[0].shape.extended = {{"npu", 1}};
     },
     {}},
    {"Elastic",
     [](GangRequest& r) {
       r.groups[0].min_replicas = 4;
       r.groups[0].step = 2;
     },
     {}},
    {"NestedSegments",
     [](GangRequest& r) {
       r.topology.segments = {{2, "nvlink"}, {4, "leaf"}};
     },
     {}},
    {"LargestGang", [](GangRequest& r) { r.groups = {Worker(kMaxReplicas, 1)}; }, {}},
    {"CompletionByGroup",
     [](GangRequest& r) {
       r.completion = {Completion::Kind::kGroup, "worker"};
     },
     {}},
    {"RelaxInOrder",
     [](GangRequest& r) {
       r.relax = {{base::Minutes(10), "spine"}, {base::Minutes(30), "any"}};
     },
     {}},
};

const std::vector<Case> kShapeFaults = {
    {"PartOfAGpu",
     [](GangRequest& r) { r.groups[0].shape.gpu = base::MilliGpu::Of(43); },
     {"spec.tasks[0].resources.gpu: 0.043 of a GPU: parts of a GPU are not supported by this "
      "version yet, ask for "
      "whole ones"}},
    {"NegativeGpu",
     [](GangRequest& r) { r.groups[0].shape.gpu = base::MilliGpu::Of(-1); },
     {"spec.tasks[0].resources.gpu: is negative; a replica asks for 0 or more GPUs"}},
    {"OneAndAHalfGpus",
     [](GangRequest& r) { r.groups[0].shape.gpu = base::MilliGpu::Of(1500); },
     {"spec.tasks[0].resources.gpu: 1.5 is neither whole nor below 1: a replica gets whole GPUs or "
      "a part of one"}},
    {"HalfAGpu",
     [](GangRequest& r) { r.groups[0].shape.gpu = base::MilliGpu::Of(500); },
     {"spec.tasks[0].resources.gpu: 0.5 of a GPU: parts of a GPU are not supported by this version "
      "yet, ask for "
      "whole ones"}},
    {"MoreGpusThanANodeHas",
     [](GangRequest& r) { r.groups[0].shape.gpu = Gpus(65); },
     {"spec.tasks[0].resources.gpu: 65 GPUs for one replica; a node has at most 64, use more "
      "replicas"}},
    {"NegativeCpu",
     [](GangRequest& r) { r.groups[0].shape.cpu = base::MilliCpu::Of(-1); },
     {"spec.tasks[0].resources.cpu: is negative"}},
    {"NegativeMemory",
     [](GangRequest& r) { r.groups[0].shape.memory = base::Bytes::Of(-1); },
     {"spec.tasks[0].resources.memory: is negative"}},
    {"NegativeNics",
     [](GangRequest& r) { r.groups[0].shape.nics = -1; },
     {"spec.tasks[0].resources.rdma: is negative"}},
    {"AsksForNothing",
     [](GangRequest& r) { r.groups[0].shape.gpu = Gpus(0); },
     {"spec.tasks[0].resources: asks for nothing; give at least gpu, cpu or memory"}},
    {"ZeroCpuAndMemoryIsNothing",
     [](GangRequest& r) {
       r.groups[0].shape.gpu = Gpus(0);
       r.groups[0].shape.cpu = base::MilliCpu{};
       r.groups[0].shape.memory = base::Bytes{};
     },
     {"spec.tasks[0].resources: asks for nothing; give at least gpu, cpu or memory"}},
    {"ExtendedZero",
     [](GangRequest& r) {
       r.groups[0].shape.extended = {{"npu", 0}};
     },
     {"spec.tasks[0].resources.npu: must be 1 or more"}},
};

const std::vector<Case> kGroupFaults = {
    {"NoGroups",
     [](GangRequest& r) { r.groups.clear(); },
     {"spec.tasks: a job needs at least one task group"}},
    {"NoReplicas",
     [](GangRequest& r) { r.groups[0].replicas = r.groups[0].min_replicas = 0; },
     {"spec.tasks[0].replicas: 0 replicas; at least 1",
      "spec.tasks[0].minReplicas: 0 is not between 1 and replicas = 0"}},
    {"TooManyReplicas",
     [](GangRequest& r) { r.groups = {Worker(kMaxReplicas + 1, 1)}; },
     {"spec.tasks[0].replicas: 1048577 replicas; at most 1048576",
      "spec.tasks: 1048577 replicas in all; at most 1048576"}},
    {"TooManyInAll",
     [](GangRequest& r) {
       r.groups = {Worker(kMaxReplicas, 1), test::Named("other", Worker(1, 1))};
     },
     {"spec.tasks: 1048577 replicas in all; at most 1048576"}},
    {"MinimumAboveReplicas",
     [](GangRequest& r) { r.groups[0].min_replicas = 9; },
     {"spec.tasks[0].minReplicas: 9 is not between 1 and replicas = 8"}},
    {"NoStep",
     [](GangRequest& r) { r.groups[0].step = 0; },
     {"spec.tasks[0].step: 0 must be 1 or more"}},
    {"TwoGroupsOfOneName",
     [](GangRequest& r) {
       r.groups = {Worker(8, 8), Worker(1, 1)};
     },
     {"spec.tasks[1].name: \"worker\" names two task groups"}},
    {"FaultsOfEveryGroup",
     [](GangRequest& r) {
       r.groups = {Worker(8, 65), test::Named("other", Worker(8, 0))};
     },
     {"spec.tasks[0].resources.gpu: 65 GPUs for one replica; a node has at most 64, use more "
      "replicas",
      "spec.tasks[1].resources: asks for nothing; give at least gpu, cpu or memory"}},
};

const std::vector<Case> kTopologyFaults = {
    {"SegmentOfNothing",
     [](GangRequest& r) {
       r.topology.segments = {{0, "leaf"}};
     },
     {"spec.topology.segment.size: 0 must be 1 or more"}},
    {"PartOfASegment",
     [](GangRequest& r) {
       r.topology.segments = {{3, "leaf"}};
     },
     {"spec.tasks[0].replicas: 8 is not a multiple of the segment size 3"}},
    {"ElasticPartOfASegment",
     [](GangRequest& r) {
       r.groups[0].min_replicas = 4;
       r.topology.segments = {{4, "leaf"}};
     },
     {"spec.tasks[0].step: minReplicas 4 and step 1 must be multiples of the segment size 4"}},
    {"SegmentsThatDoNotNest",
     [](GangRequest& r) {
       r.groups[0].replicas = r.groups[0].min_replicas = 12;
       r.topology.segments = {{2, "nvlink"}, {3, "leaf"}};
     },
     {"spec.topology.segment.size: 3 is not a multiple of the inner segment's 2; segments nest"}},
    {"NoSkew",
     [](GangRequest& r) {
       r.topology.spread = {"leaf", 0};
     },
     {"spec.topology.spread.maxSkew: 0 must be 1 or more"}},
    {"SpreadAndSegment",
     [](GangRequest& r) {
       r.topology.segments = {{2, "leaf"}};
       r.topology.spread = {"leaf", 1};
     },
     {"spec.topology.spread: cannot be combined with segment: one spreads, the other keeps "
      "together"}},
};

const std::vector<Case> kOtherFaults = {
    {"RelaxTwiceAtOnce",
     [](GangRequest& r) {
       r.relax = {{base::Minutes(10), "spine"}, {base::Minutes(10), "any"}};
     },
     {"spec.relax[1].after: steps must come at rising times"}},
    {"CompletionByAStranger",
     [](GangRequest& r) {
       r.completion = {Completion::Kind::kGroup, "launcher"};
     },
     {"spec.completion: \"launcher\" is no task group of this job"}},
    {"NegativeRestartLimit",
     [](GangRequest& r) { r.restart.limit = -1; },
     {"spec.restart.limit: is negative"}},
};

std::string CaseName(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Good, CheckRequestTest, testing::ValuesIn(kGood), CaseName);
INSTANTIATE_TEST_SUITE_P(Shape, CheckRequestTest, testing::ValuesIn(kShapeFaults), CaseName);
INSTANTIATE_TEST_SUITE_P(Group, CheckRequestTest, testing::ValuesIn(kGroupFaults), CaseName);
INSTANTIATE_TEST_SUITE_P(Topology, CheckRequestTest, testing::ValuesIn(kTopologyFaults), CaseName);
INSTANTIATE_TEST_SUITE_P(Other, CheckRequestTest, testing::ValuesIn(kOtherFaults), CaseName);

}  // namespace
}  // namespace muster::model
