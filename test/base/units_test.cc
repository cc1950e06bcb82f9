// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::base {
namespace {

/// One text with what must come of it: an amount, or exactly this message.
struct Case {
  std::string text;
  std::int64_t amount = 0;
  std::string message;
};

Case Good(std::string text, std::int64_t amount) { return {std::move(text), amount, ""}; }
Case Bad(std::string text, std::string message) { return {std::move(text), 0, std::move(message)}; }

template <class T>
std::int64_t Amount(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    return value.value();
  }
}

template <class Parse>
void ExpectAll(Parse parse, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE("text: '" + c.text + "'");
    const auto result = parse(c.text);
    if (c.message.empty()) {
      ASSERT_TRUE(result.has_value()) << result.error().message;
      EXPECT_EQ(Amount(*result), c.amount);
    } else {
      ASSERT_FALSE(result.has_value()) << "parsed as " << Amount(*result);
      EXPECT_EQ(result.error(), (Error{ErrorCode::kInvalid, c.message, ""}));
    }
  }
}

TEST(Units, Count) {
  ExpectAll(ParseCount, {
                            Good("0", 0),
                            Good("8", 8),
                            Good(" 12\t", 12),
                            Good("007", 7),
                            Good("9223372036854775807", INT64_MAX),
                            Bad("9223372036854775808", "\"9223372036854775808\" is too large"),
                            Bad("", "\"\" is not a number"),
                            Bad("   ", "\"   \" is not a number"),
                            Bad("-1", "\"-1\" is negative; give 0 or more"),
                            Bad("+1", "\"+1\" is not a number"),
                            Bad("1.0", "\"1.0\" is not a whole number"),
                            Bad("1e3", "\"1e3\" is not a number"),
                            Bad("0x10", "\"0x10\" is not a number"),
                            Bad("1 2", "\"1 2\" is not a number"),
                            Bad("NaN", "\"NaN\" is not a number"),
                            Bad("\xd9\xa3", "\"\xd9\xa3\" is not a number"),
                        });
}

TEST(Units, DecimalIsExact) {
  const auto parse = [](const std::string& text) { return ParseDecimal(text, 1000); };
  ExpectAll(parse, {
                       Good("0.001", 1),
                       Good("0.043", 43),
                       Good("1.230000000000000000000000000", 1230),
                       Good("9223372036854775.807", INT64_MAX),
                       Bad("9223372036854775.808", "\"9223372036854775.808\" is too large"),
                       Bad("0.0001", "\"0.0001\" has more digits than its unit can hold"),
                       Bad("0.0000000000000000001",
                           "\"0.0000000000000000001\" has more digits than its unit can hold"),
                       Bad(".5", "\".5\" is not a number"),
                       Bad("5.", "\"5.\" is not a number"),
                       Bad(".", "\".\" is not a number"),
                       Bad("1.2.3", "\"1.2.3\" is not a number"),
                       Bad("1,5", "\"1,5\" is not a number"),
                       Bad("inf", "\"inf\" is not a number"),
                   });
}

TEST(Units, EveryThousandthIsExact) {
  for (std::int64_t milli = 0; milli < 10'000; ++milli) {
    const std::string text = FormatGpu(MilliGpu::Of(milli));
    ASSERT_EQ(ParseGpu(text).value().value(), milli) << text;
  }
}

TEST(Units, Cpu) {
  const std::string hint = " (CPUs, like 96, 0.5 or 500m)";
  ExpectAll(ParseCpu, {
                          Good("96", 96'000),
                          Good("0.5", 500),
                          Good("500m", 500),
                          Good("2.5", 2500),
                          Bad("0.5m", "\"0.5m\" has more digits than its unit can hold" + hint),
                          Bad("m", "\"m\" is not a number" + hint),
                          Bad("-500m", "\"-500m\" is negative; give 0 or more" + hint),
                          Bad("96 cores", "\"96 cores\" is not a number" + hint),
                      });
  EXPECT_EQ(FormatCpu(MilliCpu::Of(96'000)), "96");
  EXPECT_EQ(FormatCpu(MilliCpu::Of(500)), "0.5");
  EXPECT_EQ(FormatCpu(MilliCpu::Of(1)), "0.001");
  EXPECT_EQ(FormatCpu(MilliCpu::Of(0)), "0");
}

TEST(Units, Gpu) {
  const std::string hint = " (GPUs, like 8)";
  ExpectAll(ParseGpu, {
                          Good("8", 8000),
                          Good("0.043", 43),
                          Bad("500m", "\"500m\" is not a number" + hint),
                          Bad("0.0001", "\"0.0001\" has more digits than its unit can hold" + hint),
                      });
}

TEST(Units, Bytes) {
  const std::string hint = " (bytes, like 900Gi, 1.5Ti or 512M)";
  ExpectAll(ParseBytes, {
                            Good("0", 0),
                            Good("1024", 1024),
                            Good("1k", 1000),
                            Good("1Ki", 1024),
                            Good("512M", 512'000'000),
                            Good("1.5Gi", 1'610'612'736),
                            Good("900Gi", 966'367'641'600),
                            Good("1.5Ti", 1'649'267'441'664),
                            Good("8191Pi", INT64_C(8191) << 50),
                            Bad("8192Pi", "\"8192Pi\" is too large" + hint),
                            Bad("0.3Ki", "\"0.3Ki\" has more digits than its unit can hold" + hint),
                            Bad("1K", "\"1K\" is not a number" + hint),
                            Bad("1gb", "\"1gb\" is not a number" + hint),
                            Bad("Gi", "\"Gi\" is not a number" + hint),
                            Bad("-1Gi", "\"-1Gi\" is negative; give 0 or more" + hint),
                        });
  EXPECT_EQ(FormatBytes(Bytes::Of(0)), "0");
  EXPECT_EQ(FormatBytes(Bytes::Of(1023)), "1023");
  EXPECT_EQ(FormatBytes(Bytes::Of(1024)), "1Ki");
  EXPECT_EQ(FormatBytes(Bytes::Of(5000)), "5k");
  EXPECT_EQ(FormatBytes(Bytes::Of(INT64_C(900) << 30)), "900Gi");
  EXPECT_EQ(FormatBytes(Bytes::Of(INT64_C(1) << 50)), "1Pi");
}

TEST(Units, Duration) {
  const std::string expected = " is not a duration (like 90s, 10m, 1h30m or 2d)";
  ExpectAll(ParseDuration, {
                               Good("0", 0),
                               Good("0s", 0),
                               Good("90s", 90'000'000),
                               Good("10m", 600'000'000),
                               Good("1h30m", 5'400'000'000),
                               Good("1.5h", 5'400'000'000),
                               Good("2d", 172'800'000'000),
                               Good("250ms", 250'000),
                               Good("30us", 30),
                               Good("1d2h3m4s5ms6us", 93'784'005'006),
                               Bad("", "\"\"" + expected),
                               Bad("10", "\"10\"" + expected),
                               Bad("h", "\"h\"" + expected),
                               Bad("1h30", "\"1h30\"" + expected),
                               Bad("30m1h", "\"30m1h\"" + expected),
                               Bad("1m1m", "\"1m1m\"" + expected),
                               Bad("1h 30m", "\"1h 30m\"" + expected),
                               Bad("1w", "\"1w\"" + expected),
                               Bad("1H", "\"1H\"" + expected),
                               Bad("-5m", "\"-5m\" is negative; give 0 or more"),
                               Bad("0.5us", "\"0.5us\" has more digits than its unit can hold"),
                               Bad("1..5h", "\"1..5h\" is not a number"),
                               Bad("106751992d", "\"106751992d\" is too large"),
                               Bad("106751991d5h", "\"106751991d5h\" is too large"),
                           });
  EXPECT_EQ(FormatDuration(Seconds(0)), "0s");
  EXPECT_EQ(FormatDuration(Seconds(90)), "1m30s");
  EXPECT_EQ(FormatDuration(Hours(49)), "2d1h");
  EXPECT_EQ(FormatDuration(Microseconds(1'001'001)), "1s1ms1us");
  EXPECT_EQ(FormatDuration(Seconds(-90)), "-1m30s") << "was empty text";
  EXPECT_EQ(FormatDuration(Microseconds(INT64_MIN)), "-106751991d4h54s775ms808us");
}

TEST(Units, Fraction) {
  const std::string hint = " (a fraction, like 0.2 or 20%)";
  ExpectAll(ParseFraction,
            {
                Good("0", 0),
                Good("0.2", 200),
                Good("20%", 200),
                Good("0.1%", 1),
                Good("1", 1000),
                Good("100%", 1000),
                Bad("101%", "\"101%\" is more than 1" + hint),
                Bad("1.001", "\"1.001\" is more than 1" + hint),
                Bad("0.01%", "\"0.01%\" has more digits than its unit can hold" + hint),
                Bad("%", "\"%\" is not a number" + hint),
            });
  EXPECT_EQ(FormatFraction(Permille::Of(200)), "0.2");
}

TEST(Units, MessagesShowWhatWasWrittenButNotAllOfIt) {
  const std::string nines(100, '9');
  EXPECT_EQ(ParseCount(nines).error().message, "\"" + std::string(40, '9') + "...\" is too large");
}

}  // namespace
}  // namespace muster::base
