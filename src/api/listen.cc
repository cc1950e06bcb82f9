// SPDX-License-Identifier: Apache-2.0
#include "api/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/strings.h"
#include "base/units.h"
#include "posix/lock.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;

/// Waiting connections that the kernel keeps.
constexpr int kBacklog = 1024;

std::string Reason(int error) { return std::generic_category().message(error); }

Error Failed(int error, std::string_view what, std::string_view hint = "") {
  const ErrorCode code = error == EACCES || error == EPERM ? ErrorCode::kNotAllowed
                         : error == EMFILE || error == ENFILE || error == ENOSPC
                             ? ErrorCode::kExhausted
                         : error == EADDRINUSE ? ErrorCode::kRefused
                                               : ErrorCode::kIo;
  return {code, base::Format("{}: {}{}{}", what, Reason(error), hint.empty() ? "" : "; ", hint)};
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(static_cast<char*>(address.sun_path), path.data(), path.size());
  return address;
}

template <class T>
const sockaddr* Plain(const T& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Whether a server answers at the socket file.
bool IsAnswered(const std::string& path) {
  const posix::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = UnixAddress(path);
  if (::connect(probe.number(), Plain(address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;  // EAGAIN: alive, with a full queue
}

/// Makes way at `path`, or says why not. The caller holds the lock of the directory.
base::Status RemoveStale(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) {
    return Error{ErrorCode::kRefused,
                 base::Format("{} exists and is no socket; remove it or name another path", path)};
  }
  if (IsAnswered(path)) {
    return Error{ErrorCode::kRefused,
                 base::Format("another server answers at {}; stop it or name another path", path)};
  }
  if (::unlink(path.c_str()) != 0) return Failed(errno, "cannot remove the old socket " + path);
  return {};
}

/// Opens and locks the directory of `path`, so that two servers that start at once do not each
/// remove the other's file.
base::Result<posix::Descriptor> LockDirectory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : path.substr(0, slash);
  posix::Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.IsOpen()) {
    if (errno == ENOENT) {
      return Error{ErrorCode::kNotFound,
                   base::Format("no directory {} for the socket {}; create it", directory, path)};
    }
    return Failed(errno, "cannot open the directory " + directory);
  }
  // Whoever starts there is done in a moment.
  if (posix::LockPatiently(opened.number(), LOCK_EX) != 0) {
    return Error{ErrorCode::kRefused,
                 base::Format("{} is locked: another server is starting there", directory)};
  }
  return opened;
}

base::Result<std::uint16_t> ParsePort(std::string_view text) {
  const auto port = base::ParseCount(text);
  if (!port || *port > 65535) {
    return Error{ErrorCode::kInvalid, base::Format("{} is no port: 0 to 65535", base::Quote(text))};
  }
  return static_cast<std::uint16_t>(*port);
}

bool IsNumeric(int family, const std::string& host) {
  in6_addr bytes{};
  return ::inet_pton(family, host.c_str(), &bytes) == 1;
}

}  // namespace

base::Result<UnixListener> UnixListener::Open(std::string path, std::uint32_t mode) {
  if (path.size() > kMaxSocketPath) {
    return Error{ErrorCode::kInvalid,
                 base::Format("the socket path {} has {} bytes; the system's limit is {}", path,
                              path.size(), kMaxSocketPath)};
  }
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{ErrorCode::kInvalid, "the socket path is empty or holds a NUL"};
  }
  const auto lock = LockDirectory(path);
  if (!lock) return lock.error();
  if (const auto removed = RemoveStale(path); !removed) return removed.error();

  UnixListener made;
  made.socket = posix::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket.IsOpen()) return Failed(errno, "cannot make a socket");
  // The file takes its first mode from the socket: it is never open to more than it should be.
  ::fchmod(made.socket.number(), mode);
  const sockaddr_un address = UnixAddress(path);
  if (::bind(made.socket.number(), Plain(address), sizeof address) != 0) {
    return Failed(errno, "cannot listen at " + path);
  }
  struct stat found {};
  if (::chmod(path.c_str(), mode) != 0 || ::lstat(path.c_str(), &found) != 0 ||
      ::listen(made.socket.number(), kBacklog) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return Failed(error, "cannot listen at " + path);
  }
  made.path_ = std::move(path);
  made.device_ = found.st_dev;
  made.inode_ = found.st_ino;
  return made;
}

void UnixListener::RemoveFile() {
  const std::string path = std::exchange(path_, "");
  if (path.empty()) return;
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_) {
    ::unlink(path.c_str());
  }
}

base::Result<TcpAddress> ParseTcpAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Error{ErrorCode::kInvalid,
                 base::Format("{} has no port; write ADDRESS:PORT, such as 127.0.0.1:7070",
                              base::Quote(text))};
  }
  TcpAddress address{.host = std::string(text.substr(0, colon))};
  const auto port = ParsePort(text.substr(colon + 1));
  if (!port) return port.error();
  address.port = *port;
  if (address.host.empty() || address.host == "localhost") address.host = "127.0.0.1";
  if (address.host == "*") address.host = "0.0.0.0";
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.ipv6 = true;
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (!IsNumeric(address.ipv6 ? AF_INET6 : AF_INET, address.host)) {
    return Error{
        ErrorCode::kInvalid,
        base::Format("{} is no numeric address; write one such as 127.0.0.1:7070 or [::1]:7070",
                     base::Quote(text.substr(0, colon)))};
  }
  address.loopback = IsLoopback(address.host);
  return address;
}

base::Result<TcpListener> ListenTcp(const TcpAddress& address) {
  const std::string host = address.ipv6 ? "[" + address.host + "]" : address.host;
  const std::string where = base::Format("{}:{}", host, address.port);
  const int family = address.ipv6 ? AF_INET6 : AF_INET;
  TcpListener made{
      .socket = posix::Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!made.socket.IsOpen()) return Failed(errno, "cannot make a socket for " + where);
  const int fd = made.socket.number();
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);

  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  four.sin_family = AF_INET;
  six.sin6_port = four.sin_port = htons(address.port);
  ::inet_pton(family, address.host.c_str(),
              address.ipv6 ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr);
  const sockaddr* const plain = address.ipv6 ? Plain(six) : Plain(four);
  if (::bind(fd, plain, address.ipv6 ? sizeof six : sizeof four) != 0 ||
      ::listen(fd, kBacklog) != 0) {
    return Failed(errno, "cannot listen at " + where, "name another address or port");
  }
  socklen_t size = sizeof six;
  sockaddr_in6 bound{};  // the port is at the same place in both families
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  made.port = ntohs(bound.sin6_port);
  return made;
}

bool IsLoopback(std::string_view host) {
  return host.starts_with("127.") || host == "::1" || host.starts_with("::ffff:127.");
}

}  // namespace muster::api
