// SPDX-License-Identifier: Apache-2.0
// Where the server listens and where it refuses to, and how it stops.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

using base::ErrorCode;

class ListenTest : public HttpTest {};

std::string Refusal(FakeFront& front, const HttpOptions& options) {
  const auto started = HttpServer::Start(front, options);
  return started ? "started" : started.error().ToString();
}

TEST_F(ListenTest, WhatItDoesNotListenAt) {
  const auto refusal = [this](const std::function<void(HttpOptions&)>& change) {
    HttpOptions changed = options;
    change(changed);
    return Refusal(front, changed);
  };
  const auto says = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(refusal([](HttpOptions& o) { o.listen = "0.0.0.0:0"; }), "without a certificate");
  says(refusal([](HttpOptions& o) { o.listen = "[::]:0"; }), "127.0.0.1");
  says(refusal([](HttpOptions& o) { o.listen = "10.1.2.3:7070"; }), "certificate");
  says(refusal([](HttpOptions& o) {
         o.listen = "*:0";
         o.certificate = o.key = "x.pem";
         o.authenticate = nullptr;
       }),
       "without tokens");
  says(refusal([](HttpOptions& o) { o.certificate = "x.pem"; }), "only the certificate is given");
  says(refusal([](HttpOptions& o) { o.key = "x.pem"; }), "only the key is given");
  says(refusal([](HttpOptions& o) { o.certificate = o.key = "/no/such.pem"; }), "/no/such.pem");
  says(refusal([](HttpOptions& o) { o.listen = "7070"; }), "ADDRESS:PORT");
  says(refusal([](HttpOptions& o) { o.listen = "127.0.0.1:70700"; }), "no port");
  says(refusal([](HttpOptions& o) { o.listen = "127.0.0.1:"; }), "no port");
  says(refusal([](HttpOptions& o) { o.listen = "example.org:80"; }), "numeric");
  says(refusal([](HttpOptions& o) { o.listen = "127.evil:80"; }), "numeric");
  says(refusal([](HttpOptions& o) { o.identify_peer = nullptr; }), "identifies peers");
  says(refusal([](HttpOptions& o) { o.listen = o.socket_path = ""; }), "neither");
  says(refusal([this](HttpOptions& o) { o.socket_path = folder / "no/dir/s"; }),
       "no directory " + (folder / "no/dir"));
  says(refusal([this](HttpOptions& o) { o.socket_path = folder / std::string(200, 'x'); }),
       "limit is 107");
}

TEST_F(ListenTest, APathOf107BytesIsTheLongest) {
  const std::string prefix = folder / "";
  options.socket_path = prefix + std::string(107 - prefix.size(), 'x');
  EXPECT_EQ(Refusal(front, options), "started");
  options.socket_path += "x";
  EXPECT_NE(Refusal(front, options).find("has 108 bytes"), std::string::npos);
}

TEST_F(ListenTest, ALiveSocketIsNotTaken) {
  Start();
  HttpOptions second = options;
  EXPECT_NE(Refusal(front, second).find("another server answers at " + socket_path()),
            std::string::npos);
  second.socket_path.clear();
  second.listen = base::Format("127.0.0.1:{}", server->port());
  EXPECT_NE(Refusal(front, second).find("cannot listen at " + second.listen), std::string::npos);
  RawSocket socket = OpenUnix();
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 200) << "the first one goes on";
}

TEST_F(ListenTest, ADeadSocketIsReplaced) {
  {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path().copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
  }
  ASSERT_TRUE(std::filesystem::exists(socket_path()));
  Start();
  RawSocket socket = OpenUnix();
  socket.Send(Get("/healthz"));
  EXPECT_EQ(socket.Receive().status, 200);
}

TEST_F(ListenTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(socket_path()) << "precious";
  EXPECT_NE(Refusal(front, options).find("is no socket"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(socket_path()), 8U);
}

TEST_F(ListenTest, TheSocketHasItsMode) {
  for (const std::uint32_t mode : {0600U, 0666U}) {
    options.socket_mode = mode;
    Start();
    struct stat found {};
    ASSERT_EQ(::stat(socket_path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, mode);
    server.reset();
    EXPECT_FALSE(std::filesystem::exists(socket_path())) << "the file goes with the server";
  }
}

TEST_F(ListenTest, AnothersSocketIsNotRemovedAtTheEnd) {
  Start();
  std::filesystem::rename(socket_path(), folder / "moved");
  std::ofstream(socket_path()) << "of another";
  server.reset();
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

std::vector<std::string> LeakyDescriptors() {
  std::vector<std::string> leaky;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) leaky.push_back(entry.path().filename());
  }
  std::ranges::sort(leaky);
  return leaky;
}

TEST_F(ListenTest, NoDescriptorIsInheritedByPrograms) {
  const std::vector<std::string> before = LeakyDescriptors();
  Start();
  RawSocket first = OpenUnix();
  RawSocket second = OpenTcp();
  for (RawSocket* const socket : {&first, &second}) {
    socket->Send(Get("/healthz"));
    EXPECT_EQ(socket->Receive().status, 200);
  }
  auto client = MakeClient();
  EXPECT_TRUE(client->Call("GET", "/healthz"));
  EXPECT_EQ(LeakyDescriptors(), before);
}

TEST_F(ListenTest, StopClosesWhatIsIdleAndLetsAnAnswerOut) {
  Start();
  RawSocket idle = OpenUnix();
  idle.Send(Get("/healthz"));
  EXPECT_EQ(idle.Receive().status, 200);
  RawSocket fresh = OpenTcp();
  RawSocket busy = OpenUnix();
  busy.Send(Get("/v1/later"));
  std::vector<Respond> kept = front.TakeKept(1);
  std::thread stopper([this] { server->Stop(); });
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_EQ(fresh.ReceiveAll(), "");
  EXPECT_FALSE(RawSocket::Unix(socket_path()).connected()) << "nobody is let in any more";
  kept.front()({.content_type = "text/plain", .body = "last"});
  const RawResponse response = busy.Receive();
  EXPECT_EQ(response.body, "last");
  EXPECT_EQ(response.Header("Connection"), "close");
  EXPECT_EQ(busy.ReceiveAll(), "");
  busy.CloseSend();
  stopper.join();
  server->Stop();  // again: nothing
}

TEST_F(ListenTest, StopUnderLoad) {
  Start();
  std::atomic<int> answered = 0;
  std::atomic<int> odd = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([this, i, &answered, &odd] {
      const auto client = *Client::Make(
          {.address = i % 2 == 0 ? "unix:" + socket_path() : TcpAddress(), .token = "user-token"});
      while (true) {
        const auto response =
            client->Call("POST", "/v1/echo", "{}", {{"Content-Type", "application/json"}});
        if (!response) {
          if (response.error().code != ErrorCode::kUnavailable) ++odd;
          return;
        }
        if (response->status != 201) ++odd;
        ++answered;
      }
    });
  }
  while (answered < 500) std::this_thread::yield();
  server->Stop();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(odd, 0);
  EXPECT_GE(answered, 500);
}

}  // namespace
}  // namespace muster::api
