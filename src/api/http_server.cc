// SPDX-License-Identifier: Apache-2.0
#include "api/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "api/connection.h"
#include "api/listen.h"
#include "api/tls.h"
#include "base/strings.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

/// How long `Stop` lets answers go out.
constexpr std::chrono::milliseconds kDrain{2000};
/// Pause of accepting when the process is out of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{50};
/// Connections that are accepted before others are served again.
constexpr int kAcceptsPerTurn = 64;

/// Everything that `Start` opens before the thread runs.
struct Opened {
  UnixListener unix_listener;
  TcpListener tcp;
  TcpAddress address;
  TlsContext tls;
};

base::Status CheckOptions(const HttpOptions& options) {
  if (options.socket_path.empty() && options.listen.empty()) {
    return Error{ErrorCode::kInvalid, "the server has neither a Unix socket nor a TCP address"};
  }
  if (!options.socket_path.empty() && !options.identify_peer) {
    return Error{ErrorCode::kInvalid, "a Unix socket needs a function that identifies peers"};
  }
  if (options.certificate.empty() != options.key.empty()) {
    return Error{ErrorCode::kInvalid,
                 base::Format("TLS needs a certificate and its key; only the {} is given",
                              options.key.empty() ? "certificate" : "key")};
  }
  return {};
}

/// Beyond loopback: with TLS and tokens, or not at all.
base::Status CheckExposure(const HttpOptions& options, const TcpAddress& address) {
  if (address.loopback) return {};
  const std::string_view missing = options.certificate.empty() ? "a certificate and its key"
                                   : !options.authenticate     ? "tokens"
                                                               : "";
  if (missing.empty()) return {};
  return Error{ErrorCode::kRefused,
               base::Format("will not listen at {}, which other machines can reach, without {}; "
                            "give them, or listen at 127.0.0.1",
                            options.listen, missing)};
}

base::Result<Opened> Open(const HttpOptions& options) {
  if (const auto fits = CheckOptions(options); !fits) return fits.error();
  Opened opened;
  if (!options.listen.empty()) {
    auto address = ParseTcpAddress(options.listen);
    if (!address) return address.error();
    if (const auto fits = CheckExposure(options, *address); !fits) return fits.error();
    opened.address = *std::move(address);
    if (!options.certificate.empty()) {
      auto tls = MakeServerTls({.certificate = options.certificate, .key = options.key});
      if (!tls) return tls.error();
      opened.tls = *std::move(tls);
    }
    auto tcp = ListenTcp(opened.address);
    if (!tcp) return tcp.error();
    opened.tcp = *std::move(tcp);
  }
  if (!options.socket_path.empty()) {
    auto listener = UnixListener::Open(options.socket_path, options.socket_mode);
    if (!listener) return listener.error();
    opened.unix_listener = *std::move(listener);
  }
  return opened;
}

/// The shortest limit decides how often deadlines are looked at.
std::chrono::milliseconds TickOf(const Limits& limits) {
  const std::int64_t shortest =
      std::min({limits.header_ms, limits.body_ms, limits.idle_ms, limits.answer_ms,
                limits.stream_poll_ms, limits.stream_comment_ms});
  return std::chrono::milliseconds(std::clamp<std::int64_t>(shortest / 4, 1, 250));
}

Peer PeerOf(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  return {.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
}

std::string AddressOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  char text[INET6_ADDRSTRLEN] = {};
  const void* const bytes =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<sockaddr_in*>(&address)->sin_addr;
  ::inet_ntop(address.ss_family, bytes, static_cast<char*>(text), sizeof text);
  return static_cast<const char*>(text);
}

/// Rings for a new picture. The front may keep it for longer than the server lives.
struct Bell {
  std::shared_ptr<asio::io_context> io;
  std::function<void()> wake;  ///< on the transport's thread
  std::atomic<bool> rung = false;
};

void Ring(const std::shared_ptr<Bell>& bell) {
  if (bell->rung.exchange(true)) return;
  asio::post(*bell->io, [bell] {
    bell->rung = false;  // before looking: what is published from here on rings again
    bell->wake();
  });
}

/// A listening socket in the event loop.
struct Door {
  Door(asio::io_context& io, int the_family, int fd)
      : acceptor(io, asio::generic::stream_protocol(the_family, 0), fd),
        pause(io),
        family(the_family) {}
  Acceptor acceptor;
  asio::steady_timer pause;
  const int family;
};

/// Keeps signals away from the threads that are started while it lives: those that come from
/// outside are for the main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

class Server final : public HttpServer {
 public:
  Server(server::Front& front, HttpOptions options, Opened opened)
      : hub_(front, std::move(options)),
        opened_(std::move(opened)),
        tick_(TickOf(hub_.options.limits)),
        timer_(*hub_.io),
        drain_(*hub_.io),
        work_(asio::make_work_guard(*hub_.io)) {
    hub_.on_last_gone = [this] { End(); };
    AddDoor(opened_.unix_listener.socket, AF_UNIX);
    AddDoor(opened_.tcp.socket, opened_.address.ipv6 ? AF_INET6 : AF_INET);
    for (const auto& door : doors_) WaitForCallers(*door);
    Tick();
    auto bell = std::make_shared<Bell>();
    bell->io = hub_.io;
    bell->wake = [this] {
      for (const auto& connection : Everyone()) connection->Wake();
    };
    hub_.front.OnPublish([bell] { Ring(bell); });
    const SignalsBlocked blocked;
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "muster-http");
      hub_.io->run();
    });
  }
  ~Server() override { Server::Stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void Stop() override {
    std::call_once(stopped_, [this] {
      hub_.front.OnPublish({});
      asio::post(*hub_.io, [this] { BeginStop(); });
      thread_.join();
    });
  }

  std::uint16_t port() const override { return opened_.tcp.port; }

 private:
  /// A copy: a connection may leave while it is visited.
  std::vector<std::shared_ptr<Connection>> Everyone() const {
    return {hub_.connections.begin(), hub_.connections.end()};
  }

  void Tick() {
    timer_.expires_after(tick_);
    timer_.async_wait([this](NetError ec) {
      if (ec) return;
      const Clock::time_point now = Clock::now();
      for (const auto& connection : Everyone()) connection->Tick(now);
      if (!ended_) Tick();
    });
  }

  void AddDoor(posix::Descriptor& socket, int family) {
    if (!socket.IsOpen()) return;
    doors_.push_back(std::make_unique<Door>(*hub_.io, family, socket.number()));
    socket.Release();  // the acceptor closes it
  }

  /// The accepting itself is a plain system call: Asio's would leave the descriptor open in the
  /// programs that this process starts.
  void WaitForCallers(Door& door) {
    door.acceptor.async_wait(Acceptor::wait_read, [this, &door](NetError ec) {
      if (hub_.stopping || ec) return;
      for (int i = 0; i < kAcceptsPerTurn; ++i) {
        const int fd = ::accept4(door.acceptor.native_handle(), nullptr, nullptr,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
          Welcome(door, posix::Descriptor(fd));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
          return Pause(door);
        } else if (errno == EAGAIN) {
          break;
        }
      }
      WaitForCallers(door);
    });
  }

  /// Out of descriptors: trying again at once would only burn the processor until one is closed.
  void Pause(Door& door) {
    door.pause.expires_after(kAcceptPause);
    door.pause.async_wait([this, &door](NetError ec) {
      if (!hub_.stopping && !ec) WaitForCallers(door);
    });
  }

  void Welcome(const Door& door, posix::Descriptor accepted) {
    Origin origin{.is_unix = door.family == AF_UNIX};
    if (origin.is_unix) {
      origin.peer = PeerOf(accepted.number());
    } else {
      origin.address = AddressOf(accepted.number());
      origin.on_loopback = opened_.address.loopback;
      origin.tls = opened_.tls.get();
      const int on = 1;
      ::setsockopt(accepted.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      // A machine that vanished does not close its streams: what it leaves unacknowledged does.
      const auto unheard_ms = static_cast<unsigned>(
          std::clamp<std::int64_t>(hub_.options.limits.body_ms, 1000, 600'000));
      ::setsockopt(accepted.number(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms,
                   sizeof unheard_ms);
    }
    Socket socket(*hub_.io);
    NetError ec;
    socket.assign(asio::generic::stream_protocol(door.family, 0), accepted.number(), ec);
    if (ec) return;
    accepted.Release();
    auto connection = std::make_shared<Connection>(hub_, std::move(socket), std::move(origin));
    hub_.connections.insert(connection);
    if (hub_.connections.size() - hub_.refused <= hub_.options.limits.connections) {
      return connection->Start();
    }
    connection->Refuse(Problem(503, StatusTitle(503),
                               base::Format("{} connections are open already; try again later",
                                            hub_.options.limits.connections)));
  }

  void BeginStop() {
    hub_.stopping = true;
    opened_.unix_listener.RemoveFile();
    for (const auto& door : doors_) {
      NetError ec;
      door->acceptor.close(ec);
      door->pause.cancel();
    }
    drain_.expires_after(kDrain);
    drain_.async_wait([this](NetError ec) {
      if (ec) return;
      for (const auto& connection : Everyone()) connection->Finish();
    });
    for (const auto& connection : Everyone()) connection->Drain();
    if (hub_.connections.empty()) End();
  }

  /// Nothing is left to do: the event loop runs dry and the thread ends.
  void End() {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    drain_.cancel();
    work_.reset();
  }

  Hub hub_;
  Opened opened_;
  const std::chrono::milliseconds tick_;
  asio::steady_timer timer_;
  asio::steady_timer drain_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<Door>> doors_;
  bool ended_ = false;
  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace

base::Result<std::unique_ptr<HttpServer>> HttpServer::Start(server::Front& front,
                                                            HttpOptions options) {
  auto opened = Open(options);
  if (!opened) return opened.error();
  if (opened->address.loopback) options.host_names.push_back(opened->address.host);
  try {
    return std::make_unique<Server>(front, std::move(options), *std::move(opened));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kExhausted,
                 base::Format("cannot start the HTTP server: {}", error.what())};
  }
}

}  // namespace muster::api
