// SPDX-License-Identifier: Apache-2.0
#include "format/policy_document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "format/planned_keys.h"
#include "format/yaml.h"

namespace muster::format {
namespace {

using model::Policy;

/// A policy document of these lines; its first line is line 3.
std::string With(const std::string& keys) { return "apiVersion: muster/v1\nkind: Policy\n" + keys; }

std::string FaultsOf(const std::string& text) {
  const base::Checked<Policy> policy = ParsePolicy(text, "f");
  std::string out;
  if (policy) return out;
  for (const base::Error& error : policy.error()) out += error.ToString() + "\n";
  return out;
}

TEST(PolicyDocument, ReadsEveryKey) {
  const base::Checked<Policy> policy = ParsePolicy(With(R"(
topology: {levels: [zone, {name: leaf, label: site/leaf, bandwidth: 50%}], fabric: zone}
placement: {strategy: pack, searchLimit: 9}
priorityClasses: {normal: {value: 100}, dev: {value: 10}}
queues:
  - {name: research/nlp, blocking: strict, order: shortest}
  - name: other
defaults: {queue: other, priorityClass: dev, resources: none}
)"),
                                                   "f");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->topology.levels,
            (std::vector<model::Level>{{"zone", "zone", 1000}, {"leaf", "site/leaf", 500}}));
  EXPECT_EQ(policy->topology.fabric, "zone");
  EXPECT_EQ(policy->placement, (model::PlacementPolicy{"pack", 9}));
  EXPECT_EQ(policy->priority_classes,
            (std::vector<model::PriorityClass>{{"normal", 100}, {"dev", 10}}));
  EXPECT_EQ(policy->queues,
            (std::vector<model::QueuePolicy>{{"research/nlp", model::Blocking::kStrict, "shortest"},
                                             {"other", model::Blocking::kBypass, "fifo"}}));
  EXPECT_EQ(policy->defaults, (model::Defaults{"other", "dev", model::ResourceDefault::kNone}));
}

TEST(PolicyDocument, AnEmptyOneIsTheDefault) {
  const base::Checked<Policy> policy = ParsePolicy(With(""), "f");
  ASSERT_TRUE(policy);
  EXPECT_EQ(*policy, Policy{});
  EXPECT_EQ(WriteYaml(EncodePolicy(*policy)), "apiVersion: muster/v1\nkind: Policy\n");
}

TEST(PolicyDocument, TheWholeOneHasEveryKeyAndReadsBack) {
  Policy policy = model::WithDefaults({});
  const std::string text = WriteYaml(EncodeWholePolicy(policy));
  EXPECT_EQ(text, R"(apiVersion: muster/v1
kind: Policy
topology:
  levels: []
placement:
  strategy: topology
  searchLimit: 64
priorityClasses:
  normal:
    value: 100
queues:
  - name: default
    blocking: bypass
    order: fifo
defaults:
  queue: default
  priorityClass: normal
  resources: proportional
)");
  EXPECT_EQ(ParsePolicy(text, "f").value(), policy);
  const std::vector<std::string> others = OtherPolicyKeys(policy);
  EXPECT_EQ(others.size(), 4 + PlannedPolicyKeys().size());
  EXPECT_EQ(others[0], "topology.levels[].name:   (needed)");
  EXPECT_EQ(others[1], "topology.levels[].label:   (none unless given)");
  EXPECT_EQ(others[2], "topology.levels[].bandwidth: 1");
  EXPECT_EQ(others[3], "topology.fabric:   (none unless given)");
  EXPECT_NE(std::ranges::find(others, "preemption.minRuntime: 10m   (planned)"), others.end());
  EXPECT_NE(std::ranges::find(others, "queues[].owners:   (planned)"), others.end());

  policy.topology.levels = {{"leaf", "site/leaf", 500}, {"rack", "rack", 1000}};
  policy.topology.fabric = "leaf";
  EXPECT_EQ(ParsePolicy(WriteYaml(EncodeWholePolicy(policy)), "f").value(), policy);
}

TEST(PolicyDocument, NamesEachFaultWithItsPlace) {
  const struct {
    const char* name;
    const char* keys;
    const char* fault;
  } kCases[] = {
      {"unknown key", "placment: {}", "f:3:1: placment: unknown key; did you mean \"placement\"?"},
      {"near a planned key", "preemptio: {}",
       "f:3:1: preemptio: unknown key; did you mean \"preemption\"?"},
      {"search limit 0", "placement: {searchLimit: 0}",
       "f:3:26: placement.searchLimit: 0 is out of range; 1 to 1000000"},
      {"negative", "placement: {searchLimit: -1}",
       "f:3:26: placement.searchLimit: \"-1\" is negative; give 0 or more"},
      {"2^63", "placement: {searchLimit: 9223372036854775808}",
       "f:3:26: placement.searchLimit: \"9223372036854775808\" is too large"},
      {"class without value", "priorityClasses: {a: {}}",
       "f:3:22: priorityClasses.a: key \"value\" is missing"},
      {"class twice", "priorityClasses: {a: {value: 1}, a: {value: 2}}",
       "f:3:34: key \"a\" is given twice; first at line 3"},
      {"level without name", "topology: {levels: [{label: x}]}",
       "f:3:21: topology.levels[0]: key \"name\" is missing"},
      {"empty name", "queues: [{name: ''}]",
       "f:3:17: queues[0].name: \"\" is no name: 1 to 253 characters"},
      {"bandwidth above 1", "topology: {levels: [{name: a, bandwidth: 101%}]}",
       "f:3:42: topology.levels[0].bandwidth: \"101%\" is more than 1 (a fraction, like 0.2 or "
       "20%)"},
      {"planned value", "queues: [{name: a, blocking: backfill}]",
       "f:3:30: queues[0].blocking: \"backfill\" is not supported by this version yet"},
      {"planned key of a queue", "queues: [{name: a, weight: 3}]",
       "f:3:20: queues[0].weight: not supported by this version yet"},
      {"planned key of a class", "priorityClasses: {a: {value: 1, preempts: true}}",
       "f:3:33: priorityClasses.a.preempts: not supported by this version yet"},
      {"planned key below names", "queues: [{name: a, quota: {train: {gpu: {nominal: 8}}}}]",
       "f:3:42: queues[0].quota.train.gpu.nominal: not supported by this version yet"},
      {"unknown key below names", "queues: [{name: a, quota: {train: {gpu: {nominl: 8}}}}]",
       "f:3:42: queues[0].quota.train.gpu.nominl: unknown key; did you mean \"nominal\"?"},
      {"planned list", "health: [{signal: gpu.xid}]",
       "f:3:11: health[0].signal: not supported by this version yet"},
      {"empty planned section", "preemption: {}",
       "f:3:1: preemption: not supported by this version yet"},
      {"planned map of defaults", "defaults: {queue: {\"group:a\": b}}",
       "f:3:19: defaults.queue: a map is not supported by this version yet; give one name"},
  };
  for (const auto& test : kCases)
    EXPECT_EQ(FaultsOf(With(test.keys)), std::string(test.fault) + "\n") << test.name;
}

TEST(PolicyDocument, NamesEveryPlannedPartOfALargePolicy) {
  EXPECT_EQ(FaultsOf(With(R"(topology: {levels: [zone, spine, leaf, nvlink]}
pools:
  training:  {select: {gpu.model: [H100-SXM-80G]}, spareNodes: 2}
priorityClasses:
  urgent: {value: 1000, scope: cluster, mustPay: false}
  normal: {value: 100}
queues:
  - name: research
    quota: {training: {gpu: {nominal: 60%, borrow: 20%, lend: 100%}}}
    order: fair-user
    owners: ["group:nlp-leads"]
    children: [{name: nlp}]
preemption: {minRuntime: 10m, benefitRatio: 1.2}
health:
  - {signal: gpu.ecc.correctable, trend: {window: 6h}, then: suspect}
gate: {activeSmallJobsPerUser: 5, small: {gpu: 1}}
alerts: {queueDepth: {over: 200}}
)")),
            R"(f:5:15: pools.training.select: not supported by this version yet
f:5:52: pools.training.spareNodes: not supported by this version yet
f:7:25: priorityClasses.urgent.scope: not supported by this version yet
f:7:41: priorityClasses.urgent.mustPay: not supported by this version yet
f:11:30: queues[0].quota.training.gpu.nominal: not supported by this version yet
f:11:44: queues[0].quota.training.gpu.borrow: not supported by this version yet
f:11:57: queues[0].quota.training.gpu.lend: not supported by this version yet
f:13:5: queues[0].owners: not supported by this version yet
f:14:5: queues[0].children: not supported by this version yet
f:15:14: preemption.minRuntime: not supported by this version yet
f:15:31: preemption.benefitRatio: not supported by this version yet
f:17:6: health[0].signal: not supported by this version yet
f:17:43: health[0].trend.window: not supported by this version yet
f:17:56: health[0].then: not supported by this version yet
f:18:8: gate.activeSmallJobsPerUser: not supported by this version yet
f:18:43: gate.small.gpu: not supported by this version yet
f:19:23: alerts.queueDepth.over: not supported by this version yet
)");
}

}  // namespace
}  // namespace muster::format
