// SPDX-License-Identifier: Apache-2.0
#include "format/events_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/file.h"

namespace muster::format {
namespace {

using model::ClusterEvent;
using model::ClusterEventKind;
using ::testing::ElementsAre;

std::vector<std::string> FaultsOf(std::string_view text) {
  const auto events = ReadEvents(text, "e.csv");
  std::vector<std::string> out;
  if (events) return out;
  for (const base::Error& error : events.error()) out.push_back(error.ToString());
  return out;
}

TEST(EventsCsv, ReadsEveryKindInAnyOrderOfColumns) {
  const auto events = ReadEvents(
      "# machines\r\nevent,at,node\r\ndown,2h,n1\nup,90,\"n1\"\ncordon,0,n2\n\ndrain,1m,n2\n"
      "remove,1d,n2\nadd,5s,n3",
      "e.csv");
  ASSERT_TRUE(events.has_value());
  const base::Instant start;
  EXPECT_THAT(
      *events,
      ElementsAre(ClusterEvent{start + base::Hours(2), "n1", ClusterEventKind::kDown, "e.csv:3"},
                  ClusterEvent{start + base::Seconds(90), "n1", ClusterEventKind::kUp, "e.csv:4"},
                  ClusterEvent{start, "n2", ClusterEventKind::kCordon, "e.csv:5"},
                  ClusterEvent{start + base::Minutes(1), "n2", ClusterEventKind::kDrain, "e.csv:7"},
                  ClusterEvent{start + base::Hours(24), "n2", ClusterEventKind::kRemove, "e.csv:8"},
                  ClusterEvent{start + base::Seconds(5), "n3", ClusterEventKind::kAdd, "e.csv:9"}));
}

TEST(EventsCsv, TheExampleReads) {
  const auto text = ReadFile(MUSTER_SOURCE_DIR "/examples/events.csv");
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(FaultsOf(*text), ElementsAre());
}

TEST(EventsCsv, NamesEachFaultWithItsLine) {
  EXPECT_THAT(FaultsOf(""), ElementsAre("e.csv:1: the first line must name the columns: "
                                        "at,node,event"));
  EXPECT_THAT(FaultsOf("1h,n1,down\n"), ElementsAre("e.csv:1: the first line must name the "
                                                    "columns: at,node,event"));
  EXPECT_THAT(FaultsOf("at,node\n1h,n1\n"),
              ElementsAre("e.csv:1: event: the header has no such column, and it is needed"));
  EXPECT_THAT(
      FaultsOf("at,node,event\n1h,n1,explodes\n2h,n1\n101y,n1,up\n36600d,n1,up\n1h,,up\n"),
      ElementsAre("e.csv:2: event: \"explodes\" is not down, up, cordon, drain, remove or add",
                  "e.csv:3: 2 values, but the header has 3 columns",
                  "e.csv:4: at: \"101y\" is not a duration (like 90s, 10m, 1h30m or 2d)",
                  "e.csv:5: at: \"36600d\" is more than 100 years; check its unit",
                  "e.csv:6: node: is empty; name a node"));
}

}  // namespace
}  // namespace muster::format
