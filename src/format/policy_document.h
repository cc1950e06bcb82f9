// SPDX-License-Identifier: Apache-2.0
// Policy documents: `apiVersion: muster/v1`, `kind: Policy`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/document.h"
#include "model/policy.h"

namespace muster::format {

/// Rules between the keys of a policy that this room does not know: faults whose `where` is a path
/// in the document (`engine::CheckPolicy`).
using PolicyRules = std::function<base::Errors(const model::Policy&)>;

/// The policy in a YAML or JSON text, or every fault of it, those of `rules` too, with line and
/// column.
base::Checked<model::Policy> ParsePolicy(std::string_view text, std::string_view file,
                                         const PolicyRules& rules = {});
/// Likewise of a document that was parsed already.
base::Checked<model::Policy> DecodePolicy(Parsed parsed, std::string_view file,
                                          const PolicyRules& rules);

/// The policy as a document without defaults; parses back to the same.
Value EncodePolicy(const model::Policy& policy);

/// Likewise with every key that has a default; this too parses back to the same.
Value EncodeWholePolicy(const model::Policy& policy);
/// The keys that this lacks, each a line: those without a default, and the planned ones.
std::vector<std::string> OtherPolicyKeys(const model::Policy& policy);

/// JSON Schema and Markdown reference of the document.
Value PolicySchema();
std::string PolicyReference();

}  // namespace muster::format
