// SPDX-License-Identifier: Apache-2.0
// The HTTP API described, from the tables of routes and schemas. `OpenApiDocument` is in route.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/route.h"

namespace muster::api {

/// An answer that a route gives when all is well.
struct GoodAnswer {
  int status = 200;
  std::string_view content;  ///< as `ContentOf` takes it
};
std::vector<GoodAnswer> AnswersOf(const Route& route);

/// The names between braces in a pattern.
std::vector<std::string_view> PathParameters(std::string_view pattern);

/// docs/reference/api.md.
std::string ApiReference();

}  // namespace muster::api
