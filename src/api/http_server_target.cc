// SPDX-License-Identifier: Apache-2.0
#include "api/http_server_target.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/listen.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;

Error Bad(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

base::Result<std::string> Decode(std::string_view text, std::string_view what) {
  std::optional<std::string> decoded = PercentDecode(text);
  if (!decoded) {
    return Bad(base::Format("the {} {} holds a '%' without two hexadecimal digits behind it", what,
                            base::Quote(text)));
  }
  if (!base::IsUtf8(*decoded)) {
    return Bad(base::Format("the {} {} is no UTF-8", what, base::Quote(text)));
  }
  if (decoded->find('\0') != std::string::npos) {
    return Bad(base::Format("the {} {} holds a NUL", what, base::Quote(text)));
  }
  return *std::move(decoded);
}

base::Status ReadPath(std::string_view raw, RequestTarget& target) {
  target.raw_path = raw;
  target.path.clear();
  for (const std::string_view part : base::Split(raw.substr(1), '/')) {
    auto segment = Decode(part, "path");
    if (!segment) return segment.error();
    if (std::ranges::any_of(*segment, IsControl)) {
      return Bad(base::Format("the path {} holds a control character", base::Quote(raw)));
    }
    if (*segment == "." || *segment == "..") {
      return Bad(base::Format("the path {} holds a segment \"{}\"", base::Quote(raw), *segment));
    }
    target.path += "/" + *segment;
  }
  return {};
}

/// '+' is a blank in a query, as forms send it.
std::string WithBlanks(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '+', ' ');
  return out;
}

base::Status ReadQuery(std::string_view text, RequestTarget& target) {
  for (const std::string_view pair : base::Split(text, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = Decode(WithBlanks(pair.substr(0, equals)), "query");
    if (!name) return name.error();
    auto value = Decode(equals == std::string_view::npos ? "" : WithBlanks(pair.substr(equals + 1)),
                        "query");
    if (!value) return value.error();
    if (!target.query.emplace(*std::move(name), *std::move(value)).second) {
      return Bad(base::Format("the query gives {} twice", base::Quote(pair.substr(0, equals))));
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, byte, 16);
    if (digits.size() != 2 || error != std::errc{} || at != end) return std::nullopt;
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

base::Result<RequestTarget> ParseTarget(std::string_view text) {
  RequestTarget target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.authority = text.substr(0, end);
    text.remove_prefix(end);
    if (target.authority.empty()) return Bad("the request target names no host");
    if (text.empty()) text = "/";
    break;
  }
  if (text.empty() || text.front() != '/') {
    return Bad(base::Format("the request target {} does not begin with '/'", base::Quote(text)));
  }
  if (text.find('#') != std::string_view::npos) {
    return Bad("the request target holds a '#'; write it as %23");
  }
  const std::size_t mark = std::min(text.find('?'), text.size());
  if (const auto read = ReadPath(text.substr(0, mark), target); !read) return read.error();
  if (mark < text.size()) {
    if (const auto read = ReadQuery(text.substr(mark + 1), target); !read) return read.error();
  }
  return target;
}

std::optional<std::string> HostOf(std::string_view authority) {
  std::string_view host = authority;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
    if (!port.empty() && port.front() != ':') return std::nullopt;
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  const bool port_fits = port.empty() || std::ranges::all_of(port.substr(1), [](char c) {
                           return c >= '0' && c <= '9';
                         });
  const bool host_fits = std::ranges::all_of(host, [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("/?#@\\\"<>%").find(c) == std::string_view::npos;
  });
  if (!port_fits || !host_fits || host.empty()) return std::nullopt;
  std::string small(host);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

bool IsLoopbackName(std::string_view host, std::span<const std::string> configured) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" ||
         std::ranges::find(configured, host) != configured.end();
}

}  // namespace muster::api
