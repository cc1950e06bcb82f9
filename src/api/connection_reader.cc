// SPDX-License-Identifier: Apache-2.0
#include "api/connection_reader.h"

#include "api/net.h"

#include <algorithm>
#include <array>
#include <exception>

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>

#include "base/strings.h"
#include "base/utf8.h"

namespace muster::api {
namespace {

namespace http = boost::beast::http;
using Step = Progress::Step;

/// Longest key or cursor that a header may carry.
constexpr std::size_t kMaxKey = 255;
/// Longest request id that is repeated.
constexpr std::size_t kMaxRequestId = 64;
/// Longest head of a response.
constexpr std::uint32_t kMaxResponseHead = 64 * 1024;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool IsVisible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool IsRequestId(std::string_view text) {
  return text.size() <= kMaxRequestId && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

/// Headers that may be there once.
constexpr std::array<std::string_view, 8> kOnce = {
    "Host",          "Content-Length", "Content-Type",  "Transfer-Encoding",
    "Authorization", "Expect",         "Last-Event-ID", "Idempotency-Key"};

struct Taken {
  std::size_t used = 0;
  NetError ec;
};

template <class Parser>
Taken Put(Parser& parser, std::string_view input) {
  try {
    NetError ec;
    const std::size_t used = parser.put(asio::const_buffer(input.data(), input.size()), ec);
    return {.used = used, .ec = ec};
  } catch (const std::exception&) {  // a length was announced for which there is no memory
    return {.ec = http::error::body_limit};
  }
}

int StatusOf(const NetError& ec) {
  if (ec == http::error::header_limit) return 431;
  if (ec == http::error::body_limit) return 413;
  if (ec == http::error::bad_version) return 505;
  return 400;
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
};

RequestReader::RequestReader(const Bounds& bounds)
    : bounds_(bounds), parser_(std::make_unique<Parser>()) {
  parser_->http.header_limit(static_cast<std::uint32_t>(bounds.header_bytes));
  parser_->http.body_limit(bounds.body_bytes);
}

RequestReader::~RequestReader() = default;

Progress RequestReader::Bad(int status, std::string fault) {
  status_ = status;
  fault_ = std::move(fault);
  return {.step = Step::kBad};
}

Progress RequestReader::Feed(std::string_view input) {
  auto& http = parser_->http;
  if (http.is_done()) return {.step = Step::kDone};
  if (input.empty()) return {};
  const bool had_head = http.is_header_done();
  const auto [used, ec] = Put(http, input);
  if (ec && ec != http::error::need_more) {
    return Bad(StatusOf(ec), base::Format("the request is malformed: {}", ec.message()));
  }
  if (!had_head) {
    // Beast's own limit is for the lines it has not taken yet: one line a packet would pass it.
    head_bytes_ += used;
    if (head_bytes_ > bounds_.header_bytes) {
      return Bad(431, base::Format("the head of the request is longer than {} bytes",
                                   bounds_.header_bytes));
    }
    if (!http.is_header_done()) return {.used = used};
    if (!ReadHead()) return {.step = Step::kBad};
    http.eager(true);
    return {.step = Step::kHead, .used = used};
  }
  return {.step = http.is_done() ? Step::kDone : Step::kNeedMore, .used = used};
}

bool RequestReader::ReadHead() {
  const auto& message = parser_->http.get();
  const auto bad = [this](int status, std::string fault) {
    Bad(status, std::move(fault));
    return false;
  };
  for (const std::string_view name : kOnce) {
    if (message.count({name.data(), name.size()}) > 1) {
      return bad(400, base::Format("the header {} is there twice", name));
    }
  }
  const auto text = [&message](auto name) { return std::string(View(message[name])); };
  head_.minor_version = static_cast<int>(message.version() % 10);
  head_.method = View(message.method_string());
  head_.known_method = message.method() != http::verb::unknown;
  head_.target = View(message.target());
  head_.host = text(http::field::host);
  head_.content_type = text(http::field::content_type);
  head_.authorization = text(http::field::authorization);
  head_.last_event_id = text("Last-Event-ID");
  head_.idempotency_key = text("Idempotency-Key");
  head_.request_id = text("X-Request-Id");
  if (!IsRequestId(head_.request_id)) head_.request_id.clear();

  const std::string coding = text(http::field::transfer_encoding);
  const std::string length = text(http::field::content_length);
  if (message.count(http::field::transfer_encoding) > 0) {
    if (message.count(http::field::content_length) > 0 || head_.minor_version == 0) {
      return bad(400, "Transfer-Encoding with Content-Length, or with HTTP/1.0");
    }
    if (!boost::beast::iequals(coding, "chunked")) {
      return bad(501, base::Format("no transfer coding but chunked: {}", base::Quote(coding)));
    }
  } else if (std::ranges::any_of(length, [](char c) { return c < '0' || c > '9'; })) {
    return bad(400, base::Format("the Content-Length {} is no number", base::Quote(length)));
  }
  if (message.count(http::field::host) == 0 && head_.minor_version > 0) {
    return bad(400, "there is no Host header");
  }
  if (head_.idempotency_key.size() > kMaxKey || !IsVisible(head_.idempotency_key)) {
    return bad(400, base::Format("Idempotency-Key must be one text of at most {} visible ASCII "
                                 "characters",
                                 kMaxKey));
  }
  if (head_.last_event_id.size() > kMaxKey || !base::IsUtf8(head_.last_event_id)) {
    return bad(400, base::Format("Last-Event-ID must be UTF-8 of at most {} bytes", kMaxKey));
  }
  const std::string expect = text(http::field::expect);
  head_.expects_continue = boost::beast::iequals(expect, "100-continue");
  if (!expect.empty() && !head_.expects_continue) {
    return bad(417, base::Format("no expectation but 100-continue: {}", base::Quote(expect)));
  }
  head_.keep_alive = message.keep_alive() && head_.minor_version > 0;
  head_.has_body = !parser_->http.is_done();
  return true;
}

std::size_t RequestReader::body_size() const { return parser_->http.get().body().size(); }

std::string RequestReader::TakeBody() { return std::move(parser_->http.get().body()); }

struct ResponseReader::Parser {
  http::response_parser<http::string_body> http;
};

ResponseReader::ResponseReader(const Bounds& bounds) : parser_(std::make_unique<Parser>()) {
  parser_->http.header_limit(kMaxResponseHead);
  if (bounds.body_bytes > 0) {
    parser_->http.body_limit(bounds.body_bytes);
  } else {
    parser_->http.body_limit(boost::none);
  }
  parser_->http.skip(bounds.no_body);
}

ResponseReader::~ResponseReader() = default;

struct ResponseReader::Outcome : Taken {};

Progress ResponseReader::After(const Outcome& outcome) {
  const std::size_t used = outcome.used;
  const NetError& ec = outcome.ec;
  started_ = started_ || used > 0;
  if (ec && ec != http::error::need_more) {
    fault_ = ec.message();
    return {.step = Step::kBad, .used = used};
  }
  auto& http = parser_->http;
  if (http.is_header_done() && !told_head_) {
    told_head_ = true;
    http.eager(true);
    return {.step = Step::kHead, .used = used};
  }
  return {.step = http.is_done() ? Step::kDone : Step::kNeedMore, .used = used};
}

Progress ResponseReader::Feed(std::string_view input) {
  auto& http = parser_->http;
  if (http.is_done() && told_head_) return {.step = Step::kDone};
  if (input.empty()) return {};
  return After({Put(http, input)});
}

Progress ResponseReader::FeedEnd() {
  auto& http = parser_->http;
  if (http.is_done()) return {.step = Step::kDone};
  NetError ec;
  if (http.got_some()) {
    http.put_eof(ec);
  } else {
    ec = http::error::end_of_stream;
  }
  return After({{.ec = ec}});
}

bool ResponseReader::started() const { return started_; }

int ResponseReader::status() const { return static_cast<int>(parser_->http.get().result_int()); }

std::string ResponseReader::content_type() const {
  return std::string(View(parser_->http.get()[http::field::content_type]));
}

bool ResponseReader::keep_alive() const { return parser_->http.get().keep_alive(); }

std::string ResponseReader::TakeBody() {
  std::string taken;
  taken.swap(parser_->http.get().body());
  return taken;
}

}  // namespace muster::api
