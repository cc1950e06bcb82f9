// SPDX-License-Identifier: Apache-2.0
// The server as a caller on a socket sees it: identity, the protocol and its malformations, answers
// from other threads. Starting and stopping, streams and limits have their own files.
#include <unistd.h>

#include <thread>

#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

class HttpServerTest : public HttpTest {};

// ---- who asks ----

TEST_F(HttpServerTest, TheUnixPeerIsTheCaller) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/whoami"));
  const RawResponse response = socket.Receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, base::Format("#{}|user|socket, pid {}", ::geteuid(), ::getpid()));
}

TEST_F(HttpServerTest, ATokenOnTheUnixSocketOverridesThePeer) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/whoami", "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(socket.Receive().body, base::Format("uma|user|socket, pid {}, token ci", ::getpid()));
  socket.Send(Get("/v1/whoami", "Authorization: Bearer stolen\r\n"));
  EXPECT_EQ(socket.Receive().status, 401) << "a bad token must not fall back to the peer";
  socket.Send(Get("/v1/whoami"));
  EXPECT_TRUE(socket.Receive().body.starts_with("#")) << "the token was of one request";
}

struct TokenCase {
  std::string name;
  std::string header;
  std::string path;
  int status;
};

TEST_F(HttpServerTest, TokensOnTcp) {
  Start();
  const std::vector<TokenCase> cases = {
      {"open route", "", "/healthz", 200},
      {"open route, bad token", "Authorization: Bearer nonsense\r\n", "/healthz", 200},
      {"no token", "", "/v1/whoami", 401},
      {"token", "Authorization: Bearer user-token\r\n", "/v1/whoami", 200},
      {"scheme in any letters", "authorization: bEARER user-token\r\n", "/v1/whoami", 200},
      {"unknown token", "Authorization: Bearer nonsense\r\n", "/v1/whoami", 401},
      {"empty token", "Authorization: Bearer \r\n", "/v1/whoami", 401},
      {"other scheme", "Authorization: Basic dXNlcjpwYXNz\r\n", "/v1/whoami", 401},
      {"two tokens", "Authorization: Bearer user-token\r\nAuthorization: Bearer user-token\r\n",
       "/v1/whoami", 400},
      {"lookup fails", "Authorization: Bearer broken-token\r\n", "/v1/whoami", 503},
      {"role too low", "Authorization: Bearer user-token\r\n", "/v1/admin", 403},
      {"an attempt may not look", "Authorization: Bearer attempt-token\r\n", "/v1/whoami", 403},
  };
  for (const TokenCase& c : cases) {
    RawSocket socket = OpenTcp();
    socket.Send(Get(c.path, c.header));
    const RawResponse response = socket.Receive();
    EXPECT_EQ(response.status, c.status) << c.name << response.body;
    EXPECT_EQ(response.Header("WWW-Authenticate").starts_with("Bearer realm=\"muster\""),
              c.status == 401)
        << c.name;
    if (c.status >= 400) {
      EXPECT_EQ(response.Header("Content-Type"), "application/problem+json") << c.name;
      EXPECT_EQ(response.body.find("nonsense"), std::string::npos) << "a secret is never repeated";
    }
  }
}

TEST_F(HttpServerTest, TheAddressIsPartOfWhereATokenCameFrom) {
  Start();
  RawSocket socket = OpenTcp();
  socket.Send(Get("/v1/whoami", "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(socket.Receive().body, "uma|user|127.0.0.1, token ci");
  socket.Send(Get("/v1/whoami", "Authorization: Bearer other-token\r\n"));
  EXPECT_EQ(socket.Receive().body, "otto|user|127.0.0.1");
  socket.Send(Get("/v1/openid"));
  EXPECT_EQ(socket.Receive().body, "|viewer|127.0.0.1");
}

TEST_F(HttpServerTest, WithoutAuthenticationNoTokenIsTaken) {
  options.authenticate = nullptr;
  Start();
  RawSocket socket = OpenTcp();
  socket.Send(Get("/v1/whoami", "Authorization: Bearer user-token\r\n"));
  EXPECT_EQ(socket.Receive().status, 401);
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 200);
}

TEST_F(HttpServerTest, OnLoopbackOnlyItsOwnNamesAreAnswered) {
  options.host_names = {"muster.example"};
  Start();
  const auto status = [this](const std::string& host) {
    RawSocket socket = OpenTcp();
    socket.Send("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return socket.Receive().status;
  };
  for (const char* const host : {"localhost", "LocalHost:7070", "127.0.0.1", "127.0.0.1:80",
                                 "[::1]", "[::1]:7070", "muster.example", "muster.example:1"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  for (const char* const host :
       {"evil.example", "evil.example:7070", "127.0.0.1.evil.example", "127.evil.example",
        "localhost.evil.example", "localhostx", "[::2]", "", "10.0.0.1"}) {
    EXPECT_EQ(status(host), 421) << host;
  }
  for (const char* const host : {"local host", "localhost:x", "[::1", "a@localhost", "a/b"}) {
    EXPECT_EQ(status(host), 400) << host;
  }
  RawSocket absolute = OpenTcp();
  absolute.Send("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(absolute.Receive().status, 421) << "the target's host counts, not the header's";
  absolute.Send("GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(absolute.Receive().status, 200);
  RawSocket unix_socket = OpenUnix();
  unix_socket.Send("GET /healthz HTTP/1.1\r\nHost: anything.example\r\n\r\n");
  EXPECT_EQ(unix_socket.Receive().status, 200) << "no web page reaches a Unix socket";
}

// ---- requests ----

TEST_F(HttpServerTest, TargetsAreDecodedOnceAndStrictly) {
  Start();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/v1/things/7", "200 /v1/things/7|7"},
      {"/v1/things/a%2fb", "200 /v1/things/a/b|a/b"},
      {"/v1/things/a%2525", "200 /v1/things/a%25|a%25"},
      {"/v1/th%69ngs/%C3%A9?name=%C3%a9+x%2B&all=true&limit=-3",
       "200 /v1/things/é|é|all=true|limit=-3|name=é x+"},
      {"/v1/things/7?", "200 /v1/things/7|7"},
      {"/v1/things/7?&&name=", "200 /v1/things/7|7|name="},
      {"/v1/things/mine", "200 ok"},
      {"/v1/things/", "404"},
      {"/v1/things", "404"},
      {"/v1/things/7/8", "404"},
      {"/", "404"},
      {"//v1/things/7", "404"},
      {"/v1/things/%", "400"},
      {"/v1/things/%4", "400"},
      {"/v1/things/%4g", "400"},
      {"/v1/things/%+1", "400"},
      {"/v1/things/%00", "400"},
      {"/v1/things/%0a", "400"},
      {"/v1/things/%7f", "400"},
      {"/v1/things/%ff", "400"},
      {"/v1/things/%c0%af", "400"},
      {"/v1/things/%ED%A0%80", "400"},
      {"/v1/things/..", "400"},
      {"/v1/things/.", "400"},
      {"/v1/things/%2e%2E", "400"},
      {"/v1/things/../healthz", "400"},
      {"/v1/things/7#x", "400"},
      {"/v1/things/7?name=%00", "400"},
      {"/v1/things/7?name=%ff", "400"},
      {"/v1/things/7?name=%2", "400"},
      {"/v1/things/7?name=a&name=b", "400"},
      {"/v1/things/7?nam=a", "400"},
      {"/v1/things/7?limit=ten", "400"},
      {"/v1/things/7?limit=99999999999999999999", "400"},
      {"/v1/things/7?all=yes", "400"},
      {"v1/things/7", "400"},
      {"*", "400"},
      {"http://", "400"},
  };
  RawSocket socket = OpenUnix();
  for (const auto& [target, expected] : cases) {
    socket.Send(Get(target));
    const RawResponse response = socket.Receive();
    const std::string got =
        response.status == 200 ? "200 " + response.body : std::to_string(response.status);
    EXPECT_EQ(got, expected) << target << ": " << response.body;
  }
}

TEST_F(HttpServerTest, RawBytesInATargetAreRefused) {
  Start();
  for (const char* const target : {"/v1/things/\xff", "/v1/things/\xc3\x28", "/v1/a\x01"}) {
    RawSocket socket = OpenUnix();
    socket.Send(Get(target));
    EXPECT_EQ(socket.Receive().status, 400) << base::Quote(target);
  }
}

TEST_F(HttpServerTest, MethodsThatARouteOrHttpDoesNotHave) {
  Start();
  RawSocket socket = OpenUnix();
  const auto ask = [&socket](std::string_view method, std::string_view path) {
    socket.Send(base::Format("{} {} HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path));
    return socket.Receive();
  };
  RawResponse response = ask("DELETE", "/v1/things/7");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.Header("Allow"), "GET, HEAD");
  response = ask("GET", "/v1/echo");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.Header("Allow"), "POST");
  EXPECT_EQ(ask("OPTIONS", "/v1/echo").status, 405);
  EXPECT_EQ(ask("TRACE", "/healthz").status, 405);
  EXPECT_EQ(ask("CONNECT", "example:80").status, 400);
  EXPECT_EQ(ask("BREW", "/healthz").status, 501);
  EXPECT_EQ(ask("get", "/healthz").status, 501);
  EXPECT_EQ(ask("GET", "/healthz").status, 200) << "the connection is still good";
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send("HEAD /v1/big?bytes=100000 HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/healthz"));
  const RawResponse head = socket.Receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "100000");
  EXPECT_EQ(socket.Receive().body, "ok");
}

TEST_F(HttpServerTest, AnswersHaveFewHeaders) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/healthz", "X-Request-Id: abc-1.2_3\r\n"));
  RawResponse response = socket.Receive();
  std::vector<std::string> names;
  for (const std::string_view line : base::Split(base::Trim(response.head), '\n')) {
    names.emplace_back(line.substr(0, line.find(':')));
  }
  names.front() = std::string(base::Trim(names.front()));
  EXPECT_EQ(base::Join(names, "|"),
            "HTTP/1.1 200 OK|Date|Content-Type|Content-Length|Cache-Control|"
            "X-Content-Type-Options|X-Request-Id");
  EXPECT_EQ(response.Header("Cache-Control"), "no-store");
  EXPECT_EQ(response.Header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.Header("X-Request-Id"), "abc-1.2_3");

  socket.Send(Get("/healthz", "X-Request-Id: a b\"<>\r\n"));
  const std::string first = socket.Receive().Header("X-Request-Id");
  socket.Send(Get("/healthz"));
  const std::string second = socket.Receive().Header("X-Request-Id");
  EXPECT_EQ(first.find('<'), std::string::npos);
  EXPECT_NE(first, second);
  EXPECT_NE(second, "(none)");
}

TEST_F(HttpServerTest, AHandlerCannotBreakTheHead) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/odd"));
  const RawResponse response = socket.Receive();
  EXPECT_EQ(response.Header("X-Good"), "yes");
  EXPECT_EQ(response.Header("X-Bad"), "(none)");
  EXPECT_EQ(response.Header("X-Injected"), "(none)");
  EXPECT_EQ(response.Header("Bad Name"), "(none)");
  EXPECT_EQ(response.Header("Cache-Control"), "max-age=5");
  EXPECT_EQ(response.body, "x");
}

TEST_F(HttpServerTest, BodiesByLengthAndInChunks) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Post("/v1/echo", "{\"a\":1}", "Idempotency-Key: k1\r\n"));
  RawResponse response = socket.Receive();
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "k1|{\"a\":1}");
  socket.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/yaml; charset=utf-8\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: t\r\n"
      "Authorization: Bearer late\r\n\r\n" +
      Get("/healthz"));
  EXPECT_EQ(socket.Receive().body, "|abcdefg");
  EXPECT_EQ(socket.Receive().body, "ok");
}

TEST_F(HttpServerTest, WhetherABodyIsDue) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Post("/v1/echo", ""));
  EXPECT_EQ(socket.Receive().status, 400) << "a body is due";
  socket.Send(Post("/v1/act", "{}"));
  EXPECT_EQ(socket.Receive().status, 400) << "none is";
  socket.Send(Post("/v1/act", ""));
  EXPECT_EQ(socket.Receive().status, 200);
  socket.Send("POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(socket.Receive().status, 415) << "of no type";
  socket.Send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n"
      "{}");
  EXPECT_EQ(socket.Receive().status, 415);
}

TEST_F(HttpServerTest, RequestsInOnePieceAreAnsweredInOrder) {
  Start();
  RawSocket socket = OpenUnix();
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += i % 5 == 4 ? Post("/v1/echo", std::to_string(i)) : Get(base::Format("/v1/things/{}", i));
  }
  socket.Send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(socket.Receive().body.ends_with("|" + std::to_string(i))) << i;
  }
}

TEST_F(HttpServerTest, ARequestMayComeByteByByte) {
  Start();
  RawSocket socket = OpenUnix();
  const std::string text = Post("/v1/echo", "body") + Get("/healthz");
  for (const char c : text) ASSERT_TRUE(socket.Send(std::string(1, c)));
  EXPECT_EQ(socket.Receive().body, "|body");
  EXPECT_EQ(socket.Receive().body, "ok");
}

TEST_F(HttpServerTest, AskedToCloseItCloses) {
  Start();
  for (const std::string& text :
       {Get("/healthz", "Connection: close\r\n"), std::string("GET /healthz HTTP/1.0\r\n\r\n"),
        std::string("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")}) {
    RawSocket socket = OpenTcp();
    socket.Send(text);
    const RawResponse response = socket.Receive();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.Header("Connection"), "close");
    EXPECT_EQ(socket.ReceiveAll(), "");
  }
}

TEST_F(HttpServerTest, ContinueIsSaidWhenTheBodyIsWanted) {
  Start();
  RawSocket socket = OpenUnix();
  const std::string text = Post("/v1/echo", "hello", "Expect: 100-continue\r\n");
  const std::size_t head = text.size() - 5;
  socket.Send(text.substr(0, head));
  EXPECT_EQ(socket.ReceiveUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.Send(text.substr(head));
  EXPECT_EQ(socket.Receive().body, "|hello");

  socket.Send(text);
  EXPECT_EQ(socket.Receive().body, "|hello") << "the body was there at once: nothing to invite";

  socket.Send(Post("/v1/nowhere", "hello", "Expect: 100-continue\r\n").substr(0, 60));
  socket.Send("\r\n");
  RawSocket refused = OpenUnix();
  refused.Send(
      "POST /v1/nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  const RawResponse response = refused.Receive();
  EXPECT_EQ(response.status, 404) << "said before the body is sent";
  EXPECT_EQ(response.Header("Connection"), "close");

  RawSocket other = OpenUnix();
  other.Send(Get("/healthz", "Expect: a-miracle\r\n"));
  EXPECT_EQ(other.Receive().status, 417);
}

struct MalformedCase {
  std::string name;
  std::string text;
  int status;
};

TEST_F(HttpServerTest, MalformedRequestsAreRefusedAndTheConnectionClosed) {
  Start();
  const std::string post =
      "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/yaml\r\n"
      "Authorization: Bearer user-token\r\n";
  const std::vector<MalformedCase> cases = {
      {"no HTTP at all", "hello\r\n\r\n", 400},
      {"TLS to a plain port", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), 400},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"HTTP/0.9", "GET /healthz\r\n\r\n", 400},
      {"HTTP/1.2", "GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n", 505},
      {"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"line feeds alone", "GET /healthz HTTP/1.1\nHost: x\n\n", 505},
      {"a blank before the colon", "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: a" + std::string(1, '\0') + "b\r\n\r\n",
       400},
      {"length and chunks",
       post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunks and length",
       post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
      {"two lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
      {"two equal lengths", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
      {"a list of lengths", post + "Content-Length: 5, 5\r\n\r\nhello", 400},
      {"a negative length", post + "Content-Length: -5\r\n\r\nhello", 400},
      {"a signed length", post + "Content-Length: +5\r\n\r\nhello", 400},
      {"a hexadecimal length", post + "Content-Length: 0x5\r\n\r\nhello", 400},
      {"a huge length", post + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {"an unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {"two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"a disguised coding", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
      {"two transfer codings",
       post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400},
      {"chunks with HTTP/1.0",
       "POST /v1/echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"a chunk without a size", post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"a chunk longer than it says",
       post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n", 400},
      {"a chunk size beyond 64 bits",
       post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc", 400},
      {"a length in the trailer",
       post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n\r\n", 400},
      {"two idempotency keys",
       post + "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n", 400},
      {"a long idempotency key",
       post + "Idempotency-Key: " + std::string(256, 'k') + "\r\nContent-Length: 0\r\n\r\n", 400},
      {"a key with a blank", post + "Idempotency-Key: a b\r\nContent-Length: 0\r\n\r\n", 400},
  };
  for (const MalformedCase& c : cases) {
    for (const bool over_tcp : {false, true}) {
      RawSocket socket = over_tcp ? OpenTcp() : OpenUnix();
      socket.Send(c.text);
      std::string all = socket.ReceiveAll();
      EXPECT_EQ(all.substr(0, 13), base::Format("HTTP/1.1 {} ", c.status)) << c.name << ": " << all;
      EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << c.name;
      EXPECT_EQ(all.find("HTTP/1.1", 1), std::string::npos) << c.name << ": one answer";
    }
  }
}

TEST_F(HttpServerTest, ACallerMayCloseItsHalf) {
  Start();
  RawSocket whole = OpenTcp();
  whole.Send(Get("/v1/later", "Authorization: Bearer user-token\r\n"));
  whole.CloseSend();
  front.TakeKept(1).front()({.content_type = "text/plain", .body = "late"});
  EXPECT_EQ(whole.Receive().body, "late") << "the other half still gets its answer";
  EXPECT_EQ(whole.ReceiveAll(), "");

  RawSocket partial = OpenTcp();
  partial.Send("GET /healthz HT");
  partial.CloseSend();
  EXPECT_EQ(partial.Receive().status, 400);
  RawSocket body = OpenTcp();
  body.Send(AllButTheEnd(Post("/v1/echo", "12345", "Authorization: Bearer user-token\r\n")));
  body.CloseSend();
  EXPECT_EQ(body.ReceiveAll().substr(0, 12), "HTTP/1.1 400");
  RawSocket nothing = OpenTcp();
  nothing.CloseSend();
  EXPECT_EQ(nothing.ReceiveAll(), "");
}

// ---- answers ----

TEST_F(HttpServerTest, AnswersComeFromAnyThread) {
  Start();
  constexpr std::size_t kCallers = 20;
  std::vector<RawSocket> sockets;
  for (std::size_t i = 0; i < kCallers; ++i) {
    sockets.push_back(OpenUnix());
    sockets.back().Send(Get("/v1/later"));
  }
  std::vector<Respond> kept = front.TakeKept(kCallers);
  std::vector<std::thread> threads;
  for (const Respond& respond : kept) {
    threads.emplace_back([respond] { respond({.content_type = "text/plain", .body = "now"}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (RawSocket& socket : sockets) EXPECT_EQ(socket.Receive().body, "now");
}

TEST_F(HttpServerTest, AnAnswerToACallerThatIsGoneIsDropped) {
  Start();
  std::vector<Respond> kept;
  {
    RawSocket gone = OpenUnix();
    gone.Send(Get("/v1/later"));
    kept = front.TakeKept(1);
  }
  kept.front()({.body = std::string(1 << 20, 'x')});
  RawSocket socket = OpenUnix();
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 200);
}

TEST_F(HttpServerTest, AnAnswerAfterTheServersEndIsDropped) {
  options.limits.answer_ms = 20;
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/later"));
  std::vector<Respond> kept = front.TakeKept(1);
  EXPECT_EQ(socket.Receive().status, 503);
  server.reset();
  kept.front()({.body = "too late"});
  kept.clear();
  EXPECT_EQ(socket.ReceiveAll(), "");
}

TEST_F(HttpServerTest, HandlersThatDoNotKeepTheirPart) {
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/v1/dropped"));
  EXPECT_EQ(socket.Receive().status, 500);
  socket.Send(Get("/v1/throws"));
  RawResponse response = socket.Receive();
  EXPECT_EQ(response.status, 500);
  socket.Send(Get("/v1/twice"));
  EXPECT_EQ(socket.Receive().body, "first");
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().body, "ok");
}

}  // namespace
}  // namespace muster::api
