// SPDX-License-Identifier: Apache-2.0
// Job documents: `apiVersion: muster/v1`, `kind: Job`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/document.h"
#include "model/job.h"

namespace muster::format {

/// The job in a YAML or JSON text, or every fault of it with line and column. `file` is its name in
/// messages.
base::Checked<model::JobSpec> ParseJob(std::string_view text, std::string_view file);
/// Likewise for a text of several jobs.
base::Checked<std::vector<model::JobSpec>> ParseJobs(std::string_view text, std::string_view file);

/// The job as a document without defaults; parses back to the same.
Value EncodeJob(const model::JobSpec& job);

/// JSON Schema and Markdown reference of the document.
Value JobSchema();
std::string JobReference();

}  // namespace muster::format
