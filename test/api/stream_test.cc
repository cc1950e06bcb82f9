// SPDX-License-Identifier: Apache-2.0
// Server-sent events through a real server: cursors, many readers, slow ones, the end.
#include <sys/socket.h>

#include <thread>

#include "api/client_events.h"
#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

struct Seen {
  std::string id;
  std::string event;
  std::string data;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> Collect(Client& client, std::string_view target, std::size_t count,
                          const Client::Headers& headers = {}) {
  std::vector<Seen> seen;
  const base::Status status = client.Stream(target, headers, [&](auto id, auto event, auto data) {
    seen.push_back({std::string(id), std::string(event), std::string(data)});
    return seen.size() < count;
  });
  EXPECT_TRUE(status) << status.error().ToString();
  return seen;
}

class StreamTest : public HttpTest {};

TEST_F(StreamTest, WhatWasAndWhatComes) {
  front.AddQuietly("a");
  Start();
  std::thread later([this] {
    while (front.stream_asks == 0) std::this_thread::yield();
    front.Publish("b");
    front.Publish("c");
  });
  const auto client = MakeClient();
  EXPECT_EQ(Collect(*client, "/v1/events", 3),
            (std::vector<Seen>{{"1", "note", "a"}, {"2", "note", "b"}, {"3", "note", "c"}}));
  later.join();
}

TEST_F(StreamTest, ACursorTellsWhereToGoOn) {
  for (const char* const text : {"a", "b", "c"}) front.AddQuietly(text);
  Start();
  const auto client = MakeClient();
  const std::vector<Seen> from_b = {{"2", "note", "b"}, {"3", "note", "c"}};
  EXPECT_EQ(Collect(*client, "/v1/events?after=1", 2), from_b);
  EXPECT_EQ(Collect(*client, "/v1/events", 2, {{"Last-Event-ID", "1"}}), from_b);
  EXPECT_EQ(Collect(*client, "/v1/events?after=2", 2, {{"Last-Event-ID", "1"}}), from_b)
      << "the header is the newer of the two: the client sets it when it comes back";
}

TEST_F(StreamTest, TheHeadOfAStream) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/events"));
  const RawResponse response = socket.Receive(true);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(response.Header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(response.Header("Content-Length"), "(none)");
  EXPECT_EQ(response.Header("Cache-Control"), "no-store");
  front.Publish("x");
  EXPECT_EQ(socket.ReceiveUntil("\n\n\r\n"), "1b\r\nid: 1\nevent: note\ndata: x\n\n\r\n");

  RawSocket old = OpenUnix();
  old.Send("GET /v1/events HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Receive(true).Header("Transfer-Encoding"), "(none)");
  EXPECT_EQ(old.ReceiveUntil("\n\n"), "id: 1\nevent: note\ndata: x\n\n");

  RawSocket head = OpenUnix();
  head.Send("HEAD /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(head.ReceiveAll().find("event: note"), std::string::npos);
}

TEST_F(StreamTest, AStreamThatEnds) {
  front.AddQuietly("a");
  front.streams_end = true;
  Start();
  const auto client = MakeClient();
  EXPECT_EQ(Collect(*client, "/v1/events", 99).size(), 1U);
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/events"));
  EXPECT_TRUE(socket.ReceiveAll().ends_with("\n\n\r\n0\r\n\r\n"));
}

TEST_F(StreamTest, AStreamThatIsNone) {
  Start();
  const auto client = MakeClient();
  const base::Status status =
      client->Stream("/v1/events?missing=1", {}, [](auto, auto, auto) { return true; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(status.error().message, "no such stream");
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/events?missing=1") + Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 404);
  EXPECT_EQ(socket.Receive().body, "ok");
}

TEST_F(StreamTest, WithoutAPublishTheRouteIsAskedNowAndThen) {
  options.limits.stream_poll_ms = 5;
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/events"));
  EXPECT_EQ(socket.Receive(true).status, 200);
  front.AddQuietly("quiet");
  EXPECT_NE(socket.ReceiveUntil("\n\n").find("data: quiet"), std::string::npos);
}

TEST_F(StreamTest, AQuietStreamIsKeptAlive) {
  options.limits.stream_comment_ms = 5;
  options.limits.idle_ms = 1;  // counts between requests only
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/events"));
  EXPECT_EQ(socket.Receive(true).status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(socket.ReceiveUntil(":\n\n\r\n"), "3\r\n:\n\n\r\n");
}

TEST_F(StreamTest, ARevokedTokenEndsItsStreams) {
  auto revoked = std::make_shared<std::atomic<bool>>(false);
  options.limits.stream_comment_ms = 5;
  options.authenticate = [revoked](std::string_view token) -> base::Result<server::Caller> {
    if (*revoked) return base::Error{base::ErrorCode::kNotAllowed, "revoked"};
    return TestAuthenticate(token);
  };
  Start();
  RawSocket socket = OpenTcp();
  socket.Send(Get("/v1/events", "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(socket.Receive(true).status, 200);
  *revoked = true;
  EXPECT_TRUE(socket.ReceiveAll().ends_with("0\r\n\r\n"));
}

TEST_F(StreamTest, FiftyReadersMissNothing) {
  constexpr int kReaders = 50;
  constexpr std::size_t kEvents = 100;
  Start();
  std::vector<std::vector<Seen>> seen(kReaders);
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([this, i, &seen] {
      const auto client = *Client::Make(
          {.address = i % 2 == 0 ? "unix:" + socket_path() : TcpAddress(), .token = "user-token"});
      seen[static_cast<std::size_t>(i)] = Collect(*client, "/v1/events", kEvents);
    });
  }
  for (std::size_t i = 0; i < kEvents; ++i) {
    front.Publish(std::to_string(i));
    if (i % 10 == 0) std::this_thread::yield();
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::vector<Seen>& one : seen) {
    ASSERT_EQ(one.size(), kEvents);
    for (std::size_t i = 0; i < kEvents; ++i) {
      ASSERT_EQ(one[i], (Seen{std::to_string(i + 1), "note", std::to_string(i)}));
    }
  }
}

TEST_F(StreamTest, ASlowReaderCostsOnePartAndIsClosedInTheEnd) {
  front.part_bytes = std::size_t{1} << 20;
  options.limits.body_ms = 100;
  options.limits.connections = 2;
  Start();
  RawSocket slow = OpenUnix();
  slow.Send(Get("/v1/events"));
  EXPECT_EQ(slow.Receive(true).status, 200);
  while (front.stream_asks == 0) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) front.Publish("x");
  RawSocket other = OpenUnix();
  other.Send(Get("/healthz"));
  EXPECT_EQ(other.Receive().status, 200) << "others are served meanwhile";
  EXPECT_LE(front.stream_asks, 8) << "a part of 1 MiB does not fit into the socket's buffer";
  // It never reads. When the server has closed it, there is room for a third.
  while (true) {
    RawSocket third = OpenUnix();
    third.Send(Get("/healthz"));
    if (third.Receive().status == 200) break;
  }
  const std::string all = slow.ReceiveAll();
  EXPECT_LT(all.size(), std::size_t{8} << 20);
  EXPECT_FALSE(all.ends_with("0\r\n\r\n"));
}

TEST_F(StreamTest, AReaderThatLeavesIsForgotten) {
  options.limits.connections_per_user = 1;
  Start();
  for (int i = 0; i < 20; ++i) {
    // The next one is let in only when the server has seen that the last one left.
    while (true) {
      RawSocket socket = OpenUnix();
      socket.Send(Get("/v1/events"));
      const int status = socket.Receive(true).status;
      if (status == 200) break;
      ASSERT_EQ(status, 429);
    }
  }
}

TEST_F(StreamTest, StopEndsStreams) {
  Start();
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 10; ++i) {
    sockets.push_back(i % 2 == 0 ? OpenUnix() : OpenTcp());
    sockets.back().Send(Get("/v1/events", "Authorization: Bearer user-token\r\n"));
    EXPECT_EQ(sockets.back().Receive(true).status, 200);
  }
  std::thread stopper([this] { server->Stop(); });
  for (RawSocket& socket : sockets) {
    EXPECT_EQ(socket.ReceiveAll(), "0\r\n\r\n");
    socket.CloseSend();
  }
  stopper.join();
  front.Publish("after the end");
}

// ---- the reader of events ----

std::vector<Seen> ReadInPieces(std::string_view text, std::size_t piece) {
  EventReader reader;
  std::vector<Seen> seen;
  while (!text.empty()) {
    const auto go_on = reader.Feed(text.substr(0, piece), [&](auto id, auto event, auto data) {
      seen.push_back({std::string(id), std::string(event), std::string(data)});
      return true;
    });
    EXPECT_TRUE(go_on && *go_on);
    text.remove_prefix(std::min(piece, text.size()));
  }
  return seen;
}

TEST(EventReaderTest, LinesFieldsAndEndsOfAnyKindCutAnywhere) {
  constexpr std::string_view kText =
      ": a comment\n\nid: 1\nevent: note\ndata: one\ndata:two\n\n"
      "data: after\r\n\r\n"
      "id\rdata\r\r"
      "retry: 10\nunknown: x\nevent: lost, has no data\n\n"
      "id: 9\ndata:  two blanks: kept\n\ndata: never ended";
  const std::vector<Seen> expected = {{"1", "note", "one\ntwo"},
                                      {"1", "message", "after"},
                                      {"", "message", ""},
                                      {"9", "message", " two blanks: kept"}};
  for (std::size_t piece = 1; piece <= kText.size(); ++piece) {
    ASSERT_EQ(ReadInPieces(kText, piece), expected) << piece;
  }
}

TEST(EventReaderTest, AnEventHasALongestLength) {
  EventReader reader;
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(reader.Feed(piece, [](auto, auto, auto) { return true; }));
  }
  EXPECT_FALSE(reader.Feed(piece, [](auto, auto, auto) { return true; }));
}

}  // namespace
}  // namespace muster::api
