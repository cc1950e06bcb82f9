// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <array>
#include <cstddef>

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

Error Invalid(std::string_view text, std::string_view expected) {
  return Error{ErrorCode::kInvalid, Format("{} is not {}", Quote(text), expected), ""};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool MulAdd(std::int64_t& value, std::int64_t factor, std::int64_t add) {
  return !__builtin_mul_overflow(value, factor, &value) &&
         !__builtin_add_overflow(value, add, &value);
}

/// Decimal text times any factor, exact or an error: `1.5` x 2^30 is a whole number of bytes.
Result<std::int64_t> ParseScaled(std::string_view text, std::int64_t factor) {
  if (text.starts_with('-')) {
    return Error{ErrorCode::kInvalid, Format("{} is negative; amounts are 0 or more", Quote(text)), ""};
  }
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string_view fraction =
      point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) {
    return Invalid(text, "a number");
  }
  std::int64_t value = 0;
  const Error too_large{ErrorCode::kInvalid, Format("{} is too large", Quote(text)), ""};
  for (const char c : whole) {
    if (!IsDigit(c)) return Invalid(text, "a number");
    if (!MulAdd(value, 10, c - '0')) return too_large;
  }
  if (!MulAdd(value, factor, 0)) return too_large;
  for (const char c : fraction) {
    if (!IsDigit(c)) return Invalid(text, "a number");
  }
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  __extension__ using Wide = __int128;
  Wide numerator = 0;
  Wide denominator = 1;
  constexpr std::size_t kMaxFractionDigits = 18;  // more would overflow the 128-bit product
  if (fraction.size() > kMaxFractionDigits) {
    return Error{ErrorCode::kInvalid, Format("{} has more digits than its unit can hold", Quote(text)), ""};
  }
  for (const char c : fraction) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  numerator *= factor;
  if (numerator % denominator != 0) {
    return Error{ErrorCode::kInvalid, Format("{} has more digits than its unit can hold", Quote(text)), ""};
  }
  if (!MulAdd(value, 1, static_cast<std::int64_t>(numerator / denominator))) return too_large;
  return value;
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
  return ParseScaled(Trim(text), scale);
}

Result<std::int64_t> ParseCount(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (trimmed.find('.') != std::string_view::npos) return Invalid(text, "a whole number");
  return ParseScaled(trimmed, 1);
}

Result<MilliCpu> ParseCpu(std::string_view text) {
  std::string_view number = Trim(text);
  std::int64_t scale = 1000;
  if (number.ends_with('m')) {
    number.remove_suffix(1);
    scale = 1;
  }
  const Result<std::int64_t> amount = ParseScaled(number, scale);
  if (!amount) return Error{amount.error().code, amount.error().message + " (CPUs, like 96, 0.5 or 500m)", ""};
  return MilliCpu::Of(*amount);
}

Result<MilliGpu> ParseGpu(std::string_view text) {
  const Result<std::int64_t> amount = ParseScaled(Trim(text), 1000);
  if (!amount) return Error{amount.error().code, amount.error().message + " (GPUs, like 8 or 0.5)", ""};
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
  const Result<std::int64_t> amount = ParseScaled(number, factor);
  if (!amount) {
    return Error{amount.error().code, Format("{} (bytes, like 900Gi, 1.5Ti or 512M)", amount.error().message), ""};
  }
  return Bytes::Of(*amount);
}

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = Trim(text);
  if (rest == "0") return Duration::Of(0);
  constexpr std::string_view kExpected = "a duration (like 90s, 10m, 1h30m or 2d)";
  if (rest.starts_with('-')) {
    return Error{ErrorCode::kInvalid, Format("{} is negative; durations are 0 or more", Quote(text)), ""};
  }
  if (rest.empty()) return Invalid(text, kExpected);
  std::int64_t total = 0;
  std::int64_t previous_factor = INT64_MAX;
  while (!rest.empty()) {
    const std::size_t number_end = rest.find_first_not_of("0123456789.");
    if (number_end == std::string_view::npos || number_end == 0) return Invalid(text, kExpected);
    std::size_t unit_end = rest.find_first_of("0123456789.", number_end);
    if (unit_end == std::string_view::npos) unit_end = rest.size();
    const std::string_view unit = rest.substr(number_end, unit_end - number_end);
    std::int64_t factor = 0;
    for (const Suffix& suffix : kTimeSuffixes) {
      if (unit == suffix.text) factor = suffix.factor;
    }
    if (factor == 0 || factor >= previous_factor) return Invalid(text, kExpected);
    const Result<std::int64_t> part = ParseScaled(rest.substr(0, number_end), factor);
    if (!part) return Error{part.error().code, Format("{} in {}", part.error().message, Quote(text)), ""};
    if (!MulAdd(total, 1, *part)) {
      return Error{ErrorCode::kInvalid, Format("{} is too large", Quote(text)), ""};
    }
    previous_factor = factor;
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
  const Result<std::int64_t> amount = ParseScaled(number, scale);
  if (!amount) return Error{amount.error().code, amount.error().message + " (a fraction, like 0.2 or 20%)", ""};
  if (*amount > 1000) {
    return Error{ErrorCode::kInvalid, Format("{} is more than 1 (a fraction, like 0.2 or 20%)", Quote(text)), ""};
  }
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
  std::string out;
  std::int64_t rest = span.value();
  for (const Suffix& suffix : kTimeSuffixes) {
    if (rest >= suffix.factor) {
      out += Format("{}{}", rest / suffix.factor, suffix.text);
      rest %= suffix.factor;
    }
  }
  return out;
}

}  // namespace muster::base
