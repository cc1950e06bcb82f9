// SPDX-License-Identifier: Apache-2.0
// The two functions of each trace format; trace.cc has the table.
#pragma once

#include <string_view>

#include "format/trace/trace.h"

namespace muster::format {

bool LooksLikeMuster(std::string_view text);
model::Workload ReadMuster(std::string_view text, const TraceOptions& options, LineFaults& faults);

bool LooksLikeSwf(std::string_view text);
model::Workload ReadSwf(std::string_view text, const TraceOptions& options, LineFaults& faults);

bool LooksLikePhilly(std::string_view text);
model::Workload ReadPhilly(std::string_view text, const TraceOptions& options, LineFaults& faults);

bool LooksLikeHelios(std::string_view text);
model::Workload ReadHelios(std::string_view text, const TraceOptions& options, LineFaults& faults);

bool LooksLikeMuri(std::string_view text);
model::Workload ReadMuri(std::string_view text, const TraceOptions& options, LineFaults& faults);

bool LooksLikeAcme(std::string_view text);
model::Workload ReadAcme(std::string_view text, const TraceOptions& options, LineFaults& faults);

}  // namespace muster::format
