// SPDX-License-Identifier: Apache-2.0
// What was, for people: events, acts, use; and tokens.
#pragma once

#include <string>

#include "cli/client/present.h"
#include "format/document.h"

namespace muster::cli {

/// Event, in a line.
std::string RenderEvent(const format::Value& event, const Look& look);
/// EventList.
std::string RenderEvents(const format::Value& list, const Look& look);
/// AuditList.
std::string RenderAudit(const format::Value& list, const Look& look);
/// Usage, in GPU hours.
std::string RenderUsage(const format::Value& usage, const Look& look);
/// TokenList.
std::string RenderTokens(const format::Value& list, const Look& look);

}  // namespace muster::cli
