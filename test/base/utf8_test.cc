// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace muster::base {
namespace {

using namespace std::string_view_literals;

TEST(Utf8, TellsCharactersFromBytes) {
  EXPECT_EQ(Utf8Size("a"), 1U);
  EXPECT_EQ(Utf8Size("\xC3\xA9z"), 2U);
  EXPECT_EQ(Utf8Size("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(Utf8Size("\xF0\x9F\x98\x80"), 4U);
  for (const std::string_view broken : {"\x80"sv, "\xC3"sv, "\xC0\x80"sv, "\xE0\x80\x80"sv,
                                        "\xED\xA0\x80"sv, "\xF4\x90\x80\x80"sv, "\xFF"sv}) {
    EXPECT_EQ(Utf8Size(broken), 0U) << Printable(broken);
    EXPECT_FALSE(IsUtf8(broken)) << Printable(broken);
  }
  EXPECT_TRUE(IsUtf8("caf\xC3\xA9\0"sv));
}

TEST(Utf8, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("plain"), "plain");
  EXPECT_EQ(Printable("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m")
      << "the one-character form of ESC [";
  EXPECT_EQ(Printable("a\xFFz\xC3"), "a\\xffz\\xc3");
}

TEST(Utf8, ReplacesWhatIsNone) {
  EXPECT_EQ(ValidUtf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(ValidUtf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ValidUtf8("\x1b\xC3\xA9"), "\x1b\xC3\xA9");
}

}  // namespace
}  // namespace muster::base
