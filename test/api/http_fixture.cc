// SPDX-License-Identifier: Apache-2.0
#include "test/api/http_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/strings.h"

namespace muster::api {
namespace {

FakeFront& Fake(server::Front& front) { return static_cast<FakeFront&>(front); }

std::size_t NumberOf(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void Ok(server::Front& /*front*/, const HttpRequest& /*request*/, Respond respond) {
  respond({.content_type = "text/plain", .body = "ok"});
}

void WhoAmI(server::Front& /*front*/, const HttpRequest& request, Respond respond) {
  respond({.content_type = "text/plain",
           .body = base::Format("{}|{}|{}", request.caller.account.user,
                                server::Name(request.caller.role), request.caller.from)});
}

void Thing(server::Front& /*front*/, const HttpRequest& request, Respond respond) {
  std::string body = request.path + "|" + request.parameters.at("id");
  for (const auto& [name, value] : request.query) body += base::Format("|{}={}", name, value);
  respond({.content_type = "text/plain", .body = body});
}

void Echo(server::Front& /*front*/, const HttpRequest& request, Respond respond) {
  respond({.status = 201,
           .content_type = "text/plain",
           .body = request.idempotency_key + "|" + request.body});
}

void Later(server::Front& front, const HttpRequest& /*request*/, Respond respond) {
  Fake(front).Keep(std::move(respond));
}

void Dropped(server::Front& /*front*/, const HttpRequest& /*request*/, Respond /*respond*/) {}

void Twice(server::Front& /*front*/, const HttpRequest& /*request*/, Respond respond) {
  respond({.body = "first"});
  respond({.body = "second"});
}

void Throws(server::Front& /*front*/, const HttpRequest& /*request*/, Respond /*respond*/) {
  throw std::runtime_error("out of ideas");
}

void Odd(server::Front& /*front*/, const HttpRequest& /*request*/, Respond respond) {
  respond({.body = "x",
           .headers = {{"X-Good", "yes"},
                       {"X-Bad", "a\r\nX-Injected: 1"},
                       {"Bad Name", "x"},
                       {"Content-Length", "99"},
                       {"Cache-Control", "max-age=5"}}});
}

void Big(server::Front& /*front*/, const HttpRequest& request, Respond respond) {
  respond({.content_type = "text/plain",
           .body = std::string(NumberOf(request.query.at("bytes")), 'x')});
}

StreamPart Events(server::Front& front, const HttpRequest& request, const std::string& cursor) {
  FakeFront& fake = Fake(front);
  ++fake.stream_asks;
  if (request.query.contains("missing")) {
    return {.instead = Problem(404, "Not Found", "no such stream")};
  }
  if (const std::size_t bytes = fake.part_bytes; bytes > 0) {
    return {.text = "data: " + std::string(bytes, 'x') + "\n\n", .cursor = cursor};
  }
  const std::size_t from = NumberOf(cursor);
  StreamPart part{.cursor = cursor};
  std::size_t id = from;
  for (const std::string& event : fake.EventsAfter(from)) {
    part.text += base::Format("id: {}\nevent: note\ndata: {}\n\n", ++id, event);
  }
  part.cursor = std::to_string(id);
  part.end = fake.streams_end && part.text.empty();
  return part;
}

}  // namespace

void FakeFront::Post(server::Request /*request*/, server::Answer answer) {
  answer(base::Error{base::ErrorCode::kUnavailable, "a fake"});
}

void FakeFront::OnPublish(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

base::Result<driver::LogChunk> FakeFront::ReadLog(const driver::LogRequest& /*request*/) const {
  return base::Error{base::ErrorCode::kNotFound, "a fake"};
}

void FakeFront::Publish(const std::string& text) {
  const std::lock_guard lock(mutex_);
  events_.push_back(text);
  if (wake_) wake_();
}

void FakeFront::AddQuietly(const std::string& text) {
  const std::lock_guard lock(mutex_);
  events_.push_back(text);
}

std::vector<std::string> FakeFront::EventsAfter(std::size_t cursor) const {
  const std::lock_guard lock(mutex_);
  if (cursor >= events_.size()) return {};
  return {events_.begin() + static_cast<std::ptrdiff_t>(cursor), events_.end()};
}

void FakeFront::Keep(Respond respond) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(respond));
  kept_changed_.notify_all();
}

std::vector<Respond> FakeFront::TakeKept(std::size_t count) {
  std::unique_lock lock(mutex_);
  const auto all_are_there = [&] { return kept_.size() >= count; };
  if (!kept_changed_.wait_for(lock, std::chrono::seconds(20), all_are_there)) {
    ADD_FAILURE() << kept_.size() << " of " << count << " requests came within 20 s";
    kept_.resize(count, [](const HttpResponse&) {});
  }
  return std::exchange(kept_, {});
}

std::span<const Route> TestRoutes() {
  using server::Role;
  static const std::vector<Route> kRoutes = {
      {.method = "GET", .pattern = "/healthz", .id = "health", .open = true, .handle = &Ok},
      {.method = "GET", .pattern = "/v1/whoami", .id = "whoAmI", .handle = &WhoAmI},
      {.method = "GET", .pattern = "/v1/openid", .id = "open", .open = true, .handle = &WhoAmI},
      {.method = "GET",
       .pattern = "/v1/things/{id}",
       .id = "thing",
       .query = {{"limit", "integer", ""}, {"all", "boolean", ""}, {"name", "string", ""}},
       .handle = &Thing},
      {.method = "GET", .pattern = "/v1/things/mine", .id = "mine", .handle = &Ok},
      {.method = "POST", .pattern = "/v1/echo", .id = "echo", .request = "Text", .handle = &Echo},
      {.method = "GET", .pattern = "/v1/later", .id = "later", .handle = &Later},
      {.method = "POST", .pattern = "/v1/act", .id = "act", .role = Role::kUser, .handle = &Ok},
      {.method = "GET", .pattern = "/v1/dropped", .id = "dropped", .handle = &Dropped},
      {.method = "GET", .pattern = "/v1/twice", .id = "twice", .handle = &Twice},
      {.method = "GET", .pattern = "/v1/throws", .id = "throws", .handle = &Throws},
      {.method = "GET", .pattern = "/v1/odd", .id = "odd", .handle = &Odd},
      {.method = "GET",
       .pattern = "/v1/big",
       .id = "big",
       .query = {{"bytes", "integer", ""}},
       .handle = &Big},
      {.method = "GET",
       .pattern = "/v1/events",
       .id = "events",
       .query = {{"missing", "string", ""}},
       .stream = &Events},
      {.method = "GET", .pattern = "/v1/admin", .id = "admin", .role = Role::kAdmin, .handle = &Ok},
  };
  return kRoutes;
}

base::Result<server::Caller> TestAuthenticate(std::string_view token) {
  if (token == "user-token") {
    return server::Caller{.account = {.uid = 7, .gid = 7, .user = "uma"},
                          .role = server::Role::kUser,
                          .from = "token ci"};
  }
  if (token == "other-token") {
    return server::Caller{.account = {.uid = 8, .gid = 8, .user = "otto"},
                          .role = server::Role::kUser};
  }
  if (token == "attempt-token") {
    return server::Caller{.account = {.uid = 7, .gid = 7, .user = "uma"},
                          .role = server::Role::kUser,
                          .attempt = driver::GangId{model::JobId{1}, model::Attempt{1}}};
  }
  if (token == "broken-token") {
    return base::Error{base::ErrorCode::kUnavailable, "tokens cannot be looked up now"};
  }
  return base::Error{base::ErrorCode::kNotAllowed, "unknown token"};
}

server::Caller TestIdentify(const Peer& peer) {
  return {.account = {.uid = peer.uid, .gid = peer.gid, .user = base::Format("#{}", peer.uid)},
          .role = server::Role::kUser,
          .from = base::Format("socket, pid {}", peer.pid)};
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = "/tmp/muster-api-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string RawResponse::Header(std::string_view name) const {
  for (const std::string_view line : base::Split(head, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(": ")) {
      return std::string(base::Trim(line.substr(name.size() + 2)));
    }
  }
  return "(none)";
}

namespace {

template <class Address>
int ConnectTo(int family, const Address& address) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

RawSocket RawSocket::Unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(static_cast<char*>(address.sun_path), path.data(), path.size());
  return RawSocket(ConnectTo(AF_UNIX, address));
}

RawSocket RawSocket::Tcp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return RawSocket(ConnectTo(AF_INET, address));
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), input_(std::move(other.input_)) {}

RawSocket::~RawSocket() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawSocket::Send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawSocket::CloseSend() { ::shutdown(fd_, SHUT_WR); }

bool RawSocket::Fill() {
  std::array<char, 16384> chunk;
  const ssize_t got = ::recv(fd_, chunk.data(), chunk.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    ADD_FAILURE() << "nothing came for 20 s; so far: " << input_.substr(0, 2000);
  }
  if (got <= 0) return false;
  input_.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

std::string RawSocket::ReceiveUntil(std::string_view end) {
  std::size_t at = 0;
  while ((at = input_.find(end)) == std::string::npos) {
    if (!Fill()) return std::exchange(input_, "");
  }
  std::string text = input_.substr(0, at + end.size());
  input_.erase(0, at + end.size());
  return text;
}

RawResponse RawSocket::Receive(bool no_body) {
  RawResponse response;
  response.head = ReceiveUntil("\r\n\r\n");
  if (!response.head.starts_with("HTTP/1.1 ")) return response;
  response.status = static_cast<int>(NumberOf(std::string_view(response.head).substr(9)));
  const std::string length = response.Header("Content-Length");
  if (no_body || length == "(none)") return response;
  const std::size_t size = NumberOf(length);
  while (input_.size() < size) {
    if (!Fill()) break;
  }
  response.body = input_.substr(0, size);
  input_.erase(0, size);
  return response;
}

std::string RawSocket::ReceiveAll() {
  while (Fill()) {
  }
  return std::exchange(input_, "");
}

ScriptedServer::ScriptedServer(std::function<void(RawSocket&)> serve)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size);
  ::listen(fd_, 8);
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, serve = std::move(serve)] {
    while (true) {
      RawSocket peer(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.connected()) return;
      serve(peer);
    }
  });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(fd_, SHUT_RDWR);
  thread_.join();
  ::close(fd_);
}

std::string ScriptedServer::address() const { return base::Format("http://127.0.0.1:{}", port_); }

HttpTest::HttpTest() {
  options.socket_path = socket_path();
  options.listen = ":0";
  options.authenticate = &TestAuthenticate;
  options.identify_peer = &TestIdentify;
  options.routes = TestRoutes();
}

void HttpTest::Start() {
  auto started = HttpServer::Start(front, options);
  ASSERT_TRUE(started) << started.error().ToString();
  server = *std::move(started);
}

std::string HttpTest::TcpAddress(std::string_view scheme) const {
  return base::Format("{}://127.0.0.1:{}", scheme, server->port());
}

std::unique_ptr<Client> HttpTest::MakeClient(const std::string& token) const {
  auto client = Client::Make({.address = "unix:" + socket_path(), .token = token});
  EXPECT_TRUE(client) << client.error().ToString();
  return *std::move(client);
}

std::string Get(std::string_view target, std::string_view more_headers) {
  return base::Format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, more_headers);
}

std::string Post(std::string_view target, std::string_view body, std::string_view more_headers) {
  return base::Format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      target, body.size(), more_headers, body);
}

}  // namespace muster::api
