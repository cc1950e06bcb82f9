// SPDX-License-Identifier: Apache-2.0
#include "api/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>
#include <utility>

#include "base/strings.h"

namespace muster::api {
namespace {

using base::Error;
using base::ErrorCode;

Error Failed(std::string_view what, const std::string& file, const NetError& ec) {
  ERR_clear_error();
  const bool missing = ec == boost::system::errc::no_such_file_or_directory;
  return {missing ? ErrorCode::kNotFound : ErrorCode::kInvalid,
          base::Format("cannot use the {} {}: {}", what, file, ec.message())};
}

/// Of the protocols that the client offers, takes HTTP/1.1; none of them: goes on without.
int ChooseProtocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned offered_size, void* /*unused*/) {
  constexpr std::string_view kOurs = "\x08http/1.1";
  const auto* ours = reinterpret_cast<const unsigned char*>(kOurs.data());
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, ours, kOurs.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

TlsContext MakeContext(asio::ssl::context::method method) {
  auto context = std::make_unique<asio::ssl::context>(method);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  // A client that renegotiates again and again costs the server a handshake each time.
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace

base::Result<TlsContext> MakeServerTls(const CertificateFiles& files) {
  TlsContext context = MakeContext(asio::ssl::context::tls_server);
  NetError ec;
  context->use_certificate_chain_file(files.certificate, ec);
  if (ec) return Failed("certificate", files.certificate, ec);
  context->use_private_key_file(files.key, asio::ssl::context::pem, ec);
  if (ec) return Failed("private key", files.key, ec);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::kInvalid,
                 base::Format("the private key {} is not the one of the certificate {}", files.key,
                              files.certificate)};
  }
  SSL_CTX_set_alpn_select_cb(context->native_handle(), &ChooseProtocol, nullptr);
  return context;
}

base::Result<TlsContext> MakeClientTls(const std::string& authorities) {
  TlsContext context = MakeContext(asio::ssl::context::tls_client);
  NetError ec;
  if (authorities.empty()) {
    context->set_default_verify_paths(ec);
    if (ec) return Failed("system's certificates", "", ec);
  } else {
    context->load_verify_file(authorities, ec);
    if (ec) return Failed("certificates of authorities", authorities, ec);
  }
  return context;
}

}  // namespace muster::api
