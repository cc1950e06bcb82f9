// SPDX-License-Identifier: Apache-2.0
// The half of a connection that handles and answers.
#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "api/connection.h"
#include "base/strings.h"

namespace muster::api {
namespace {

/// How long a peer may take to read our last words.
constexpr std::int64_t kLingerMs = 2000;
/// An answer this short goes out in one piece with its head.
constexpr std::size_t kShortBody = 4096;

/// The way back of one answer, from any thread. Taken once; when the handler drops it unused the
/// caller is told, instead of left to wait.
class WayBack {
 public:
  WayBack(std::shared_ptr<asio::io_context> io, std::weak_ptr<Connection> connection,
          std::uint64_t serial)
      : io_(std::move(io)), connection_(std::move(connection)), serial_(serial) {}
  ~WayBack() {
    Take(Problem(500, StatusTitle(500), "the server gave no answer; this is a bug of it"));
  }
  WayBack(const WayBack&) = delete;
  WayBack& operator=(const WayBack&) = delete;

  void Take(HttpResponse response) {
    if (taken_.exchange(true)) return;
    // The event loop outlives its thread here: after the server's end the answer just lies there.
    asio::post(*io_, [connection = std::move(connection_), serial = serial_,
                      response = std::move(response)]() mutable {
      if (const auto alive = connection.lock()) alive->OnAnswer(serial, std::move(response));
    });
  }

 private:
  std::shared_ptr<asio::io_context> io_;
  std::weak_ptr<Connection> connection_;
  std::uint64_t serial_;
  std::atomic<bool> taken_ = false;
};

bool IsToken(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool IsFieldValue(std::string_view value) {
  return std::ranges::none_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool Same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    return small(x) == small(y);
  });
}

/// Headers that the transport alone sets.
bool IsOurs(std::string_view name) {
  constexpr std::string_view kOurs[] = {
      "Content-Length", "Transfer-Encoding",     "Connection", "Content-Type", "Date",
      "X-Request-Id",   "X-Content-Type-Options"};
  return std::ranges::any_of(kOurs, [name](std::string_view ours) { return Same(ours, name); });
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

void Connection::OnRequest() {
  if (!Charge(reader_->body_size())) {
    return Answer(Problem(503, StatusTitle(503), "too many requests are being read just now"));
  }
  request_.body = reader_->TakeBody();
  state_ = State::kHandling;
  ++serial_;
  SetDeadline(hub_.options.limits.answer_ms);
  if (route_->stream != nullptr) return StartStream();
  auto back = std::make_shared<WayBack>(hub_.io, weak_from_this(), serial_);
  try {
    Dispatch(*route_, hub_.front, request_,
             [back](HttpResponse response) { back->Take(std::move(response)); });
  } catch (const std::exception& error) {
    back->Take(
        Problem(500, StatusTitle(500), base::Format("the handler failed: {}", error.what())));
  }
}

void Connection::OnAnswer(std::uint64_t serial, HttpResponse response) {
  if (state_ != State::kHandling || serial != serial_) return;
  Answer(std::move(response));
}

void Connection::AnswerAndClose(HttpResponse response) {
  keep_ = false;
  Answer(std::move(response));
}

std::string Connection::HeadOf(const HttpResponse& response,
                               std::optional<std::size_t> length) const {
  const int status = response.status >= 200 && response.status <= 599 ? response.status : 500;
  std::string head =
      base::Format("HTTP/1.1 {} {}\r\nDate: {}\r\n", status, StatusTitle(status), hub_.Date());
  if (HasBody(status)) {
    if (IsFieldValue(response.content_type) && !response.content_type.empty()) {
      head += base::Format("Content-Type: {}\r\n", response.content_type);
    }
    if (length) head += base::Format("Content-Length: {}\r\n", *length);
  }
  bool cache_is_set = false;
  for (const auto& [name, value] : response.headers) {
    // A value with a line end in it would be a header of its own.
    if (!IsToken(name) || !IsFieldValue(value) || IsOurs(name)) continue;
    cache_is_set = cache_is_set || Same(name, "Cache-Control");
    head += base::Format("{}: {}\r\n", name, value);
  }
  if (!cache_is_set) head += "Cache-Control: no-store\r\n";
  head += "X-Content-Type-Options: nosniff\r\n";
  head +=
      base::Format("X-Request-Id: {}\r\n", request_id_.empty() ? hub_.NewRequestId() : request_id_);
  if (!keep_) head += "Connection: close\r\n";
  return head;
}

void Connection::Answer(HttpResponse response) {
  request_.body = {};
  if (!Charge(response.body.size())) {
    response = Problem(503, StatusTitle(503), "too many answers are being sent just now");
    Charge(response.body.size());
  }
  keep_ = keep_ && !hub_.stopping;
  state_ = State::kWriting;
  SetDeadline(hub_.options.limits.body_ms);
  out_head_ = HeadOf(response, response.body.size()) + "\r\n";
  out_body_ = is_head_ || !HasBody(response.status) ? "" : std::move(response.body);
  if (out_body_.size() <= kShortBody) {
    out_head_ += out_body_;
    out_body_.clear();
  }
  wire_.Write(out_head_, out_body_,
              [self = shared_from_this()](NetError ec, std::size_t /*n*/) { self->OnWritten(ec); });
}

void Connection::OnWritten(NetError ec) {
  if (state_ != State::kWriting) return;
  if (ec) return Finish();
  out_head_.clear();
  out_body_ = {};
  is_fresh_ = false;
  if (keep_ && !hub_.stopping) return BeginRequest(hub_.options.limits.idle_ms);
  Linger();
}

/// Says that nothing follows, and waits a little for the peer to have read it: a socket that is
/// closed with input unread makes the system throw away what the peer has not read yet.
void Connection::Linger() {
  Charge(0);
  state_ = State::kLinger;
  SetDeadline(hub_.stopping ? kStoppingLingerMs : kLingerMs);
  const auto then = [self = shared_from_this()](NetError ec) {
    if (self->state_ != State::kLinger) return;
    if (ec) return self->Finish();
    self->Discard();
  };
  if (reading_) {
    wire_.CloseSendNow();  // what is read on is thrown away in OnRead
  } else {
    wire_.CloseSend(then);
  }
}

void Connection::Discard() {
  if (buffer_.empty()) buffer_.resize(kShortBody);
  wire_.DiscardSome(buffer_, [self = shared_from_this()](NetError ec, std::size_t /*n*/) {
    if (self->state_ != State::kLinger) return;
    if (ec) return self->Finish();
    self->Discard();
  });
}

}  // namespace muster::api
