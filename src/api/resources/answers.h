// SPDX-License-Identifier: Apache-2.0
// What handlers have in common: reading queries and bodies, posting commands, answering.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/route.h"
#include "base/result.h"
#include "base/strings.h"
#include "format/codec.h"
#include "format/document.h"
#include "format/parse.h"
#include "server/command.h"
#include "server/front.h"

namespace muster::api {

HttpResponse Json(const format::Value& value, int status = 200);

/// "no job 12".
base::Error NotFound(std::string_view what);
base::Error Invalid(std::string message);

/// The parameter, or "" where it is not there.
std::string_view QueryText(const HttpRequest& request, std::string_view name);
/// Its parts between commas; none where it is empty or not there.
std::vector<std::string_view> QueryParts(const HttpRequest& request, std::string_view name);
struct CountRange {
  std::int64_t fallback = 0;
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};
/// A whole number within the range; a fault names the parameter.
base::Result<std::int64_t> QueryCount(const HttpRequest& request, std::string_view name,
                                      CountRange range);
base::Result<bool> QueryFlag(const HttpRequest& request, std::string_view name);

/// Names in a query that must be among a few: which of `names` they are.
base::Result<std::vector<std::size_t>> QueryNames(const HttpRequest& request,
                                                  std::string_view parameter,
                                                  std::span<const std::string_view> names);

/// The `{id}` of the path.
base::Result<model::JobId> PathJob(const HttpRequest& request);
/// Another parameter of the path.
const std::string& PathText(const HttpRequest& request, std::string_view name);

/// The body, YAML or JSON, as a T; or every fault with line and column.
template <class T>
base::Checked<T> DecodeBody(const HttpRequest& request, const format::Codec<T>& codec) {
  constexpr std::string_view kFile = "body";
  base::Result<format::Parsed> parsed = format::ParseText(request.body, kFile);
  if (!parsed) return parsed.error();
  if (parsed->documents.size() > 1) {
    return base::Error{base::ErrorCode::kInvalid, "a second document; this takes one",
                       format::Where(kFile, parsed->documents[1].at)};
  }
  format::Decoder decoder({});
  T out = codec.decode(parsed->documents.front(), decoder);
  std::vector<format::Fault> faults = std::move(parsed->faults);
  for (format::Fault& fault : decoder.faults()) faults.push_back(std::move(fault));
  if (!faults.empty()) return format::ToErrors(kFile, std::move(faults));
  return out;
}

/// Answers {jobs, notes} when the command's outcome is durable, or the problem.
void PostAndAnswer(server::Front& front, const HttpRequest& request, server::Command command,
                   Respond respond);

/// Seconds with up to six decimals: "12.5".
std::string SecondsText(std::int64_t us);

}  // namespace muster::api
