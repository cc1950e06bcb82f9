// SPDX-License-Identifier: Apache-2.0
// What a trace may hold: text, and not too much of it.
#include "format/events_csv.h"
#include "format/trace/csv.h"
#include "test/format/trace/trace_testing.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kHeader = "submit,duration,gpu,name,user\n";

TEST(TraceText, BytesThatAreNoTextAreRefusedWithTheirPlace) {
  const std::string header(kHeader);
  EXPECT_THAT(FaultsOf(header + "0,60,1,caf\xC3\xA9,u\n"), ElementsAre());
  EXPECT_THAT(FaultsOf(header + "0,60,1,caf\xE9,u\n0,60,1,b,u\x1b[31m\n0,60,1,c,\xC2\x9B\n"),
              ElementsAre("t.csv:2: name: \"caf\\xe9\" is not UTF-8 text",
                          "t.csv:3: user: \"u\\x1b[31m\" has a control character",
                          "t.csv:4: user: \"\\xc2\\x9b\" has a control character"));
  const std::string swf = "1 0 0 60 1 -1 -1 1 60 -1 1 \xFF -1 -1 -1 -1 -1 -1\n";
  EXPECT_THAT(FaultsOf("; Version: 2\xE9\n" + swf, {.format = "swf"}),
              ElementsAre("t.csv: job number 1: \"\\xff\" is not UTF-8 text"));
}

TEST(TraceText, EventsAreReadAlike) {
  const auto events = ReadEvents("\xEF\xBB\xBF at , node,event\r\n 90 , \"n1\" ,down\n", "e");
  ASSERT_TRUE(events) << events.error().front().ToString();
  EXPECT_EQ(events->front().at, base::Instant{} + base::Seconds(90));
  EXPECT_EQ(events->front().node, "n1");
  EXPECT_FALSE(ReadEvents("at,node,event\n90,n\x07,down\n", "e"));
}

TEST(TraceText, LinesAreBounded) {
  std::string text(kHeader);
  text.append(kMostRows, '\n');
  EXPECT_THAT(FaultsOf(text), ElementsAre("t.csv: more than 20000000 lines; that is the limit"));
}

TEST(TraceText, WrittenValuesAreText) {
  EXPECT_EQ(CsvValue("a\xFF\x1b"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(CsvValue("a\nb"), "\"a\nb\"");
  EXPECT_EQ(CsvValue("caf\xC3\xA9"), "caf\xC3\xA9");
}

TEST(TraceText, TheSourceCanBePrinted) {
  const auto workload = ReadTrace("submit,duration,gpu\n0,1,1\n", "a\x1b[2Jb", {});
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->source, "a\\x1b[2Jb");
}

}  // namespace
}  // namespace muster::format
