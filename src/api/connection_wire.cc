// SPDX-License-Identifier: Apache-2.0
#include "api/connection_wire.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace muster::api {

struct Wire::Tls {
  Tls(Socket& socket, asio::ssl::context& context) : stream(socket, context) {}
  asio::ssl::stream<Socket&> stream;
};

Wire::Wire(Socket socket, asio::ssl::context* tls) : socket_(std::move(socket)) {
  if (tls != nullptr) tls_ = std::make_unique<Tls>(socket_, *tls);
}

Wire::~Wire() = default;

void Wire::Connect(const asio::generic::stream_protocol::endpoint& to, Done done) {
  socket_.async_connect(to, std::move(done));
}

void Wire::HandshakeAsServer(Done done) {
  tls_->stream.async_handshake(asio::ssl::stream_base::server, std::move(done));
}

void Wire::HandshakeAsClient(const std::string& host, Done done) {
  SSL* const ssl = tls_->stream.native_handle();
  // A name also tells the server which certificate to show; an address may not (RFC 6066).
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  const bool is_set = is_address || (SSL_set1_host(ssl, host.c_str()) == 1 &&
                                     SSL_set_tlsext_host_name(ssl, host.c_str()) == 1);
  NetError ec;
  tls_->stream.set_verify_mode(asio::ssl::verify_peer, ec);
  if (!is_set) ec = asio::error::invalid_argument;
  if (ec) {
    asio::post(socket_.get_executor(), [done = std::move(done), ec] { done(ec); });
    return;
  }
  tls_->stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
}

std::string Wire::CertificateFault() const {
  if (tls_ == nullptr) return "";
  const long result = SSL_get_verify_result(tls_->stream.native_handle());
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

void Wire::ReadSome(std::span<char> into, DoneBytes done) {
  const asio::mutable_buffer buffer(into.data(), into.size());
  if (tls_ != nullptr) {
    tls_->stream.async_read_some(buffer, std::move(done));
  } else {
    socket_.async_read_some(buffer, std::move(done));
  }
}

void Wire::Write(std::string_view first, std::string_view second, DoneBytes done) {
  const std::array<asio::const_buffer, 2> buffers = {
      asio::const_buffer(first.data(), first.size()),
      asio::const_buffer(second.data(), second.size())};
  if (tls_ != nullptr) {
    asio::async_write(tls_->stream, buffers, std::move(done));
  } else {
    asio::async_write(socket_, buffers, std::move(done));
  }
}

void Wire::CloseSend(Done done) {
  auto shut = [this, done = std::move(done)](NetError) {
    NetError ec;
    socket_.shutdown(Socket::shutdown_send, ec);
    done(ec);
  };
  if (tls_ != nullptr) {
    tls_->stream.async_shutdown(std::move(shut));
  } else {
    asio::post(socket_.get_executor(), [shut = std::move(shut)] { shut({}); });
  }
}

void Wire::CloseSendNow() {
  NetError ec;
  socket_.shutdown(Socket::shutdown_send, ec);
}

void Wire::DiscardSome(std::span<char> into, DoneBytes done) {
  socket_.async_read_some(asio::mutable_buffer(into.data(), into.size()), std::move(done));
}

void Wire::Close() {
  NetError ec;
  socket_.close(ec);
}

}  // namespace muster::api
