// SPDX-License-Identifier: Apache-2.0
#include "format/hostlist.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"

namespace muster::format {
namespace {

TEST(Hostlist, Expands) {
  const struct {
    const char* text;
    std::vector<std::string> names;
  } kCases[] = {
      {"login", {"login"}},
      {"gpu[1-3]", {"gpu1", "gpu2", "gpu3"}},
      {"gpu[08-11]", {"gpu08", "gpu09", "gpu10", "gpu11"}},
      {"a[1-3,7]", {"a1", "a2", "a3", "a7"}},
      {"r[1-2]n[1-2]", {"r1n1", "r1n2", "r2n1", "r2n2"}},
      {"a[1,2].site", {"a1.site", "a2.site"}},
      {"login, gpu[1-2],x", {"login", "gpu1", "gpu2", "x"}},
      {"a,a", {"a", "a"}},
  };
  for (const auto& test : kCases) {
    const auto names = ExpandHostlist(test.text);
    ASSERT_TRUE(names) << test.text << ": " << names.error().ToString();
    EXPECT_EQ(*names, test.names) << test.text;
  }
}

TEST(Hostlist, RefusesWithReason) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "host list \"\": an empty name"},
      {"a,,b", "host list \"a,,b\": an empty name"},
      {"a[1-2", "host list \"a[1-2\": '[' without ']'"},
      {"a]1", "host list \"a]1\": \"a]1\" is no host name"},
      {"a b", "host list \"a b\": \"a b\" is no host name"},
      {"a[]", "host list \"a[]\": \"\" is no number or range like 1-8"},
      {"a[x-2]", "host list \"a[x-2]\": \"x-2\" is no number or range like 1-8"},
      {"a[-1]", "host list \"a[-1]\": \"-1\" is no number or range like 1-8"},
      {"a[5-2]", "host list \"a[5-2]\": range \"5-2\" runs backwards"},
      {"a[0-1048576]", "host list \"a[0-1048576]\": more than 1048576 names"},
      {"a[1-2000]b[1-2000]", "host list \"a[1-2000]b[1-2000]\": more than 1048576 names"},
      {"a[0-999999999999999999]", "host list \"a[0-999999999999999999]\": more than 1048576 names"},
      {"a[9999999999999999999]",
       "host list \"a[9999999999999999999]\": \"9999999999999999999\" is no number or range like "
       "1-8"},
  };
  for (const auto& test : kCases) {
    const auto names = ExpandHostlist(test.text);
    ASSERT_FALSE(names) << test.text;
    EXPECT_EQ(names.error().message, test.message);
  }
}

TEST(Hostlist, FormatsShort) {
  const auto format = [](std::vector<std::string> names) { return FormatHostlist(names); };
  EXPECT_EQ(format({}), "");
  EXPECT_EQ(format({"login"}), "login");
  EXPECT_EQ(format({"gpu7"}), "gpu7");
  EXPECT_EQ(format({"gpu08", "gpu09", "gpu10", "gpu12", "x", "y1", "y2"}),
            "gpu[08-10,12],x,y[1-2]");
  EXPECT_EQ(format({"a1", "b1", "a2"}), "a1,b1,a2");
  EXPECT_EQ(format({"a9", "a1"}), "a[9,1]");
}

RC_GTEST_PROP(Hostlist, FormatExpandsToTheSameNames, ()) {
  const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::map(
      rc::gen::pair(rc::gen::element<std::string>("", "a", "gpu", "x9y"), rc::gen::inRange(0, 130)),
      [](const std::pair<std::string, int>& part) {
        return part.second > 120 ? part.first + "z"
                                 : base::Format("{}{:02}", part.first, part.second);
      }));
  RC_PRE(!names.empty());
  const auto expanded = ExpandHostlist(FormatHostlist(names));
  RC_ASSERT(expanded.has_value());
  RC_ASSERT(*expanded == names);
}

}  // namespace
}  // namespace muster::format
