// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace muster::base {
namespace {

struct Suffix {
  std::string_view text;
  std::int64_t factor;
};

// Largest first, so that printing finds the shortest form; binary before decimal of similar size.
constexpr std::array kByteSuffixes = {
    Suffix{"Pi", 1LL << 50}, Suffix{"P", 1'000'000'000'000'000LL},
    Suffix{"Ti", 1LL << 40}, Suffix{"T", 1'000'000'000'000LL},
    Suffix{"Gi", 1LL << 30}, Suffix{"G", 1'000'000'000LL},
    Suffix{"Mi", 1LL << 20}, Suffix{"M", 1'000'000LL},
    Suffix{"Ki", 1LL << 10}, Suffix{"k", 1'000LL},
};

constexpr std::array kTimeSuffixes = {
    Suffix{"d", 86'400'000'000LL}, Suffix{"h", 3'600'000'000LL}, Suffix{"m", 60'000'000LL},
    Suffix{"s", 1'000'000LL},      Suffix{"ms", 1'000LL},        Suffix{"us", 1LL},
};

Error Fault(std::string message) { return Error{ErrorCode::kInvalid, std::move(message), ""}; }

Error NotA(std::string_view text, std::string_view expected) {
  return Fault(Format("{} is not {}", Quote(text), expected));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool MulAdd(std::int64_t& value, std::int64_t factor, std::int64_t add) {
  return !__builtin_mul_overflow(value, factor, &value) &&
         !__builtin_add_overflow(value, add, &value);
}

/// `.fraction` times `factor`, if that is a whole number. `fraction` is digits only.
std::optional<std::int64_t> ScaleFraction(std::string_view fraction, std::int64_t factor) {
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  constexpr std::size_t kMaxDigits =
      18;  // more could overflow the 128-bit product, and fit no unit
  if (fraction.size() > kMaxDigits) return std::nullopt;
  __extension__ using Wide = __int128;
  Wide numerator = 0;
  Wide denominator = 1;
  for (const char c : fraction) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  numerator *= factor;
  if (numerator % denominator != 0) return std::nullopt;
  return static_cast<std::int64_t>(numerator / denominator);
}

/// Decimal text times any factor, exact or an error: `1.5` x 2^30 is a whole number of bytes.
/// Messages show `shown`, what the person wrote.
Result<std::int64_t> ParseScaled(std::string_view text, std::int64_t factor,
                                 std::string_view shown) {
  if (text.starts_with('-')) return Fault(Format("{} is negative; give 0 or more", Quote(shown)));
  const std::size_t point = text.find('.');
  const bool has_point = point != std::string_view::npos;
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = has_point ? text.substr(point + 1) : std::string_view{};
  if (whole.empty() || (has_point && fraction.empty()) || !std::ranges::all_of(whole, IsDigit) ||
      !std::ranges::all_of(fraction, IsDigit)) {
    return NotA(shown, "a number");
  }
  const auto too_large = [shown] { return Fault(Format("{} is too large", Quote(shown))); };
  std::int64_t value = 0;
  for (const char c : whole) {
    if (!MulAdd(value, 10, c - '0')) return too_large();
  }
  const std::optional<std::int64_t> part = ScaleFraction(fraction, factor);
  if (!part) return Fault(Format("{} has more digits than its unit can hold", Quote(shown)));
  if (!MulAdd(value, factor, *part)) return too_large();
  return value;
}

Error WithExample(const Error& error, std::string_view example) {
  return Fault(Format("{} ({})", error.message, example));
}

/// value/scale as decimal text without trailing zeros.
std::string FormatScaled(std::int64_t value, std::int64_t scale) {
  std::string out = Format("{}", value / scale);
  std::int64_t rest = value % scale;
  if (rest == 0) return out;
  out += '.';
  while (rest != 0) {
    rest *= 10;
    out += static_cast<char>('0' + rest / scale);
    rest %= scale;
  }
  return out;
}

}  // namespace

Result<std::int64_t> ParseDecimal(std::string_view text, std::int64_t scale) {
  return ParseScaled(Trim(text), scale, text);
}

Result<std::int64_t> ParseCount(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (trimmed.find('.') != std::string_view::npos) return NotA(text, "a whole number");
  return ParseScaled(trimmed, 1, text);
}

Result<MilliCpu> ParseCpu(std::string_view text) {
  std::string_view number = Trim(text);
  std::int64_t scale = 1000;
  if (number.ends_with('m')) {
    number.remove_suffix(1);
    scale = 1;
  }
  const Result<std::int64_t> amount = ParseScaled(number, scale, text);
  if (!amount) return WithExample(amount.error(), "CPUs, like 96, 0.5 or 500m");
  return MilliCpu::Of(*amount);
}

Result<MilliGpu> ParseGpu(std::string_view text) {
  const Result<std::int64_t> amount = ParseScaled(Trim(text), 1000, text);
  if (!amount) return WithExample(amount.error(), "GPUs, like 8");
  return MilliGpu::Of(*amount);
}

Result<Bytes> ParseBytes(std::string_view text) {
  std::string_view number = Trim(text);
  std::int64_t factor = 1;
  for (const Suffix& suffix : kByteSuffixes) {
    if (number.ends_with(suffix.text)) {
      number.remove_suffix(suffix.text.size());
      factor = suffix.factor;
      break;
    }
  }
  const Result<std::int64_t> amount = ParseScaled(number, factor, text);
  if (!amount) return WithExample(amount.error(), "bytes, like 900Gi, 1.5Ti or 512M");
  return Bytes::Of(*amount);
}

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = Trim(text);
  if (rest == "0") return Duration::Of(0);
  constexpr std::string_view kExpected = "a duration (like 90s, 10m, 1h30m or 2d)";
  constexpr std::string_view kNumber = "0123456789.";
  if (rest.starts_with('-')) return Fault(Format("{} is negative; give 0 or more", Quote(text)));
  if (rest.empty()) return NotA(text, kExpected);
  std::int64_t total = 0;
  std::int64_t previous_factor = INT64_MAX;
  while (!rest.empty()) {
    const std::size_t number_end = rest.find_first_not_of(kNumber);
    if (number_end == std::string_view::npos || number_end == 0) return NotA(text, kExpected);
    const std::size_t unit_end = std::min(rest.find_first_of(kNumber, number_end), rest.size());
    const std::string_view unit = rest.substr(number_end, unit_end - number_end);
    const auto* const suffix = std::ranges::find(kTimeSuffixes, unit, &Suffix::text);
    if (suffix == kTimeSuffixes.end() || suffix->factor >= previous_factor)
      return NotA(text, kExpected);
    const Result<std::int64_t> part = ParseScaled(rest.substr(0, number_end), suffix->factor, text);
    if (!part) return part.error();
    if (!MulAdd(total, 1, *part)) return Fault(Format("{} is too large", Quote(text)));
    previous_factor = suffix->factor;
    rest.remove_prefix(unit_end);
  }
  return Duration::Of(total);
}

Result<Permille> ParseFraction(std::string_view text) {
  std::string_view number = Trim(text);
  std::int64_t scale = 1000;
  if (number.ends_with('%')) {
    number.remove_suffix(1);
    scale = 10;
  }
  constexpr std::string_view kExample = "a fraction, like 0.2 or 20%";
  const Result<std::int64_t> amount = ParseScaled(number, scale, text);
  if (!amount) return WithExample(amount.error(), kExample);
  if (*amount > 1000) return WithExample(Fault(Format("{} is more than 1", Quote(text))), kExample);
  return Permille::Of(*amount);
}

std::string FormatCpu(MilliCpu amount) { return FormatScaled(amount.value(), 1000); }
std::string FormatGpu(MilliGpu amount) { return FormatScaled(amount.value(), 1000); }
std::string FormatFraction(Permille part) { return FormatScaled(part.value(), 1000); }

std::string FormatBytes(Bytes amount) {
  for (const Suffix& suffix : kByteSuffixes) {
    if (amount.value() != 0 && amount.value() % suffix.factor == 0) {
      return Format("{}{}", amount.value() / suffix.factor, suffix.text);
    }
  }
  return Format("{}", amount.value());
}

std::string FormatDuration(Duration span) {
  if (span.IsZero()) return "0s";
  const bool negative = span.value() < 0;
  std::string out = negative ? "-" : "";
  const auto bits = static_cast<std::uint64_t>(span.value());
  std::uint64_t rest = negative ? ~bits + 1 : bits;
  for (const Suffix& suffix : kTimeSuffixes) {
    const auto factor = static_cast<std::uint64_t>(suffix.factor);
    if (rest >= factor) {
      out += Format("{}{}", rest / factor, suffix.text);
      rest %= factor;
    }
  }
  return out;
}

}  // namespace muster::base
