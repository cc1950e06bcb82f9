// SPDX-License-Identifier: Apache-2.0
// Looking up and judging requests: the parts of route.h that the transport needs one by one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/route.h"

namespace muster::api {

/// `FindRoute` in a table of one's own. `path` may be percent-encoded: a segment is decoded by
/// itself, so that an encoded '/' never splits it. HEAD finds the row of GET.
Match FindRouteIn(std::span<const Route> table, std::string_view method, std::string_view path);

/// What can be said against a request before its body is read: the caller's role, unknown and
/// malformed query parameters, the kind of the body. Nothing: all is well so far.
std::optional<HttpResponse> CheckHead(const Route& route, const HttpRequest& request);

/// "Not Found".
std::string_view StatusTitle(int status);

}  // namespace muster::api
