// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/codec.h"
#include "format/document.h"
#include "format/planned_keys.h"

namespace muster::format {

/// The shape as a JSON Schema (2020-12) for editors. Planned keys are in it, with their doc, as
/// keys that nothing satisfies.
Value JsonSchema(std::string_view title, const Shape& shape, std::span<const PlannedKey> planned);

/// `document` of this shape, with every key that has a default and is not in it.
Value WithDefaultKeys(Value document, const Shape& shape);

/// One line for each key that `document`, which has all that have a default, does not show: those
/// without a default, those of items that it has none of, and the planned ones.
std::vector<std::string> OtherKeys(const Value& document, const Shape& shape,
                                   std::span<const PlannedKey> planned);

/// The shape as Markdown: one row a key, then one a planned key.
std::string Reference(std::string_view title, const Shape& shape,
                      std::span<const PlannedKey> planned);

/// Text for a cell of a Markdown table, in which `|` would end it.
std::string MarkdownCell(std::string_view text);

}  // namespace muster::format
