// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "format/codec.h"
#include "format/document.h"
#include "format/planned_keys.h"

namespace muster::format {

/// The shape as a JSON Schema (2020-12) for editors. Planned keys are in it, with their doc, as
/// keys that nothing satisfies.
Value JsonSchema(std::string_view title, const Shape& shape, std::span<const PlannedKey> planned);

/// The shape as Markdown: one row a key, then one a planned key.
std::string Reference(std::string_view title, const Shape& shape,
                      std::span<const PlannedKey> planned);

}  // namespace muster::format
