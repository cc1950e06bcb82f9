// SPDX-License-Identifier: Apache-2.0
// Reading documents that a server answered: by path, with something harmless where a field is not
// there. What is shown to people passes through `ShownAt`, since names are other people's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "format/document.h"

namespace muster::cli {

/// The value at "pause.reason", or null.
const format::Value* ValueAt(const format::Value& document, std::string_view path);
/// Its items; none where it is no list or not there.
const std::vector<format::Value>& ItemsAt(const format::Value& document, std::string_view path);

/// As it was sent; empty where it is not there.
std::string TextAt(const format::Value& document, std::string_view path);
/// For a terminal: control characters are made visible.
std::string ShownAt(const format::Value& document, std::string_view path);
/// 0 where it is no whole number.
std::int64_t NumberAt(const format::Value& document, std::string_view path);
bool FlagAt(const format::Value& document, std::string_view path);
/// A list of texts, for a terminal.
std::vector<std::string> ShownTextsAt(const format::Value& document, std::string_view path);

/// The moment at the path ("2026-01-31T12:00:00.000Z"); none where there is none.
std::optional<base::Instant> MomentAt(const format::Value& document, std::string_view path);
std::optional<base::Instant> ParseMoment(std::string_view text);

/// "2026-01-31 13:00:00", in the time zone of whoever reads it.
std::string LocalTime(base::Instant at);
std::string LocalTimeAt(const format::Value& document, std::string_view path);
/// From one moment to another, as people say it: "3m20s"; empty where one is missing.
std::string Between(std::optional<base::Instant> from, std::optional<base::Instant> to);

}  // namespace muster::cli
