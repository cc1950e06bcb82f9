// SPDX-License-Identifier: Apache-2.0
// Policy documents: `apiVersion: muster/v1`, `kind: Policy`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "format/document.h"
#include "model/policy.h"

namespace muster::format {

/// The policy in a YAML or JSON text, or every fault of it with line and column. Names of
/// strategies and orders are the engine's to check (`engine::CheckPolicy`).
base::Checked<model::Policy> ParsePolicy(std::string_view text, std::string_view file);

/// The policy as a document without defaults; parses back to the same.
Value EncodePolicy(const model::Policy& policy);

/// JSON Schema and Markdown reference of the document.
Value PolicySchema();
std::string PolicyReference();

}  // namespace muster::format
