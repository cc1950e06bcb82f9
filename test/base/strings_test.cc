// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/result.h"

namespace muster::base {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(Split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), (Parts{""}));
  EXPECT_EQ(Split("one", ','), (Parts{"one"}));
}

TEST(Strings, Trim) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(Strings, Join) {
  const std::vector<std::string> parts = {"a", "", "c"};
  EXPECT_EQ(Join(parts, ", "), "a, , c");
  EXPECT_EQ(Join({}, ", "), "");
}

TEST(Strings, NearestFindsSlipsOnly) {
  struct Case {
    std::string_view text;
    std::string_view nearest;
  };
  constexpr std::array<std::string_view, 6> kNames = {"replicas", "resources", "gpu",
                                                      "cpu",      "memory",    "Mi"};
  constexpr std::array kCases = {
      Case{"replica", "replicas"},   // one letter short
      Case{"relpicas", "replicas"},  // two letters swapped
      Case{"REPLICAS", "replicas"},  // letter case
      Case{"recsources", "resources"},
      Case{"memorry", "memory"},
      Case{"gpus", "gpu"},
      Case{"xpu", "gpu"},  // a tie: the earlier candidate
      Case{"gp", "gpu"},
      Case{"mi", "Mi"},
      Case{"command", ""},  // another word
      Case{"pgu", ""},      // two edits are too many for three letters
      Case{"m", ""},
      Case{"", ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(Nearest(c.text, kNames), c.nearest) << c.text;
  EXPECT_EQ(Nearest(std::string(65, 'a'), std::array<std::string_view, 1>{"a"}), "");
  EXPECT_EQ(Nearest("gpu", {}), "");
}

TEST(Strings, NearestOfOneLetterIsThatLetter) {
  constexpr std::array<std::string_view, 2> kNames = {"x", "Y"};
  EXPECT_EQ(Nearest("y", kNames), "Y");
  EXPECT_EQ(Nearest("z", kNames), "");
}

TEST(Strings, QuoteIsSafeToPrint) {
  EXPECT_EQ(Quote("plain"), "\"plain\"");
  EXPECT_EQ(Quote(""), "\"\"");
  EXPECT_EQ(Quote("a\nb\x1b[31m\x7f"), "\"a\\x0ab\\x1b[31m\\x7f\"");
  EXPECT_EQ(Quote(std::string_view("a\0b", 3)), "\"a\\x00b\"");
  EXPECT_EQ(Quote(std::string(40, 'x')), "\"" + std::string(40, 'x') + "\"");
  EXPECT_EQ(Quote(std::string(41, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

TEST(Strings, QuoteCutsBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  for (std::size_t before = 36; before <= 40; ++before) {
    const std::string whole = std::string(before, 'x') + (before + euro.size() <= 40 ? euro : "");
    EXPECT_EQ(Quote(std::string(before, 'x') + euro + "tail"),
              "\"" + whole + (before == 36 ? "t" : "") + "...\"");
  }
}

TEST(Result, ErrorsSayWhere) {
  EXPECT_EQ((Error{ErrorCode::kInvalid, "is wrong", "job.yaml:3:1"}).ToString(),
            "job.yaml:3:1: is wrong");
  EXPECT_EQ((Error{ErrorCode::kInvalid, "is wrong", ""}).ToString(), "is wrong");
}

TEST(Result, HoldsAValueOrAFault) {
  const auto half = [](int n) -> Result<int> {
    if (n % 2 != 0) return Error{ErrorCode::kInvalid, "is odd", ""};
    return n / 2;
  };
  EXPECT_EQ(half(8).value(), 4);
  EXPECT_EQ(half(7).error().message, "is odd");
  const auto all = [](bool good) -> Checked<int> {
    if (!good) return Errors{{ErrorCode::kInvalid, "one", ""}, {ErrorCode::kIo, "two", ""}};
    return 1;
  };
  EXPECT_EQ(all(true).value(), 1);
  EXPECT_EQ(all(false).error().size(), 2U);
}

TEST(CheckDeathTest, NamesConditionAndPlace) {
  const int one = 1;
  MUSTER_CHECK(one == 1);
  EXPECT_DEATH(MUSTER_CHECK(one == 2),
               "muster: internal error at .*strings_test.cc:[0-9]+: one == 2 does not hold");
}

}  // namespace
}  // namespace muster::base
