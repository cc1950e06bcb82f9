// SPDX-License-Identifier: Apache-2.0
// TLS with an authority and certificates that are made here: who is trusted, what is refused, and
// that everything above works over it.
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "base/strings.h"
#include "test/api/http_fixture.h"

namespace muster::api {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key MakeKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

void Extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

struct Issuer {
  X509* certificate = nullptr;  ///< null: signs itself
  EVP_PKEY* key = nullptr;
};

/// `names` empty: an authority.
Certificate MakeCertificate(EVP_PKEY* key, const Issuer& issuer, const std::string& names) {
  Certificate made(X509_new(), &X509_free);
  X509* const x = made.get();
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), names.empty() ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x), 3600);
  X509_set_pubkey(x, key);
  X509_NAME* const name = X509_get_subject_name(x);
  const auto* const common =
      reinterpret_cast<const unsigned char*>(names.empty() ? "test authority" : "server");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common, -1, -1, 0);
  X509_set_issuer_name(
      x, issuer.certificate == nullptr ? name : X509_get_subject_name(issuer.certificate));
  Extend(x, NID_basic_constraints, names.empty() ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!names.empty()) Extend(x, NID_subject_alt_name, names);
  X509_sign(x, issuer.key, EVP_sha256());
  return made;
}

void WriteKey(const std::string& path, EVP_PKEY* key) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
}

void WriteCertificate(const std::string& path, X509* certificate) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
}

class TlsTest : public HttpTest {
 protected:
  TlsTest() {
    const Key authority_key = MakeKey();
    const Certificate authority =
        MakeCertificate(authority_key.get(), {nullptr, authority_key.get()}, "");
    WriteCertificate(folder / "ca.pem", authority.get());
    const Key other_key = MakeKey();
    WriteCertificate(folder / "other-ca.pem",
                     MakeCertificate(other_key.get(), {nullptr, other_key.get()}, "").get());
    WriteKey(folder / "other-key.pem", other_key.get());
    WriteCertificate(
        folder / "stranger.pem",
        MakeCertificate(other_key.get(), {nullptr, other_key.get()}, "DNS:stranger").get());
    const Key key = MakeKey();
    WriteKey(folder / "key.pem", key.get());
    const Issuer issuer{authority.get(), authority_key.get()};
    WriteCertificate(folder / "cert.pem",
                     MakeCertificate(key.get(), issuer, "DNS:localhost,IP:127.0.0.1").get());
    WriteCertificate(folder / "elsewhere.pem",
                     MakeCertificate(key.get(), issuer, "DNS:elsewhere.example").get());
    options.certificate = folder / "cert.pem";
    options.key = folder / "key.pem";
  }

  std::unique_ptr<Client> TlsClient(const std::string& address, const std::string& authority) {
    auto client = Client::Make(
        {.address = address, .token = "user-token", .ca_certificate = folder / authority});
    EXPECT_TRUE(client) << client.error().ToString();
    return *std::move(client);
  }

  /// Why a call is refused, or "".
  std::string Refusal(const std::string& address, const std::string& authority) {
    const auto response = TlsClient(address, authority)->Call("GET", "/v1/whoami");
    if (response) return "";
    EXPECT_EQ(response.error().code, base::ErrorCode::kUnavailable);
    return response.error().message;
  }
};

TEST_F(TlsTest, CallsStreamsAndBodies) {
  Start();
  for (const std::string& address :
       {TcpAddress("https"), base::Format("https://localhost:{}", server->port())}) {
    const auto client = TlsClient(address, "ca.pem");
    for (int i = 0; i < 3; ++i) {
      const auto response = client->Call("GET", "/v1/whoami");
      ASSERT_TRUE(response) << response.error().ToString();
      EXPECT_EQ(response->body, "uma|user|127.0.0.1, token ci");
    }
    const std::string body(3'000'000, 'z');
    const auto echoed =
        client->Call("POST", "/v1/echo", body, {{"Content-Type", "application/json"}});
    ASSERT_TRUE(echoed) << echoed.error().ToString();
    EXPECT_TRUE(echoed->body == "|" + body);
    front.AddQuietly("x");
    int seen = 0;
    EXPECT_TRUE(client->Stream("/v1/events", {}, [&seen](auto, auto, auto) {
      ++seen;
      return false;
    }));
    EXPECT_EQ(seen, 1);
  }
}

TEST_F(TlsTest, ARefusedBodyStillGivesItsAnswer) {
  options.limits.body_bytes = 1000;
  Start();
  const auto client = TlsClient(TcpAddress("https"), "ca.pem");
  const auto response = client->Call("POST", "/v1/echo", std::string(2'000'000, 'z'),
                                     {{"Content-Type", "application/json"}});
  ASSERT_TRUE(response) << response.error().ToString();
  EXPECT_EQ(response->status, 413);
}

TEST_F(TlsTest, WhoIsNotTrusted) {
  Start();
  EXPECT_EQ(Refusal(TcpAddress("https"), "ca.pem"), "");
  const std::string stranger = Refusal(TcpAddress("https"), "other-ca.pem");
  EXPECT_NE(stranger.find("not to be trusted: certificate signature failure"), std::string::npos)
      << stranger;
  EXPECT_NE(Refusal(TcpAddress("https"), "stranger.pem").find("unable to get local issuer"),
            std::string::npos)
      << Refusal(TcpAddress("https"), "stranger.pem");
  server.reset();
  options.certificate = folder / "elsewhere.pem";
  Start();
  const std::string elsewhere = Refusal(TcpAddress("https"), "ca.pem");
  EXPECT_NE(elsewhere.find("not to be trusted: IP address mismatch"), std::string::npos)
      << elsewhere;
  EXPECT_NE(Refusal(base::Format("https://localhost:{}", server->port()), "ca.pem")
                .find("not to be trusted: hostname mismatch"),
            std::string::npos);
}

TEST_F(TlsTest, WithCertificateAndTokensItListensBeyondLoopback) {
  options.listen = "0.0.0.0:0";
  Start();
  EXPECT_EQ(Refusal(TcpAddress("https"), "ca.pem"), "");
  // There is no rebinding to fear: the certificate names the server.
  const auto client = TlsClient(base::Format("https://localhost:{}", server->port()), "ca.pem");
  EXPECT_TRUE(client->Call("GET", "/healthz"));
}

TEST_F(TlsTest, FilesThatDoNotFit) {
  const auto refusal = [this](const std::string& certificate, const std::string& key) {
    HttpOptions changed = options;
    changed.certificate = folder / certificate;
    changed.key = folder / key;
    const auto started = HttpServer::Start(front, changed);
    return started ? "" : started.error().ToString();
  };
  EXPECT_EQ(refusal("cert.pem", "key.pem"), "");
  EXPECT_NE(refusal("cert.pem", "other-key.pem"), "");
  EXPECT_NE(refusal("cert.pem", "missing.pem").find("missing.pem"), std::string::npos);
  EXPECT_NE(refusal("missing.pem", "key.pem").find("missing.pem"), std::string::npos);
  EXPECT_NE(refusal("key.pem", "key.pem").find("certificate"), std::string::npos);
  EXPECT_NE(refusal("cert.pem", "cert.pem").find("private key"), std::string::npos);
  const auto client =
      Client::Make({.address = "https://localhost", .ca_certificate = folder / "missing.pem"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, base::ErrorCode::kNotFound);
}

/// A handshake with versions of one's choice: the one that was agreed on, or "refused".
std::string Handshake(RawSocket& socket, int lowest, int highest) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), lowest);
  SSL_CTX_set_max_proto_version(context.get(), highest);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  SSL_set_fd(ssl.get(), socket.fd());
  const bool made = SSL_connect(ssl.get()) == 1;
  const std::string version = made ? SSL_get_version(ssl.get()) : "refused";
  ERR_clear_error();
  return version;
}

TEST_F(TlsTest, OldVersionsAreRefused) {
  Start();
  const std::vector<std::pair<int, std::string>> cases = {{TLS1_VERSION, "refused"},
                                                          {TLS1_1_VERSION, "refused"},
                                                          {TLS1_2_VERSION, "TLSv1.2"},
                                                          {TLS1_3_VERSION, "TLSv1.3"}};
  for (const auto& [version, expected] : cases) {
    RawSocket socket = OpenTcp();
    EXPECT_EQ(Handshake(socket, version, version), expected);
  }
  RawSocket newest = OpenTcp();
  EXPECT_EQ(Handshake(newest, TLS1_VERSION, TLS1_3_VERSION), "TLSv1.3");
}

TEST_F(TlsTest, WhatIsNoTlsGetsNoHttp) {
  options.limits.header_ms = 200;
  Start();
  RawSocket plain = OpenTcp();
  plain.Send(Get("/healthz"));
  EXPECT_EQ(plain.ReceiveAll().find("HTTP"), std::string::npos);
  RawSocket slow = OpenTcp();
  slow.Send(std::string("\x16\x03\x01", 3));
  EXPECT_EQ(slow.ReceiveAll(), "") << "a handshake that does not come to an end is ended";
  RawSocket unix_socket = OpenUnix();
  unix_socket.Send(Get("/healthz"));
  EXPECT_EQ(unix_socket.Receive().status, 200) << "there is no TLS on the Unix socket";
}

TEST_F(TlsTest, LimitsHoldOverTls) {
  options.limits.idle_ms = 20;
  options.limits.connections_per_user = 1;
  Start();
  const auto client = TlsClient(TcpAddress("https"), "ca.pem");
  EXPECT_TRUE(client->Call("GET", "/v1/whoami"));
  RawSocket first = OpenTcp();
  EXPECT_EQ(Handshake(first, TLS1_3_VERSION, TLS1_3_VERSION), "TLSv1.3");
  RawSocket second = OpenTcp();
  EXPECT_EQ(second.ReceiveAll(), "") << "one of this address is open";
}

TEST_F(TlsTest, StopUnderLoad) {
  Start();
  std::atomic<int> answered = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([this, &answered] {
      const auto client = TlsClient(TcpAddress("https"), "ca.pem");
      while (client->Call("GET", "/v1/whoami")) ++answered;
    });
  }
  std::thread reader([this] {
    const auto client = TlsClient(TcpAddress("https"), "ca.pem");
    EXPECT_TRUE(client->Stream("/v1/events", {}, [](auto, auto, auto) { return true; }));
  });
  while (answered < 100 || front.stream_asks == 0) std::this_thread::yield();
  server->Stop();
  for (std::thread& caller : callers) caller.join();
  reader.join();
}

}  // namespace
}  // namespace muster::api
