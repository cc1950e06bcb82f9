// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "format/document.h"

namespace muster::format {

/// All documents of a YAML text (`---` between them). Anchors, aliases and tags other than `!!str`
/// are refused: a document means what it shows. `file` is its name in messages.
base::Result<Parsed> ParseYaml(std::string_view text, std::string_view file);

/// The tree as block YAML; lists of scalars in one line where they are short. Parses back to the
/// same.
std::string WriteYaml(const Value& value);

}  // namespace muster::format
