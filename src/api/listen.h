// SPDX-License-Identifier: Apache-2.0
// Opens the sockets that the server listens on, with plain system calls; knows no event loop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "posix/descriptor.h"

namespace muster::api {

/// Longest path of a Unix socket, in bytes.
inline constexpr std::size_t kMaxSocketPath = 107;

/// A bound Unix socket and its file, which is removed if it is still the one that was made.
class UnixListener {
 public:
  UnixListener() = default;
  UnixListener(UnixListener&& other) noexcept { *this = std::move(other); }
  UnixListener& operator=(UnixListener&& other) noexcept {
    std::swap(socket, other.socket);
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~UnixListener() { RemoveFile(); }

  /// Listens at `path`. A file there that no server answers on is replaced; one that is answered,
  /// or that is no socket, is `kRefused`.
  static base::Result<UnixListener> Open(std::string path, std::uint32_t mode);

  posix::Descriptor socket;
  void RemoveFile();

 private:
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

/// Where to listen, as a person wrote it.
struct TcpAddress {
  bool ipv6 = false;
  std::string host;  ///< numeric
  std::uint16_t port = 0;
  bool loopback = false;
};
/// "127.0.0.1:7070", "[::1]:7070", "localhost:7070"; ":0" is a free port on 127.0.0.1.
base::Result<TcpAddress> ParseTcpAddress(std::string_view text);

struct TcpListener {
  posix::Descriptor socket;
  std::uint16_t port = 0;  ///< the one in use
};
base::Result<TcpListener> ListenTcp(const TcpAddress& address);

/// Is this the address of the machine itself: 127.0.0.0/8, ::1?
bool IsLoopback(std::string_view host);

}  // namespace muster::api
