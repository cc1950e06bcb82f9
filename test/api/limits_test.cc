// SPDX-License-Identifier: Apache-2.0
// Every limit of the server, reached by callers that are too large, too slow or too many. Short
// limits are waited for by reading: the server's answer or end is the event, no clock is asked.
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

class LimitsTest : public HttpTest {};

TEST_F(LimitsTest, BodiesThatAreTooLong) {
  options.limits.body_bytes = 1000;
  Start();
  RawSocket fits = OpenTcp();
  fits.Send(Post("/v1/echo", std::string(1000, 'x'), "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(fits.Receive().status, 201);

  // Said at the head; what still comes is swallowed, or the answer would be lost with the reset.
  RawSocket announced = OpenTcp();
  announced.Send(Post("/v1/echo", std::string(500'000, 'x')));
  EXPECT_EQ(announced.ReceiveAll().substr(0, 12), "HTTP/1.1 413");

  RawSocket chunked = OpenTcp();
  chunked.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\n"
      "Authorization: Bearer user-token\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 11; ++i) chunked.Send("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(chunked.ReceiveAll().substr(0, 12), "HTTP/1.1 413");
  RawSocket one_chunk = OpenTcp();
  one_chunk.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\n"
      "Authorization: Bearer user-token\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n");
  EXPECT_EQ(one_chunk.ReceiveAll().substr(0, 12), "HTTP/1.1 413");
}

TEST_F(LimitsTest, HeadsThatAreTooLong) {
  options.limits.header_bytes = 2000;
  Start();
  RawSocket fits = OpenUnix();
  fits.Send(Get("/healthz", "X: " + std::string(1900, 'x') + "\r\n"));
  EXPECT_EQ(fits.Receive().status, 200);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"one long header", Get("/healthz", "X: " + std::string(3000, 'x') + "\r\n")},
      {"a header without end", "GET /healthz HTTP/1.1\r\nX: " + std::string(100'000, 'x')},
      {"a long target", Get("/v1/things/" + std::string(3000, 'x'))},
      {"a target without end", "GET /" + std::string(100'000, 'x')},
      {"a method without end", std::string(100'000, 'X')},
  };
  for (const auto& [name, text] : cases) {
    RawSocket socket = OpenUnix();
    socket.Send(text);
    EXPECT_EQ(socket.ReceiveAll().substr(0, 12), "HTTP/1.1 431") << name;
  }
}

TEST_F(LimitsTest, ManyShortHeadersAreALongHeadToo) {
  options.limits.header_bytes = 2000;
  Start();
  RawSocket socket = OpenTcp();
  socket.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  // Each line is complete, so a parser that takes line by line never has much in its hands.
  for (int i = 0; i < 100'000; ++i) {
    if (!socket.Send("X: 0123456789\r\n")) break;
  }
  EXPECT_EQ(socket.ReceiveAll().substr(0, 12), "HTTP/1.1 431");
}

TEST_F(LimitsTest, ALongTrailerIsRefused) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/yaml\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n");
  for (int i = 0; i < 100'000; ++i) {
    if (!socket.Send("X: 0123456789\r\n")) break;
  }
  EXPECT_EQ(socket.ReceiveAll().substr(0, 12), "HTTP/1.1 400");
  RawSocket extension = OpenUnix();
  extension.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/yaml\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1;x=" +
      std::string(200'000, 'y'));
  EXPECT_EQ(extension.ReceiveAll().substr(0, 12), "HTTP/1.1 400");
}

TEST_F(LimitsTest, SlowHeads) {
  options.limits.header_ms = 20;
  Start();
  RawSocket silent = OpenTcp();
  EXPECT_EQ(silent.ReceiveAll(), "") << "nothing was asked, nothing is answered";
  RawSocket partial = OpenTcp();
  partial.Send("GET /healthz HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(partial.ReceiveAll().substr(0, 12), "HTTP/1.1 408");
}

TEST_F(LimitsTest, ADripOfBytesBuysNoTime) {
  options.limits.header_ms = 50;
  Start();
  RawSocket drip = OpenTcp();
  drip.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  // A byte a millisecond, until there is an answer.
  pollfd answer{.fd = drip.fd(), .events = POLLIN, .revents = 0};
  for (int i = 0; ::poll(&answer, 1, 1) == 0; ++i) drip.Send(i % 16 == 15 ? "\r\nX: " : "x");
  EXPECT_EQ(drip.ReceiveAll().substr(0, 12), "HTTP/1.1 408");
}

TEST_F(LimitsTest, SlowBodies) {
  options.limits.body_ms = 20;
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(AllButTheEnd(Post("/v1/echo", "12345")));
  EXPECT_EQ(socket.ReceiveAll().substr(0, 12), "HTTP/1.1 408");
  RawSocket invited = OpenUnix();
  invited.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/yaml\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  const std::string all = invited.ReceiveAll();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 408")) << all;
}

TEST_F(LimitsTest, IdleConnectionsAreClosedWithoutAWord) {
  options.limits.idle_ms = 20;
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 200);
  EXPECT_EQ(socket.ReceiveAll(), "");
}

TEST_F(LimitsTest, ACallerThatDoesNotReadItsAnswerIsClosed) {
  options.limits.body_ms = 20;
  options.limits.connections = 1;
  Start();
  RawSocket slow = OpenUnix();
  slow.Send(Get("/v1/big?bytes=20000000"));
  // Its place is free when the server has given up on it.
  while (true) {
    RawSocket other = OpenUnix();
    other.Send(Get("/healthz"));
    if (other.Receive().status == 200) break;
  }
  EXPECT_LT(slow.ReceiveAll().size(), 20'000'000U);
}

TEST_F(LimitsTest, AHandlerThatDoesNotAnswer) {
  options.limits.answer_ms = 20;
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/later"));
  const RawResponse response = socket.Receive();
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.Header("Retry-After"), "(none)");
  front.TakeKept(1).front()({.body = "too late"});
  socket.Send(Get("/v1/things/7"));
  EXPECT_EQ(socket.Receive().body, "/v1/things/7|7") << "the late answer is not taken for this one";
}

TEST_F(LimitsTest, TooManyConnectionsInAll) {
  options.limits.connections = 3;
  Start();
  std::vector<RawSocket> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(i % 2 == 0 ? OpenUnix() : OpenTcp());
    open.back().Send(Get("/healthz"));
    EXPECT_EQ(open.back().Receive().status, 200);
  }
  for (int i = 0; i < 10; ++i) {
    RawSocket more = i % 2 == 0 ? OpenUnix() : OpenTcp();
    more.Send(Get("/healthz"));
    const RawResponse response = more.Receive();
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.Header("Connection"), "close");
    EXPECT_NE(response.Header("Retry-After"), "(none)");
  }
  open.pop_back();
  while (true) {
    RawSocket more = OpenUnix();
    more.Send(Get("/healthz"));
    if (more.Receive().status == 200) break;
  }
}

TEST_F(LimitsTest, TooManyConnectionsOfOne) {
  options.limits.connections_per_user = 2;
  Start();
  std::vector<RawSocket> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(OpenUnix());
    open.back().Send(Get("/healthz"));
    EXPECT_EQ(open.back().Receive().status, 200);
  }
  RawSocket third = OpenUnix();
  const RawResponse response = third.Receive();
  EXPECT_EQ(response.status, 429);
  EXPECT_NE(response.Header("Retry-After"), "(none)");

  // By token where there is one: the address is then free for others.
  std::vector<RawSocket> ours;
  for (int i = 0; i < 2; ++i) {
    ours.push_back(OpenTcp());
    ours.back().Send(Get("/v1/whoami", "Authorization: Bearer user-token\r\n"));
    EXPECT_EQ(ours.back().Receive().status, 200);
  }
  RawSocket one_more = OpenTcp();
  one_more.Send(Get("/v1/whoami", "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(one_more.Receive().status, 429);
  one_more.Send(Get("/v1/whoami", "Authorization: Bearer other-token\r\n"));
  EXPECT_EQ(one_more.Receive().status, 200);
}

TEST_F(LimitsTest, BodiesOfAllTogether) {
  options.limits.buffered_bytes = 100'000;
  Start();
  const std::string half = Post("/v1/echo", std::string(80'000, 'x')).substr(0, 70'000);
  RawSocket first = OpenUnix();
  first.Send(half);
  RawSocket second = OpenUnix();
  second.Send(half);
  // Which of the two is refused is a matter of time; one is, and then the other has room.
  RawSocket third = OpenUnix();
  third.Send(Post("/v1/echo", std::string(101'000, 'x')));
  EXPECT_EQ(third.Receive().status, 503);
  RawSocket answer = OpenUnix();
  answer.Send(Get("/v1/big?bytes=101000"));
  EXPECT_EQ(answer.Receive().status, 503) << "answers count, too";
  answer.Send(Get("/healthz"));
  EXPECT_EQ(answer.Receive().status, 200);
}

TEST_F(LimitsTest, AThousandIdleConnections) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const std::size_t most = std::min<std::size_t>(1000, (files.rlim_cur - 100) / 2);
  options.limits.connections = most;
  options.limits.connections_per_user = 100'000;
  Start();
  std::vector<RawSocket> open;
  for (std::size_t i = 0; i < most; ++i) {
    open.push_back(OpenUnix());
    ASSERT_TRUE(open.back().connected());
  }
  RawSocket over = OpenUnix();
  EXPECT_EQ(over.Receive().status, 503);
  for (RawSocket& socket : open) socket.Send(Get("/healthz"));
  for (RawSocket& socket : open) ASSERT_EQ(socket.Receive().status, 200);
}

}  // namespace
}  // namespace muster::api
