// SPDX-License-Identifier: Apache-2.0
// One connection of the server: requests in, answers and streams out, a deadline at every step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "api/connection_reader.h"
#include "api/connection_wire.h"
#include "api/dispatch.h"
#include "api/http_server.h"
#include "api/http_server_target.h"

namespace muster::api {

using Clock = std::chrono::steady_clock;

/// How long a peer may take to read our last words when the server stops.
inline constexpr std::int64_t kStoppingLingerMs = 250;

class Connection;

/// What all connections share. Of the transport's thread alone.
class Hub {
 public:
  Hub(server::Front& the_front, HttpOptions the_options);

  server::Front& front;
  const HttpOptions options;
  const std::span<const Route> routes;
  const std::shared_ptr<asio::io_context> io;
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::size_t buffered = 0;  ///< bytes of bodies and answers
  std::size_t refused = 0;   ///< connections that are only told that there are too many
  bool stopping = false;
  std::function<void()> on_last_gone;  ///< called while stopping, when no connection is left

  /// Counts one more connection of `owner`; false, and not counted, when there are too many.
  bool Take(const std::string& owner);
  void Give(const std::string& owner);
  std::string NewRequestId();
  /// "Tue, 15 Nov 1994 08:12:31 GMT", of now.
  const std::string& Date();

 private:
  std::map<std::string, std::size_t> by_owner_;
  std::string id_prefix_;
  std::uint64_t last_id_ = 0;
  std::int64_t date_second_ = -1;
  std::string date_;
};

/// Where a connection came from.
struct Origin {
  bool is_unix = false;
  Peer peer;                 ///< of a Unix socket
  std::string address;       ///< of TCP, numeric
  bool on_loopback = false;  ///< the listener is on a loopback address
  asio::ssl::context* tls = nullptr;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Hub& hub, Socket socket, Origin origin);

  void Start();
  /// Instead of `Start`: says no and closes.
  void Refuse(HttpResponse response);
  /// Ends what is over its time, asks streams that are due.
  void Tick(Clock::time_point now);
  /// There is something new to tell.
  void Wake();
  /// The server stops: ends at once what waits, lets the rest finish.
  void Drain();
  /// Closes and forgets the connection; the object lives until its operations have ended.
  void Finish();
  /// The answer to request `serial`; dropped unless that is the one at hand.
  void OnAnswer(std::uint64_t serial, HttpResponse response);

 private:
  enum class State : std::uint8_t {
    kHandshake,  ///< of TLS
    kIdle,       ///< nothing of a request has come
    kHead,
    kBody,
    kHandling,  ///< the handler has it
    kWriting,
    kStreaming,
    kLinger,  ///< we have said all; the peer may not have read it yet
    kClosed,
  };

  // Reading: connection.cc.
  void BeginRequest(std::int64_t wait_ms);
  void ReadMore();
  void OnRead(NetError ec, std::size_t size);
  void Advance();
  void OnHead();
  void ReadBody();
  void OnRequest();
  /// Fills `request_` and `route_`, or says what is wrong. Cheap checks first, identity last.
  std::optional<HttpResponse> JudgeHead();
  std::optional<HttpResponse> CheckHost(const RequestTarget& target) const;
  std::optional<HttpResponse> Identify();
  std::optional<HttpResponse> IdentifyByToken();
  std::optional<HttpResponse> Own(const std::string& owner);
  bool Charge(std::size_t bytes);

  // Writing: connection_answer.cc.
  void Answer(HttpResponse response);
  void AnswerAndClose(HttpResponse response);
  std::string HeadOf(const HttpResponse& response, std::optional<std::size_t> length) const;
  void OnWritten(NetError ec);
  void Linger();
  void Discard();

  // Streams: stream.cc.
  void StartStream();
  StreamPart Ask();
  void Pump();
  void Send(StreamPart part);
  void SendText(std::string text);
  void OnStreamWritten(NetError ec);
  void TickStream(Clock::time_point now);
  bool StillKnown();

  void SetDeadline(std::int64_t from_now_ms);
  std::string_view Input() const { return {buffer_.data() + begin_, end_ - begin_}; }

  Hub& hub_;
  Origin origin_;
  Wire wire_;
  State state_ = State::kIdle;
  Clock::time_point deadline_;
  std::string owner_;  ///< by whom it is counted
  std::optional<server::Caller> peer_caller_;
  bool is_refused_ = false;
  bool is_fresh_ = true;  ///< nothing was answered yet

  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool reading_ = false;
  bool writing_ = false;

  std::optional<RequestReader> reader_;
  HttpRequest request_;
  const Route* route_ = nullptr;
  std::string request_id_;
  std::string token_;  ///< that identified the caller; empty: none
  bool keep_ = false;
  bool is_head_ = false;
  std::uint64_t serial_ = 0;
  std::size_t charged_ = 0;
  std::string out_head_;
  std::string out_body_;

  // Of a stream.
  std::string cursor_;
  bool chunked_ = false;
  bool ending_ = false;     ///< the last part is on its way
  bool drain_ = false;      ///< is to end as soon as what is on its way is out
  bool ask_again_ = false;  ///< woken, or sent something, while a part was on its way
  Clock::time_point next_poll_;
  Clock::time_point next_comment_;
  Clock::time_point next_check_;
};

}  // namespace muster::api
