// SPDX-License-Identifier: Apache-2.0
// What the transport's tests share: a front and routes of their own, raw sockets, a server that is
// started with them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/client.h"
#include "api/http_server.h"

namespace muster::api {

/// Knows a list of texts that streams tell, and keeps answers that are to be given later.
class FakeFront final : public server::Front {
 public:
  void Post(server::Request request, server::Answer answer) override;
  server::PicturePtr Look() const override { return nullptr; }
  void OnPublish(std::function<void()> wake) override;
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest& request) const override;

  /// Adds an event and rings.
  void Publish(const std::string& text);
  /// Adds an event and does not ring.
  void AddQuietly(const std::string& text);
  std::vector<std::string> EventsAfter(std::size_t cursor) const;

  void Keep(Respond respond);
  /// Waits for `count` kept answers and takes them.
  std::vector<Respond> TakeKept(std::size_t count);

  std::atomic<int> stream_asks = 0;
  std::atomic<bool> streams_end = false;
  std::atomic<std::size_t> part_bytes = 0;  ///< not 0: every part is this long, without end

 private:
  mutable std::mutex mutex_;
  std::condition_variable kept_changed_;
  std::function<void()> wake_;
  std::vector<std::string> events_;
  std::vector<Respond> kept_;
};

/// GET /healthz (open), GET /v1/whoami, GET /v1/things/{id}, POST and GET /v1/echo, POST /v1/job
/// (a document), GET /v1/later, /v1/dropped, /v1/twice, /v1/throws, /v1/odd, /v1/big?bytes=,
/// GET /v1/events (stream), GET /v1/admin.
std::span<const Route> TestRoutes();

/// Tokens: "user-token" (role user), "other-token" (role user), "admin-token".
base::Result<server::Caller> TestAuthenticate(std::string_view token);
server::Caller TestIdentify(const Peer& peer);

/// A folder that goes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// What came of one response.
struct RawResponse {
  int status = 0;  ///< 0: the connection ended first
  std::string head;
  std::string body;
  /// The value of the header, or "(none)".
  std::string Header(std::string_view name) const;
};

/// A socket of its own, for saying what no client would say. Reads give up after 20 s, so that a
/// server that hangs fails the test.
class RawSocket {
 public:
  static RawSocket Unix(const std::string& path);
  static RawSocket Tcp(std::uint16_t port);
  explicit RawSocket(int fd) : fd_(fd) {}
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket();

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// False when the peer is gone.
  bool Send(std::string_view text);
  void CloseSend();
  /// One response with a Content-Length, or the head alone of another.
  RawResponse Receive(bool no_body = false);
  /// Everything up to the end of the connection.
  std::string ReceiveAll();
  /// Up to and with `end`; less when the connection ends.
  std::string ReceiveUntil(std::string_view end);

 private:
  bool Fill();
  int fd_ = -1;
  std::string input_;
};

/// Listens on a port of its own and gives each connection, one after the other, to `serve`.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::function<void(RawSocket&)> serve);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  std::string address() const;

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// A server on a Unix socket and on TCP, both on one front.
class HttpTest : public testing::Test {
 protected:
  HttpTest();
  /// The options of `Start`, to be changed before it.
  HttpOptions options;
  void Start();
  std::string socket_path() const { return folder / "s"; }
  RawSocket OpenUnix() const { return RawSocket::Unix(socket_path()); }
  RawSocket OpenTcp() const { return RawSocket::Tcp(server->port()); }
  std::unique_ptr<Client> MakeClient(const std::string& token = "") const;
  std::string TcpAddress(std::string_view scheme = "http") const;

  TemporaryFolder folder;
  FakeFront front;
  std::unique_ptr<HttpServer> server;
};

/// "GET /path HTTP/1.1" with a host, further header lines, and an end.
std::string Get(std::string_view target, std::string_view more_headers = "");
std::string Post(std::string_view target, std::string_view body,
                 std::string_view more_headers = "");
/// Without its last two bytes.
inline std::string AllButTheEnd(const std::string& text) { return text.substr(0, text.size() - 2); }

}  // namespace muster::api
