// SPDX-License-Identifier: Apache-2.0
#include "api/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "api/client_address.h"
#include "api/client_events.h"
#include "api/connection_reader.h"
#include "api/connection_wire.h"
#include "api/listen.h"
#include "api/tls.h"
#include "base/strings.h"
#include "format/json.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;
using base::Status;
using Clock = std::chrono::steady_clock;
using Step = Progress::Step;

/// Largest body of a response.
constexpr std::size_t kMaxBody = std::size_t{256} << 20;
/// A stream that says nothing for this long is broken: the server comments every 15 s.
constexpr std::int64_t kSilenceMs = 45'000;

bool IsHeaderSafe(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

class HttpClient final : public Client {
 public:
  HttpClient(Target target, ServerAddress address, TlsContext tls)
      : target_(std::move(target)), address_(std::move(address)), tls_(std::move(tls)) {}

  base::Result<ClientResponse> Call(std::string_view method, std::string_view target,
                                    std::string_view body, const Headers& headers) override {
    const auto text = Compose(method, target, body, headers);
    if (!text) return text.error();
    const bool may_repeat =
        method == "GET" || method == "HEAD" ||
        std::ranges::find(headers, "Idempotency-Key", &Headers::value_type::first) != headers.end();
    while (true) {
      SetDeadline(target_.timeout_ms);
      const bool reused = IsUsable();
      ResponseReader reader({.body_bytes = kMaxBody, .no_body = method == "HEAD"});
      auto response = Exchange(*text, reader);
      if (response) return response;
      wire_.reset();
      // The server may have closed what was kept open just before the request reached it.
      if (!reused || !may_repeat || reader.started()) return response;
    }
  }

  Status Stream(std::string_view target, const Headers& headers,
                const std::function<bool(std::string_view, std::string_view, std::string_view)>&
                    take) override {
    Headers all = headers;
    all.emplace_back("Accept", "text/event-stream");
    const auto text = Compose("GET", target, "", all);
    if (!text) return text.error();
    wire_.reset();
    SetDeadline(target_.timeout_ms);
    const Status status = ReadStream(*text, take);
    wire_.reset();
    return status;
  }

 private:
  base::Result<std::string> Compose(std::string_view method, std::string_view target,
                                    std::string_view body, const Headers& headers) const {
    std::string text =
        base::Format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, target, address_.authority);
    bool safe = !target.empty() && target.front() == '/' && IsHeaderSafe(target) &&
                target.find(' ') == std::string_view::npos && IsHeaderSafe(target_.token);
    for (const auto& [name, value] : headers) {
      safe = safe && IsHeaderSafe(name) && IsHeaderSafe(value);
      text += base::Format("{}: {}\r\n", name, value);
    }
    if (!safe) {
      return Error{ErrorCode::kInvalid, base::Format("the request of {} holds a character that "
                                                     "cannot be sent: encode it",
                                                     base::Quote(target))};
    }
    if (!target_.token.empty()) {
      text += base::Format("Authorization: Bearer {}\r\n", target_.token);
    }
    if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
      text += base::Format("Content-Length: {}\r\n", body.size());
    }
    return text + "\r\n" + std::string(body);
  }

  base::Result<ClientResponse> Exchange(std::string_view text, ResponseReader& reader) {
    if (const Status connected = Connect(); !connected) return connected.error();
    const Status written = Write(text);
    // A server may answer before it has read all, and close: the answer says more than the fault.
    if (!written && !IsAlive()) return written.error();
    std::string body;
    while (true) {
      const auto step = ReadOn(reader);
      if (!step) return written ? step.error() : written.error();
      body += reader.TakeBody();
      if (*step == Step::kDone) break;
    }
    ClientResponse response{
        .status = reader.status(), .content_type = reader.content_type(), .body = std::move(body)};
    if (!reader.keep_alive() || !written) wire_.reset();
    return response;
  }

  Status ReadStream(std::string_view text, const EventReader::Take& take) {
    if (const Status connected = Connect(); !connected) return connected.error();
    if (const Status written = Write(text); !written) return written.error();
    ResponseReader reader({});
    EventReader events;
    ClientResponse refusal;
    while (true) {
      const auto step = ReadOn(reader);
      if (!step) return step.error();
      const std::string body = reader.TakeBody();
      if (*step != Step::kNeedMore || !body.empty()) {
        SetDeadline(std::max(target_.timeout_ms, kSilenceMs));
      }
      if (reader.status() != 200) {
        refusal.body += body;
        if (*step != Step::kDone && refusal.body.size() < kMaxEvent) continue;
        refusal.status = reader.status();
        refusal.content_type = reader.content_type();
        return ErrorOf(refusal);
      }
      const auto go_on = events.Feed(body, take);
      if (!go_on) return go_on.error();
      if (!*go_on || *step == Step::kDone) return {};
    }
  }

  // The event loop runs only inside these calls, so that a completion may refer to their locals.

  void SetDeadline(std::int64_t from_now_ms) {
    deadline_ = Clock::now() + std::chrono::milliseconds(from_now_ms);
  }

  Error Unavailable(std::string_view what) const {
    return {ErrorCode::kUnavailable, base::Format("{}: {}", target_.address, what)};
  }

  /// Runs until `done`, or until the time is up: then the connection is closed.
  Status RunUntil(const bool& done) {
    io_.restart();
    while (!done && io_.run_one_until(deadline_) > 0) {
    }
    if (done) return {};
    wire_->Close();
    io_.restart();
    io_.run();
    return Unavailable(base::Format("no answer within {} ms", target_.timeout_ms));
  }

  template <class Start>
  Status Await(const Start& start) {
    bool done = false;
    NetError result;
    start([&done, &result](NetError ec, std::size_t /*size*/ = 0) {
      done = true;
      result = ec;
    });
    if (const Status in_time = RunUntil(done); !in_time) return in_time.error();
    if (result) return Unavailable(result.message());
    return {};
  }

  bool IsAlive() const { return wire_ != nullptr && wire_->fd() >= 0; }

  /// An open connection on which nothing has come: neither an end nor an answer to nobody.
  bool IsUsable() {
    if (!IsAlive() || !input_.empty()) return false;
    pollfd entry{.fd = wire_->fd(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 0;
  }

  Status Connect() {
    if (IsUsable()) return {};
    const auto addresses = Resolve(address_);
    if (!addresses) return addresses.error();
    Status last = Unavailable("no address");
    for (const SystemAddress& address : *addresses) {
      last = ConnectTo(address);
      if (last || Clock::now() >= deadline_) break;
    }
    if (!last) wire_.reset();
    return last;
  }

  Status ConnectTo(const SystemAddress& address) {
    input_.clear();
    posix::Descriptor made(::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.IsOpen()) return Unavailable("cannot make a socket");
    Socket socket(io_);
    NetError ec;
    socket.assign(asio::generic::stream_protocol(address.family, 0), made.number(), ec);
    if (ec) return Unavailable(ec.message());
    made.Release();
    wire_ = std::make_unique<Wire>(std::move(socket), tls_.get());
    const asio::generic::stream_protocol::endpoint to(address.bytes.data(), address.bytes.size());
    if (const Status connected = Await([&](auto done) { wire_->Connect(to, done); }); !connected) {
      return connected.error();
    }
    if (tls_ == nullptr) return {};
    const Status greeted = Await([&](auto done) { wire_->HandshakeAsClient(address_.host, done); });
    const std::string fault = greeted ? "" : wire_->CertificateFault();
    if (!fault.empty()) {
      return Unavailable(base::Format("the server's certificate is not to be trusted: {}", fault));
    }
    return greeted;
  }

  Status Write(std::string_view text) {
    return Await([&](auto done) { wire_->Write(text, "", done); });
  }

  /// Feeds the reader with what is there, or with what comes next.
  base::Result<Step> ReadOn(ResponseReader& reader) {
    Progress progress = reader.Feed(input_);
    input_.erase(0, progress.used);
    if (progress.step == Step::kNeedMore && progress.used == 0) {
      std::array<char, 16 * 1024> chunk;
      std::size_t size = 0;
      const Status read = Await([&](auto done) {
        wire_->ReadSome(chunk, [done, &size](NetError ec, std::size_t n) mutable {
          size = n;
          // An end is no fault by itself: some answers end with the connection.
          done(ec == asio::error::eof ? NetError{} : ec);
        });
      });
      if (!read) return read.error();
      input_.append(chunk.data(), size);
      if (size == 0) progress = reader.FeedEnd();
    }
    if (progress.step == Step::kBad) {
      return Unavailable(base::Format("the answer broke off or is malformed: {}", reader.fault()));
    }
    if (progress.step == Step::kHead && reader.status() / 100 == 1) {
      return Unavailable("an interim answer that was not asked for");
    }
    return progress.step;
  }

  const Target target_;
  const ServerAddress address_;
  const TlsContext tls_;
  asio::io_context io_{1};
  std::unique_ptr<Wire> wire_;
  std::string input_;  ///< read, not yet used
  Clock::time_point deadline_;
};

ErrorCode CodeOf(int status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
      return ErrorCode::kInvalid;
    case 401:
    case 403:
      return ErrorCode::kNotAllowed;
    case 404:
    case 405:
      return ErrorCode::kNotFound;
    case 408:
    case 503:
    case 504:
      return ErrorCode::kUnavailable;
    case 409:
    case 421:
    case 422:
    case 429:
      return ErrorCode::kRefused;
    case 507:
      return ErrorCode::kExhausted;
    default:
      return status >= 400 && status < 500 ? ErrorCode::kInvalid : ErrorCode::kIo;
  }
}

std::string TextOf(const format::Value& map, std::string_view key) {
  const format::Value* const value = map.Find(key);
  return value != nullptr && value->kind == format::Value::Kind::kScalar ? value->text : "";
}

/// The faults of problem details that list several, a line each.
std::string FaultsOf(const format::Value& problem) {
  const format::Value* const list = problem.Find("errors");
  std::vector<std::string> lines;
  if (list == nullptr) return "";
  for (const format::Value& item : list->items) {
    const std::string where = TextOf(item, "where");
    lines.push_back(where.empty() ? TextOf(item, "message")
                                  : where + ": " + TextOf(item, "message"));
  }
  return base::Join(lines, "\n");
}

}  // namespace

base::Result<std::unique_ptr<Client>> Client::Make(const Target& target) {
  auto address = ParseServerAddress(target.address);
  if (!address) return address.error();
  if (!target.token.empty() && !address->tls && !StaysHere(*address)) {
    return Error{ErrorCode::kRefused,
                 base::Format("will not send a token to {}, where the network could read it: use "
                              "https",
                              target.address)};
  }
  TlsContext tls;
  if (address->tls) {
    auto made = MakeClientTls(target.ca_certificate);
    if (!made) return made.error();
    tls = *std::move(made);
  }
  return std::make_unique<HttpClient>(target, *std::move(address), std::move(tls));
}

Error ErrorOf(const ClientResponse& response) {
  Error error{.code = CodeOf(response.status)};
  if (response.content_type.starts_with("application/problem+json")) {
    const auto parsed = format::ParseJson(response.body, "the answer");
    if (parsed && !parsed->documents.empty()) {
      const format::Value& problem = parsed->documents.front();
      error.message = FaultsOf(problem);
      if (error.message.empty()) error.message = TextOf(problem, "detail");
      if (error.message.empty()) error.message = TextOf(problem, "title");
    }
  }
  if (error.message.empty()) {
    error.message = base::Format("the server answered with status {}: {}", response.status,
                                 base::Quote(response.body));
  }
  return error;
}

}  // namespace muster::api
