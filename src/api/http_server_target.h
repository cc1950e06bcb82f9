// SPDX-License-Identifier: Apache-2.0
// The target of a request line: "/v1/jobs/7?limit=10", taken apart and decoded, strictly.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::api {

/// "%41" -> "A". Nothing for a '%' without two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

struct RequestTarget {
  std::string raw_path;   ///< as it came, still encoded: "/v1/nodes/a%2Fb"
  std::string path;       ///< decoded
  std::string authority;  ///< of the absolute form ("http://host:port/path"), else empty
  std::map<std::string, std::string, std::less<>> query;
};
/// `kInvalid` for what is malformed, is no UTF-8, holds a NUL or, in the path, a control character
/// or a "." or ".." segment.
base::Result<RequestTarget> ParseTarget(std::string_view text);

/// The host of "host:port" or "[::1]:port", without brackets, in small letters; nothing when it is
/// malformed.
std::optional<std::string> HostOf(std::string_view authority);

/// Is the host one by which a person at this machine reaches a server on loopback? A web page's
/// script that got there by a name of its own choosing (DNS rebinding) names another one.
bool IsLoopbackName(std::string_view host, std::span<const std::string> configured);

}  // namespace muster::api
