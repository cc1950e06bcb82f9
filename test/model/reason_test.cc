// SPDX-License-Identifier: Apache-2.0
#include "model/reason.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "model/policy.h"

namespace muster::model {
namespace {

// Names are metric labels and JSON values: short, lower case, one each.
TEST(Reason, NamesAreLabels) {
  std::set<std::string_view> names;
  std::set<std::string_view> texts;
  for (int i = 0; i < kReasonCodes; ++i) {
    const auto code = static_cast<ReasonCode>(i);
    const std::string_view name = Name(code);
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || c == '-';
    })) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " names two codes";
    EXPECT_FALSE(Text(code).empty()) << name;
    EXPECT_FALSE(Text(code).ends_with('.')) << name;
    texts.insert(Text(code));
  }
  EXPECT_EQ(texts.size(), names.size());
}

TEST(Reason, SomeNamesArePromises) {
  EXPECT_EQ(Name(ReasonCode::kNodeNotReady), "node-not-ready");
  EXPECT_EQ(Name(ReasonCode::kDevicesBusy), "devices-busy");
  EXPECT_EQ(Text(ReasonCode::kDevicesBusy), "GPUs in use");
  EXPECT_EQ(Name(ReasonCode::kRestartLimit), "restart-limit");
}

TEST(Reason, OutcomeNames) {
  EXPECT_EQ(Name(Outcome::kPlaced), "placed");
  EXPECT_EQ(Name(Outcome::kNotNow), "not-now");
  EXPECT_EQ(Name(Outcome::kNever), "never");
  EXPECT_EQ(Name(Outcome::kSearchEnded), "search-ended");
}

TEST(Policy, DefaultsAddWhatMustExist) {
  const Policy policy = WithDefaults({});
  ASSERT_EQ(policy.priority_classes.size(), 1U);
  EXPECT_EQ(policy.priority_classes[0], (PriorityClass{.name = "normal", .value = 100}));
  ASSERT_EQ(policy.queues.size(), 1U);
  EXPECT_EQ(policy.queues[0],
            (QueuePolicy{.name = "default", .blocking = Blocking::kBypass, .order = "fifo"}));
  EXPECT_EQ(policy.defaults.queue, "default");
  EXPECT_EQ(policy.defaults.priority_class, "normal");
  EXPECT_EQ(policy.placement.strategy, "topology");
}

TEST(Policy, DefaultsLeaveWhatIsThere) {
  Policy given;
  given.priority_classes = {{.name = "urgent", .value = 1000}};
  given.queues = {{.name = "research", .blocking = Blocking::kStrict}};
  EXPECT_EQ(WithDefaults(given), given);
  EXPECT_EQ(WithDefaults(WithDefaults({})), WithDefaults({}));
}

}  // namespace
}  // namespace muster::model
