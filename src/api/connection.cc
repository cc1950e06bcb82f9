// SPDX-License-Identifier: Apache-2.0
#include "api/connection.h"

#include <algorithm>
#include <ctime>
#include <random>
#include <utility>

#include "api/token.h"
#include "base/check.h"
#include "base/strings.h"

namespace muster::api {
namespace {

using Step = Progress::Step;

/// First size of the input buffer, to which it is brought back between requests.
constexpr std::size_t kSmallBuffer = 4 * 1024;
/// Its size while a long body comes.
constexpr std::size_t kBodyBuffer = 64 * 1024;
/// Connections that are told that there are too many, at one time; further ones are just closed.
constexpr std::size_t kMaxRefused = 64;

HttpResponse Unauthorized(std::string_view detail, bool with_token) {
  HttpResponse problem = Problem(401, StatusTitle(401), detail);
  problem.headers.emplace_back("WWW-Authenticate", with_token ? "Bearer realm=\"muster\", "
                                                                "error=\"invalid_token\""
                                                              : "Bearer realm=\"muster\"");
  return problem;
}

HttpResponse TooMany(std::string_view who, std::size_t limit) {
  HttpResponse problem =
      Problem(429, StatusTitle(429),
              base::Format("{} has {} connections open already; close some", who, limit));
  problem.headers.emplace_back("Retry-After", "1");
  return problem;
}

/// The token of "Bearer TOKEN"; empty for any other scheme.
std::string_view BearerOf(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return {};
  }
  return base::Trim(authorization.substr(kScheme.size()));
}

}  // namespace

Hub::Hub(server::Front& the_front, HttpOptions the_options)
    : front(the_front),
      options(std::move(the_options)),
      routes(options.routes.empty() ? Routes() : options.routes),
      io(std::make_shared<asio::io_context>(1)),
      id_prefix_(base::Format("{:08x}", std::random_device{}())) {}

bool Hub::Take(const std::string& owner) {
  std::size_t& count = by_owner_[owner];
  if (count >= options.limits.connections_per_user) return false;
  ++count;
  return true;
}

void Hub::Give(const std::string& owner) {
  const auto at = by_owner_.find(owner);
  MUSTER_CHECK(at != by_owner_.end() && at->second > 0);
  if (--at->second == 0) by_owner_.erase(at);
}

std::string Hub::NewRequestId() { return base::Format("{}-{:x}", id_prefix_, ++last_id_); }

const std::string& Hub::Date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm at{};
    ::gmtime_r(&now, &at);
    date_ = base::Format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[at.tm_wday], at.tm_mday,
                         kMonths[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
  }
  return date_;
}

Connection::Connection(Hub& hub, Socket socket, Origin origin)
    : hub_(hub), origin_(std::move(origin)), wire_(std::move(socket), origin_.tls) {}

void Connection::Start() {
  SetDeadline(hub_.options.limits.header_ms);
  const std::string owner =
      origin_.is_unix ? base::Format("uid {}", origin_.peer.uid) : "address " + origin_.address;
  if (!hub_.Take(owner)) {
    return Refuse(TooMany(owner, hub_.options.limits.connections_per_user));
  }
  owner_ = owner;
  if (origin_.is_unix) peer_caller_ = hub_.options.identify_peer(origin_.peer);
  if (!wire_.is_tls()) return BeginRequest(hub_.options.limits.header_ms);
  state_ = State::kHandshake;
  wire_.HandshakeAsServer([self = shared_from_this()](NetError ec) {
    if (self->state_ == State::kClosed) return;
    if (ec) return self->Finish();
    self->BeginRequest(self->hub_.options.limits.header_ms);
  });
}

void Connection::Refuse(HttpResponse response) {
  // Beyond TLS nothing can be said without a handshake, which costs more than it is worth.
  if (wire_.is_tls() || hub_.refused >= kMaxRefused) return Finish();
  is_refused_ = true;
  ++hub_.refused;
  AnswerAndClose(std::move(response));
}

void Connection::Finish() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  wire_.Close();
  Charge(0);
  if (is_refused_) --hub_.refused;
  if (!owner_.empty()) hub_.Give(owner_);
  hub_.connections.erase(shared_from_this());
  if (hub_.stopping && hub_.connections.empty()) hub_.on_last_gone();
}

void Connection::SetDeadline(std::int64_t from_now_ms) {
  deadline_ = Clock::now() + std::chrono::milliseconds(from_now_ms);
}

/// `wait_ms`: for its first byte.
void Connection::BeginRequest(std::int64_t wait_ms) {
  const Limits& limits = hub_.options.limits;
  reader_.emplace(
      RequestReader::Bounds{.header_bytes = limits.header_bytes, .body_bytes = limits.body_bytes});
  request_ = {};
  route_ = nullptr;
  request_id_.clear();
  keep_ = is_head_ = false;
  Charge(0);
  if (hub_.stopping) return Finish();
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kSmallBuffer) buffer_ = {};
  }
  state_ = State::kIdle;
  SetDeadline(wait_ms);
  Advance();
}

void Connection::ReadMore() {
  if (reading_) return;
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    const std::size_t most = std::max(hub_.options.limits.header_bytes + kSmallBuffer, kBodyBuffer);
    if (buffer_.size() >= most) {
      return AnswerAndClose(Problem(400, StatusTitle(400), "a line of the request is too long"));
    }
    buffer_.resize(std::clamp(buffer_.size() * 2, kSmallBuffer, most));
  }
  reading_ = true;
  wire_.ReadSome({buffer_.data() + end_, buffer_.size() - end_},
                 [self = shared_from_this()](NetError ec, std::size_t size) {
                   self->reading_ = false;
                   self->OnRead(ec, size);
                 });
}

void Connection::OnRead(NetError ec, std::size_t size) {
  switch (state_) {
    case State::kIdle:
      if (ec) return Finish();
      break;
    case State::kHead:
    case State::kBody:
      if (ec == asio::error::eof) {
        return AnswerAndClose(Problem(400, StatusTitle(400), "the request ends in its middle"));
      }
      if (ec) return Finish();
      break;
    case State::kStreaming:
      // Whatever comes is of no use; what matters is the end, which tells that nobody listens.
      if (ec) return Finish();
      begin_ = end_ = 0;
      return ReadMore();
    case State::kLinger:
      if (ec) return Finish();
      return Discard();
    case State::kHandshake:
    case State::kHandling:
    case State::kWriting:
    case State::kClosed:
      return;
  }
  end_ += size;
  Advance();
}

/// Takes what there is of a request.
void Connection::Advance() {
  while (true) {
    const Progress progress = reader_->Feed(Input());
    if (progress.used > 0 || !Input().empty()) {
      if (state_ == State::kIdle) {
        state_ = State::kHead;
        if (!is_fresh_) SetDeadline(hub_.options.limits.header_ms);  // else since the accept
      }
    }
    begin_ += progress.used;
    switch (progress.step) {
      case Step::kBad:
        return AnswerAndClose(
            Problem(reader_->status(), StatusTitle(reader_->status()), reader_->fault()));
      case Step::kHead:
        return OnHead();
      case Step::kDone:
        return OnRequest();
      case Step::kNeedMore:
        if (state_ == State::kBody && !Charge(reader_->body_size())) {
          return AnswerAndClose(
              Problem(503, StatusTitle(503), "too many requests are being read just now"));
        }
        if (progress.used > 0 && !Input().empty()) continue;
        return ReadMore();
    }
  }
}

void Connection::OnHead() {
  const RequestHead& head = reader_->head();
  request_id_ = head.request_id;
  is_head_ = head.method == "HEAD";
  if (auto problem = JudgeHead()) {
    // What is wrong with the head says nothing of the body, which is neither read nor skipped.
    if (head.has_body) return AnswerAndClose(*std::move(problem));
    keep_ = head.keep_alive;
    return Answer(*std::move(problem));
  }
  keep_ = head.keep_alive;
  if (!head.has_body) return OnRequest();
  state_ = State::kBody;
  SetDeadline(hub_.options.limits.body_ms);
  if (!head.expects_continue || !Input().empty() || head.minor_version == 0) return Advance();
  writing_ = true;
  wire_.Write("HTTP/1.1 100 Continue\r\n\r\n", "",
              [self = shared_from_this()](NetError ec, std::size_t /*size*/) {
                self->writing_ = false;
                if (self->state_ != State::kBody) return;
                if (ec) return self->Finish();
                self->Advance();
              });
}

std::optional<HttpResponse> Connection::JudgeHead() {
  const RequestHead& head = reader_->head();
  if (!head.known_method) {
    return Problem(501, StatusTitle(501), base::Format("no method {}", base::Quote(head.method)));
  }
  auto target = ParseTarget(head.target);
  if (!target) return Problem(target.error());
  if (auto problem = CheckHost(*target)) return problem;
  Match match = FindRouteIn(hub_.routes, head.method, target->raw_path);
  if (match.route == nullptr) return std::move(match.problem);
  route_ = match.route;
  request_.method = head.method;
  request_.path = std::move(target->path);
  request_.parameters = std::move(match.parameters);
  request_.query = std::move(target->query);
  request_.content_type = head.content_type;
  request_.idempotency_key = head.idempotency_key;
  request_.last_event_id = head.last_event_id;
  if (auto problem = Identify()) return problem;
  return CheckHead(*route_, request_);
}

std::optional<HttpResponse> Connection::CheckHost(const RequestTarget& target) const {
  const RequestHead& head = reader_->head();
  const std::string_view authority = target.authority.empty() ? head.host : target.authority;
  if (authority.empty() && head.minor_version == 0) return std::nullopt;
  const std::optional<std::string> host = HostOf(authority);
  if (!host && !authority.empty()) {
    return Problem(400, StatusTitle(400),
                   base::Format("the host {} is malformed", base::Quote(authority)));
  }
  if (!origin_.on_loopback) return std::nullopt;
  if (host && IsLoopbackName(*host, hub_.options.host_names)) return std::nullopt;
  return Problem(421, StatusTitle(421),
                 base::Format("this server is not called {}; call it localhost, or start it with "
                              "that name among its host names",
                              base::Quote(authority)));
}

std::optional<HttpResponse> Connection::Identify() {
  token_.clear();
  request_.caller = {};
  if (!reader_->head().authorization.empty()) {
    auto problem = IdentifyByToken();
    // A route that is open to anybody is open to those with a bad token, too.
    if (!problem || !route_->open) return problem;
  }
  if (peer_caller_) {
    request_.caller = *peer_caller_;
    return Own(base::Format("uid {}", origin_.peer.uid));
  }
  request_.caller.from = origin_.address;
  if (route_->open) return std::nullopt;
  return Unauthorized("this needs a token: send `Authorization: Bearer TOKEN`", false);
}

std::optional<HttpResponse> Connection::IdentifyByToken() {
  const std::string_view token = BearerOf(reader_->head().authorization);
  if (token.empty()) return Unauthorized("the only scheme of Authorization is Bearer", false);
  if (!hub_.options.authenticate) return Unauthorized("this server takes no tokens", true);
  auto caller = hub_.options.authenticate(token);
  if (!caller) {
    if (caller.error().code != base::ErrorCode::kNotAllowed) return Problem(caller.error());
    return Unauthorized(caller.error().ToString(), true);
  }
  const std::string from =
      origin_.is_unix ? base::Format("socket, pid {}", origin_.peer.pid) : origin_.address;
  request_.caller = *std::move(caller);
  request_.caller.from = request_.caller.from.empty() ? from : from + ", " + request_.caller.from;
  token_ = token;
  return Own("token " + HashOf(token));
}

/// From now on the connection counts as one of `owner`.
std::optional<HttpResponse> Connection::Own(const std::string& owner) {
  if (owner_ == owner) return std::nullopt;
  if (!hub_.Take(owner)) {
    return TooMany("this caller", hub_.options.limits.connections_per_user);
  }
  hub_.Give(owner_);
  owner_ = owner;
  return std::nullopt;
}

/// Counts `bytes` as what this connection keeps in memory; false when all keep too much.
bool Connection::Charge(std::size_t bytes) {
  hub_.buffered = hub_.buffered - charged_ + bytes;
  charged_ = bytes;
  return bytes == 0 || hub_.buffered <= hub_.options.limits.buffered_bytes;
}

void Connection::Tick(Clock::time_point now) {
  if (state_ == State::kStreaming) return TickStream(now);
  if (now < deadline_) return;
  switch (state_) {
    case State::kHead:
      return AnswerAndClose(
          Problem(408, StatusTitle(408),
                  base::Format("no whole head within {} ms", hub_.options.limits.header_ms)));
    case State::kBody:
      if (writing_) return Finish();
      return AnswerAndClose(
          Problem(408, StatusTitle(408),
                  base::Format("no whole body within {} ms", hub_.options.limits.body_ms)));
    case State::kHandling:
      return OnAnswer(serial_, Problem(503, StatusTitle(503),
                                       "there is no answer yet; what was asked may still happen: "
                                       "look before asking again"));
    default:
      return Finish();
  }
}

void Connection::Drain() {
  switch (state_) {
    case State::kHead:
    case State::kBody:
    case State::kHandling:
    case State::kWriting:
      return;  // gets its answer, and then finds that the server stops
    case State::kLinger:
      return SetDeadline(kStoppingLingerMs);
    case State::kStreaming:
      drain_ = true;
      if (!writing_) Send({.cursor = cursor_, .end = true});
      return;
    default:
      return Finish();
  }
}

}  // namespace muster::api
