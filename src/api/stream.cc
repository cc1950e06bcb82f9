// SPDX-License-Identifier: Apache-2.0
// Server-sent events: the third part of a connection. One part at a time is on its way; the route
// is asked for the next when that is written, so a slow reader costs one part of memory.
#include <algorithm>
#include <exception>
#include <utility>

#include "api/connection.h"
#include "base/strings.h"

namespace muster::api {
namespace {

constexpr std::string_view kComment = ":\n\n";

}  // namespace

void Connection::StartStream() {
  const auto after = request_.query.find("after");
  cursor_ = !request_.last_event_id.empty() ? request_.last_event_id
            : after != request_.query.end() ? after->second
                                            : "";
  StreamPart part = Ask();
  if (part.instead) return Answer(*std::move(part.instead));
  keep_ = false;
  HttpResponse head{.content_type = "text/event-stream"};
  if (is_head_) return Answer(std::move(head));

  chunked_ = reader_->head().minor_version > 0;
  ending_ = drain_ = ask_again_ = false;
  state_ = State::kStreaming;
  const Clock::time_point now = Clock::now();
  next_check_ = now + std::chrono::milliseconds(hub_.options.limits.stream_comment_ms);
  out_head_ = HeadOf(head, std::nullopt);
  if (chunked_) out_head_ += "Transfer-Encoding: chunked\r\n";
  out_head_ += "\r\n";
  Send(std::move(part));
  // Nothing to say yet: the head goes out, so that the reader knows that it is heard.
  if (state_ == State::kStreaming && !writing_) SendText("");
  if (state_ == State::kStreaming) {
    begin_ = end_ = 0;
    ReadMore();
  }
}

StreamPart Connection::Ask() {
  // A quarter of the time goes to the beat of the ticks.
  next_poll_ = Clock::now() + std::chrono::milliseconds(hub_.options.limits.stream_poll_ms * 3 / 4);
  try {
    return route_->stream(hub_.front, request_, cursor_);
  } catch (const std::exception& error) {
    return {.cursor = cursor_,
            .end = true,
            .instead = Problem(500, StatusTitle(500),
                               base::Format("the stream failed: {}", error.what()))};
  }
}

void Connection::Wake() {
  if (state_ == State::kStreaming) Pump();
}

void Connection::Pump() {
  if (ending_) return;
  if (writing_) {
    ask_again_ = true;
    return;
  }
  Send(Ask());
}

/// Sends the part, if there is anything in it.
void Connection::Send(StreamPart part) {
  cursor_ = std::move(part.cursor);
  ending_ = part.end || drain_;
  ask_again_ = !part.text.empty();
  if (part.text.empty() && !ending_) return;
  if (!Charge(part.text.size())) return Finish();
  SendText(std::move(part.text));
}

void Connection::SendText(std::string text) {
  const std::int64_t comment_ms = hub_.options.limits.stream_comment_ms;
  next_comment_ = Clock::now() + std::chrono::milliseconds(comment_ms);
  SetDeadline(hub_.options.limits.body_ms);
  // The head of the response may still be waiting in front.
  if (chunked_ && !text.empty()) out_head_ += base::Format("{:x}\r\n", text.size());
  out_body_ = std::move(text);
  if (chunked_ && !out_body_.empty()) out_body_ += "\r\n";
  if (chunked_ && ending_) out_body_ += "0\r\n\r\n";
  writing_ = true;
  wire_.Write(out_head_, out_body_, [self = shared_from_this()](NetError ec, std::size_t /*n*/) {
    self->OnStreamWritten(ec);
  });
}

void Connection::OnStreamWritten(NetError ec) {
  writing_ = false;
  if (state_ != State::kStreaming) return;
  if (ec) return Finish();
  out_head_.clear();
  out_body_ = {};
  Charge(0);
  if (ending_) return Linger();
  if (drain_) return Send({.cursor = cursor_, .end = true});
  if (std::exchange(ask_again_, false)) Pump();
}

void Connection::TickStream(Clock::time_point now) {
  if (writing_) {
    if (now >= deadline_) Finish();
    return;
  }
  if (now >= next_check_) {
    next_check_ = now + std::chrono::milliseconds(hub_.options.limits.stream_comment_ms);
    if (!StillKnown()) return Send({.cursor = cursor_, .end = true});
  }
  if (now >= next_poll_) Pump();
  if (state_ == State::kStreaming && !writing_ && now >= next_comment_) {
    SendText(std::string(kComment));
  }
}

/// A stream may live for days: a token that was revoked meanwhile ends it.
bool Connection::StillKnown() {
  return token_.empty() || route_->open || hub_.options.authenticate(token_).has_value();
}

}  // namespace muster::api
