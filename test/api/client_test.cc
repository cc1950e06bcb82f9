// SPDX-License-Identifier: Apache-2.0
#include "api/client.h"

#include <atomic>

#include "api/client_address.h"
#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

using base::ErrorCode;

class ClientTest : public HttpTest {};

const Client::Headers kJson = {{"Content-Type", "application/json"}};

TEST_F(ClientTest, CallsOverUnixAndTcp) {
  Start();
  for (const std::string& address :
       {"unix:" + socket_path(), socket_path(), TcpAddress(), TcpAddress() + "/"}) {
    const auto client = Client::Make({.address = address, .token = "user-token"});
    ASSERT_TRUE(client) << address;
    for (int i = 0; i < 3; ++i) {
      const auto response = (*client)->Call("GET", "/v1/things/7?name=x");
      ASSERT_TRUE(response) << response.error().ToString();
      EXPECT_EQ(response->status, 200);
      EXPECT_EQ(response->content_type, "text/plain");
      EXPECT_EQ(response->body, "/v1/things/7|7|name=x");
    }
    const auto posted = (*client)->Call("POST", "/v1/echo", "{}", kJson);
    ASSERT_TRUE(posted);
    EXPECT_EQ(posted->body, "|{}");
    const auto head = (*client)->Call("HEAD", "/v1/big?bytes=5000");
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->body, "");
    EXPECT_EQ((*client)->Call("GET", "/healthz")->body, "ok");
  }
}

TEST_F(ClientTest, LargeBodiesBothWays) {
  Start();
  const auto client = MakeClient();
  const std::string body(10'000'000, 'y');
  const auto response = client->Call("POST", "/v1/echo", body, kJson);
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_TRUE(response->body == "|" + body);
}

TEST_F(ClientTest, ARefusedBodyStillGivesItsAnswer) {
  options.limits.body_bytes = 1000;
  Start();
  for (const std::string& address : {"unix:" + socket_path(), TcpAddress()}) {
    const auto client = *Client::Make({.address = address, .token = "user-token"});
    const auto response = client->Call("POST", "/v1/echo", std::string(3'000'000, 'y'), kJson);
    ASSERT_TRUE(response) << response.error().ToString();
    EXPECT_EQ(response->status, 413);
    EXPECT_EQ(client->Call("GET", "/healthz")->status, 200) << "on a new connection";
  }
}

TEST_F(ClientTest, ProblemsBecomeErrors) {
  Start();
  const auto client = MakeClient("user-token");
  const auto missing = client->Call("GET", "/v1/nowhere");
  ASSERT_TRUE(missing);
  base::Error error = ErrorOf(*missing);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.message.find("/v1/nowhere"), std::string::npos) << error.message;
  const auto faults = client->Call("GET", "/v1/things/7?nam=x&limit=y");
  ASSERT_TRUE(faults);
  error = ErrorOf(*faults);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("limit: "), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("nam: unknown query parameter; did you mean name?"),
            std::string::npos)
      << error.message;
  EXPECT_EQ(ErrorOf(*client->Call("GET", "/v1/admin")).code, ErrorCode::kNotAllowed);
}

TEST(ErrorOfTest, StatusesAndTexts) {
  const std::vector<std::pair<int, ErrorCode>> codes = {
      {400, ErrorCode::kInvalid},   {401, ErrorCode::kNotAllowed}, {403, ErrorCode::kNotAllowed},
      {404, ErrorCode::kNotFound},  {409, ErrorCode::kRefused},    {413, ErrorCode::kInvalid},
      {415, ErrorCode::kInvalid},   {422, ErrorCode::kRefused},    {429, ErrorCode::kRefused},
      {431, ErrorCode::kInvalid},   {500, ErrorCode::kIo},         {503, ErrorCode::kUnavailable},
      {507, ErrorCode::kExhausted},
  };
  for (const auto& [status, code] : codes) {
    EXPECT_EQ(ErrorOf({.status = status}).code, code) << status;
  }
  const std::string problem = "application/problem+json";
  EXPECT_EQ(ErrorOf({404, problem, R"({"title":"Not Found","detail":"no job 7"})"}).message,
            "no job 7");
  EXPECT_EQ(ErrorOf({404, problem, R"({"title":"Not Found"})"}).message, "Not Found");
  EXPECT_EQ(ErrorOf({400, problem,
                     R"({"detail":"2 faults","errors":[{"where":"a:1","message":"x"},)"
                     R"({"where":"","message":"y"}]})"})
                .message,
            "a:1: x\ny");
  for (const char* const body : {"", "{", "[]", "{\"detail\":{}}", "7", "{\"errors\":7}"}) {
    EXPECT_NE(ErrorOf({503, problem, body}).message.find("status 503"), std::string::npos) << body;
  }
  EXPECT_NE(ErrorOf({502, "text/html", "<h1>Bad</h1>"}).message.find("<h1>Bad"), std::string::npos);
}

/// The round trip of every code that has a status of its own.
TEST(ErrorOfTest, WhatTheServerMeantIsWhatTheClientTells) {
  for (const ErrorCode code :
       {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kRefused, ErrorCode::kExhausted,
        ErrorCode::kIo, ErrorCode::kNotAllowed, ErrorCode::kUnavailable}) {
    const HttpResponse response = Problem(base::Error{code, "text \"with\" ünd \x01 \xff"});
    const base::Error error = ErrorOf({response.status, response.content_type, response.body});
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.message, "text \"with\" ünd \x01 \uFFFD");
  }
}

TEST_F(ClientTest, NoServer) {
  const auto client = MakeClient();
  const auto response = client->Call("GET", "/healthz");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find(socket_path()), std::string::npos);
  const base::Status status =
      client->Stream("/v1/events", {}, [](auto, auto, auto) { return true; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  Start();
  EXPECT_TRUE(client->Call("GET", "/healthz")) << "as soon as there is one";
}

TEST_F(ClientTest, AServerThatDoesNotAnswer) {
  Start();
  const auto client =
      *Client::Make({.address = TcpAddress(), .token = "user-token", .timeout_ms = 30});
  const auto response = client->Call("GET", "/v1/later");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find("no answer within 30 ms"), std::string::npos);
  front.TakeKept(1).front()({.body = "late"});
  const auto next = client->Call("GET", "/healthz");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, "ok") << "the late answer is not taken for this one";
}

TEST_F(ClientTest, AConnectionThatTheServerClosedIsMadeAnew) {
  options.limits.idle_ms = 5;
  Start();
  const auto client = MakeClient();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(client->Call("POST", "/v1/echo", "{}", kJson));
    // Until the server has closed: a second connection shows that time has passed for it.
    RawSocket other = OpenUnix();
    other.Send(Get("/healthz"));
    other.ReceiveAll();
    const auto response = client->Call("GET", "/healthz");
    ASSERT_TRUE(response) << response.error().ToString();
  }
  server.reset();
  EXPECT_FALSE(client->Call("GET", "/healthz"));
  Start();
  EXPECT_TRUE(client->Call("GET", "/healthz")) << "a server that was started again";
}

TEST_F(ClientTest, OnlyWhatIsSafeIsSentAgain) {
  std::atomic<int> requests = 0;
  // Answers the first request of a connection and closes at the second.
  const ScriptedServer deserter([&requests](RawSocket& peer) {
    if (peer.ReceiveUntil("\r\n\r\n").empty()) return;
    ++requests;
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    if (!peer.ReceiveUntil("\r\n\r\n").empty()) ++requests;
  });
  const auto client = *Client::Make({.address = deserter.address()});
  EXPECT_TRUE(client->Call("GET", "/a"));
  EXPECT_TRUE(client->Call("GET", "/b")) << "lost with the connection, and sent again";
  EXPECT_EQ(requests, 3);
  const auto lost = client->Call("POST", "/c", "x");
  ASSERT_FALSE(lost) << "it may have been done";
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(requests, 4);
  EXPECT_TRUE(client->Call("GET", "/d"));
  EXPECT_TRUE(client->Call("POST", "/e", "x", {{"Idempotency-Key", "k"}}));
  EXPECT_EQ(requests, 7);
}

TEST(ClientAddressTest, Addresses) {
  const auto text = [](std::string_view address) -> std::string {
    const auto parsed = ParseServerAddress(address);
    if (!parsed) return "bad";
    if (!parsed->socket_path.empty()) return "unix " + parsed->socket_path;
    return base::Format("{} {} {} {}", parsed->tls ? "tls" : "plain", parsed->host, parsed->port,
                        parsed->authority);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"unix:/run/muster.sock", "unix /run/muster.sock"},
      {"/run/muster.sock", "unix /run/muster.sock"},
      {"./s", "unix ./s"},
      {"unix:s", "unix s"},
      {"http://127.0.0.1:7070", "plain 127.0.0.1 7070 127.0.0.1:7070"},
      {"http://[::1]:7070/", "plain ::1 7070 [::1]:7070"},
      {"http://localhost", "plain localhost 80 localhost"},
      {"https://Muster.Example", "tls muster.example 443 Muster.Example"},
      {"https://muster.example:7070", "tls muster.example 7070 muster.example:7070"},
      {"", "bad"},
      {"unix:", "bad"},
      {"unix:" + std::string(108, 'x'), "bad"},
      {"muster.example:7070", "bad"},
      {"ftp://x/y", "bad"},
      {"http://", "bad"},
      {"http://x:0", "bad"},
      {"http://x:70700", "bad"},
      {"http://x:", "bad"},
      {"http://x:y", "bad"},
      {"http://a@x", "bad"},
      {"http://x/path", "bad"},
      {"http://x?y", "bad"},
      {"http://[::1", "bad"},
      {"http://a b", "bad"},
  };
  for (const auto& [address, expected] : cases) EXPECT_EQ(text(address), expected) << address;
}

TEST(ClientAddressTest, ATokenIsNotSentInTheClear) {
  const auto refused = [](const std::string& address) {
    const auto client = Client::Make({.address = address, .token = "secret"});
    if (client) return false;
    EXPECT_EQ(client.error().code, ErrorCode::kRefused);
    EXPECT_EQ(client.error().message.find("secret"), std::string::npos);
    return true;
  };
  EXPECT_TRUE(refused("http://10.0.0.1:7070"));
  EXPECT_TRUE(refused("http://muster.example"));
  EXPECT_TRUE(refused("http://127.evil.example"));
  EXPECT_FALSE(refused("http://127.0.0.1:7070"));
  EXPECT_FALSE(refused("http://[::1]:7070"));
  EXPECT_FALSE(refused("http://localhost:7070"));
  EXPECT_FALSE(refused("https://muster.example"));
  EXPECT_FALSE(refused("unix:/run/muster.sock"));
}

TEST_F(ClientTest, WhatCannotBeSentIsRefused) {
  Start();
  const auto client = MakeClient();
  for (const char* const target : {"", "v1", "/a b", "/a\r\nX: y", "/a\n"}) {
    const auto response = client->Call("GET", target);
    ASSERT_FALSE(response) << target;
    EXPECT_EQ(response.error().code, ErrorCode::kInvalid);
  }
  const auto response = client->Call("GET", "/healthz", "", {{"X", "a\r\nY: b"}});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kInvalid);
}

struct BrokenCase {
  std::string name;
  std::string answer;
};

TEST(BrokenServerTest, AnswersThatBreakOffOrAreNone) {
  const std::vector<BrokenCase> cases = {
      {"nothing", ""},
      {"no HTTP", "hello\r\n\r\n"},
      {"half a head", "HTTP/1.1 200 OK\r\nContent-"},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"},
      {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: x\n\n\r\n"},
      {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"a body beyond all memory",
       "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx"},
      {"a head beyond all bounds", "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')},
      {"an interim answer without end", "HTTP/1.1 102 Processing\r\n\r\n"},
  };
  for (const BrokenCase& c : cases) {
    const ScriptedServer broken([&c](RawSocket& peer) {
      peer.ReceiveUntil("\r\n\r\n");
      peer.Send(c.answer);
    });
    const auto client = *Client::Make({.address = broken.address()});
    const auto response = client->Call("GET", "/x");
    ASSERT_FALSE(response) << c.name;
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << c.name;
    EXPECT_NE(response.error().message.find(broken.address()), std::string::npos) << c.name;
    const base::Status status = client->Stream("/x", {}, [](auto, auto, auto) { return true; });
    ASSERT_FALSE(status) << c.name;
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << c.name;
  }
}

TEST(BrokenServerTest, AnAnswerMayEndWithTheConnection) {
  const ScriptedServer old([](RawSocket& peer) {
    peer.ReceiveUntil("\r\n\r\n");
    peer.Send("HTTP/1.0 200 OK\r\n\r\ndata: all of it\n\n");
  });
  const auto client = *Client::Make({.address = old.address()});
  const auto response = client->Call("GET", "/x");
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_EQ(response->body, "data: all of it\n\n");
  EXPECT_TRUE(client->Stream("/x", {}, [](auto, auto, auto) { return true; }));
}

}  // namespace
}  // namespace muster::api
