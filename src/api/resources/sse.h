// SPDX-License-Identifier: Apache-2.0
// Server-sent events as text.
#pragma once

#include <string>
#include <string_view>

#include "api/route.h"
#include "base/result.h"
#include "format/document.h"

namespace muster::api {

/// One whole event with JSON data. Without an id where `id` is empty.
std::string EventText(std::string_view id, std::string_view kind, const format::Value& data);

/// Where a stream is to go on: its cursor, or else what the request says (`Last-Event-ID`, then
/// `after`); empty: nothing said.
std::string_view StartOf(const HttpRequest& request, std::string_view cursor);

/// Ends the stream with a problem: as the answer where it has not begun, else as an event
/// `problem`.
StreamPart ProblemPart(const base::Error& error, const std::string& cursor);

}  // namespace muster::api
