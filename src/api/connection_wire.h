// SPDX-License-Identifier: Apache-2.0
// Bytes to and from one peer: a Unix or TCP socket, with TLS over it or not. The only place where
// socket and TLS operations are instantiated, so that what speaks HTTP compiles once and fast.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/net.h"

namespace muster::api {

/// One thread only. One read and one write may be outstanding; their buffers must outlive them.
/// Completions come from the event loop, never from inside the call.
class Wire {
 public:
  using Done = std::function<void(NetError)>;
  using DoneBytes = std::function<void(NetError, std::size_t)>;

  /// Without `tls`: plain. The context must outlive the wire.
  Wire(Socket socket, asio::ssl::context* tls);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool is_tls() const { return tls_ != nullptr; }
  int fd() { return socket_.native_handle(); }

  void Connect(const asio::generic::stream_protocol::endpoint& to, Done done);
  /// Server's side of the TLS handshake.
  void HandshakeAsServer(Done done);
  /// Client's side: the certificate must be of `host` (a name or an address).
  void HandshakeAsClient(const std::string& host, Done done);
  /// Why the peer's certificate was not taken; empty: it was, or there was none.
  std::string CertificateFault() const;

  void ReadSome(std::span<char> into, DoneBytes done);
  /// Writes all of `first` and `second`.
  void Write(std::string_view first, std::string_view second, DoneBytes done);
  /// Tells the peer that nothing follows; it may still send.
  void CloseSend(Done done);
  /// The same at once and without a farewell of TLS, while a read is outstanding.
  void CloseSendNow();
  /// Reads below TLS: for draining what a refused peer still sends.
  void DiscardSome(std::span<char> into, DoneBytes done);
  /// Ends everything at once; outstanding operations complete with an error.
  void Close();

 private:
  struct Tls;
  Socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace muster::api
