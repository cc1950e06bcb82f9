// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "format/document.h"

namespace muster::format {

/// One strict JSON value (RFC 8259, UTF-8). Numbers keep the digits they were written with. `file`
/// is its name in messages.
base::Result<Parsed> ParseJson(std::string_view text, std::string_view file);

enum class JsonStyle { kCompact, kPretty };

/// The tree as JSON: keys in their order, an unquoted scalar that is a number, `true` or `false` as
/// such, every other scalar as a string. Pretty ends with a line end.
std::string WriteJson(const Value& value, JsonStyle style = JsonStyle::kPretty);

}  // namespace muster::format
