// SPDX-License-Identifier: Apache-2.0
// One parser and one printer for every kind of amount a person writes. All exact: decimal text to
// integers, never through floating point; a digit too fine for the unit, a negative amount or one
// that does not fit is an error that names the value. Printers take amounts >= 0 and give text that
// parses back to the same amount; a negative span, which only a difference of times can be, gets a
// sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::base {

using MilliCpu = Quantity<struct MilliCpuTag>;
using MilliGpu = Quantity<struct MilliGpuTag>;
using Bytes = Quantity<struct BytesTag>;
using Permille = Quantity<struct PermilleTag>;

/// Decimal text times `scale` (a power of ten): ("0.5", 1000) -> 500, ("0.0001", 1000) -> error.
Result<std::int64_t> ParseDecimal(std::string_view text, std::int64_t scale);

/// A whole number >= 0: "8".
Result<std::int64_t> ParseCount(std::string_view text);
/// CPUs: "96", "0.5", or Kubernetes' milli form "500m".
Result<MilliCpu> ParseCpu(std::string_view text);
/// GPUs: "8", "0.5", "0.043".
Result<MilliGpu> ParseGpu(std::string_view text);
/// Bytes: "1Ti", "900Gi", "1.5Gi", "512M", "1024". Ki/Mi/Gi/Ti/Pi are powers of 1024, k/M/G/T/P of
/// 1000.
Result<Bytes> ParseBytes(std::string_view text);
/// "90s", "10m", "1h30m", "2d", "1.5h", "250ms", "30us", "0". A bare number other than 0 needs a
/// unit.
Result<Duration> ParseDuration(std::string_view text);
/// A part of one: "0.2" or "20%" -> 200 permille. At most 1.
Result<Permille> ParseFraction(std::string_view text);

std::string FormatCpu(MilliCpu amount);
std::string FormatGpu(MilliGpu amount);
std::string FormatBytes(Bytes amount);
std::string FormatDuration(Duration span);
std::string FormatFraction(Permille part);

}  // namespace muster::base
