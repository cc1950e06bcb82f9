// SPDX-License-Identifier: Apache-2.0
// Each number of the semantics has one key, with its default: this list is that page's numbers.
#include "format/planned_keys.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "format/cluster_document.h"
#include "format/job_document.h"
#include "format/json.h"
#include "format/policy_document.h"

namespace muster::format {
namespace {

struct Number {
  std::string_view key;
  std::string_view value;
};

constexpr Number kNumbers[] = {
    {"scheduling.horizon", "4h"},
    {"preemption.benefitRatio", "1.2"},
    {"preemption.cooldown", "30m"},
    {"recovery.repairHold", "10m"},
    {"queues[].quota.*.*.nominal", "0"},
    {"queues[].quota.*.*.borrow", "no limit"},
    {"queues[].quota.*.*.lend", "100%"},
    {"quota.capacityHold", "30m"},
    {"quota.basisInterval", "1m"},
    {"scheduling.urgentHeadroom", "5%"},
    {"usage.grid", "5m"},
    {"backfill.reservations", "8"},
    {"backfill.overdueLeast", "5m"},
    {"backfill.overdueShare", "25%"},
    {"gathering.patience", "15m"},
    {"gathering.share", "10%"},
    {"gathering.loanFactor", "2"},
    {"preemption.minRuntime", "10m"},
    {"preemption.rebalance", "false"},
    {"preemption.restartCap", "10m"},
    {"preemption.graceCap", "2m"},
    {"priorityClasses.*.factor", "1000"},
    {"preemption.reclaimWithin", "10m"},
    {"alerts.preemptionsPerHour", "3"},
    {"fuse.nodes", "1"},
    {"fuse.share", "5%"},
    {"fuse.window", "1h"},
    {"recovery.limit", "3"},
    {"recovery.progress", "10m"},
    {"recovery.lostAfter", "5m"},
    {"alerts.waitsForProof", "10m"},
    {"recovery.startsPerSecond", "30"},
    {"recovery.burst", "300"},
    {"recovery.restartInPlaceCost", "10%"},
    {"recovery.bindTimeout", "30s"},
    {"gate.activeSmallJobsPerUser", "5"},
    {"gate.small.gpu", "1"},
    {"gate.small.estimate", "10m"},
    {"gate.small.provenAfter", "10m"},
    {"gate.releasesPerSecond", "5"},
    {"activation.blastWindow", "1h"},
    {"activation.canary.share", "5%"},
    {"fragmentation.window", "24h"},
    {"federation.offer", "10m"},
    {"interactive.idleLimit", "2h"},
};

TEST(PlannedKeys, HoldEachNumberOfTheSemantics) {
  for (const Number& number : kNumbers) {
    int rows = 0;
    for (const PlannedKey& row : PlannedPolicyKeys()) {
      if (row.path != number.key) continue;
      ++rows;
      EXPECT_EQ(row.default_value, number.value) << number.key;
    }
    EXPECT_EQ(rows, 1) << number.key;
  }
}

TEST(PlannedKeys, AreUniqueAndDescribed) {
  for (const auto rows : {PlannedPolicyKeys(), PlannedJobKeys()}) {
    std::set<std::string_view> paths;
    for (const PlannedKey& row : rows) {
      EXPECT_TRUE(paths.insert(row.path).second) << row.path << " is there twice";
      EXPECT_FALSE(row.type.empty()) << row.path;
      EXPECT_FALSE(row.doc.empty()) << row.path;
      // A policy may set every number, so it says which values make sense.
      const bool number = row.default_value.find_first_of("0123456789") != std::string_view::npos;
      EXPECT_TRUE(!number || !row.range.empty()) << row.path;
    }
  }
}

/// The last name of a path: "queues[].limits.running" -> "running".
std::string LastName(std::string_view path) {
  while (path.ends_with("[]") || path.ends_with(".*")) path.remove_suffix(2);
  const std::size_t dot = path.rfind('.');
  return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

TEST(Reference, MentionsEveryPlannedKey) {
  const std::string policy = PolicyReference();
  for (const PlannedKey& row : PlannedPolicyKeys()) {
    EXPECT_NE(policy.find("| `" + std::string(row.path) + "` |"), std::string::npos) << row.path;
  }
  const std::string job = JobReference();
  for (const PlannedKey& row : PlannedJobKeys()) {
    EXPECT_NE(job.find("| `" + std::string(row.path) + "` |"), std::string::npos) << row.path;
  }
}

TEST(Schema, MentionsEveryPlannedKey) {
  const std::string policy = WriteJson(PolicySchema());
  for (const PlannedKey& row : PlannedPolicyKeys()) {
    EXPECT_NE(policy.find("\"" + LastName(row.path) + "\": {"), std::string::npos) << row.path;
  }
  const std::string job = WriteJson(JobSchema());
  for (const PlannedKey& row : PlannedJobKeys()) {
    EXPECT_NE(job.find("\"" + LastName(row.path) + "\": {"), std::string::npos) << row.path;
  }
}

/// Adds the names of all properties below a schema.
void CollectProperties(const Value& schema, std::set<std::string>& names) {
  for (const Entry& entry : schema.entries) {
    if (entry.key == "properties") {
      for (const Entry& property : entry.value.entries) names.insert(property.key);
    }
    CollectProperties(entry.value, names);
  }
  for (const Value& item : schema.items) CollectProperties(item, names);
}

TEST(Schema, NamesTheKeysOfTheReference) {
  const struct {
    Value schema;
    std::string reference;
  } kDocuments[] = {{JobSchema(), JobReference()},
                    {PolicySchema(), PolicyReference()},
                    {ClusterSchema(), ClusterReference()}};
  for (const auto& document : kDocuments) {
    EXPECT_EQ(document.schema.Find("$schema")->text,
              "https://json-schema.org/draft/2020-12/schema");
    std::set<std::string> names;
    CollectProperties(document.schema, names);
    EXPECT_GT(names.size(), 10U);
    for (const std::string& name : names) {
      EXPECT_NE(document.reference.find(name), std::string::npos) << name;
    }
  }
}

TEST(Schema, DescribesRangesNamesAndDefaults) {
  const Value schema = PolicySchema();
  const Value* const limit =
      schema.Find("properties")->Find("placement")->Find("properties")->Find("searchLimit");
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(
      WriteJson(*limit, JsonStyle::kCompact),
      R"({"type":"integer","minimum":1,"maximum":1000000,)"
      R"("description":"most domains that one search tries before it ends without proof","default":64})");
  const Value* const gate = schema.Find("properties")->Find("gate");
  ASSERT_NE(gate, nullptr);
  EXPECT_NE(gate->Find("not"), nullptr) << "an editor marks a planned key";
}

}  // namespace
}  // namespace muster::format
