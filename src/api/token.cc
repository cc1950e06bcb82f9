// SPDX-License-Identifier: Apache-2.0
#include "api/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/strings.h"

namespace muster::api {
namespace {

constexpr std::string_view kAttemptPrefix = "mst1a_";
/// Longer than any token we make; what is longer is not worth a look.
constexpr std::size_t kMaxToken = 128;

/// RFC 4648, section 5, without padding.
std::string Base64Url(std::span<const unsigned char> bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const unsigned char byte : bytes) {
    pending = (pending << 8U) | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out.push_back(kAlphabet[(pending >> bits) & 63U]);
    }
  }
  if (bits > 0) out.push_back(kAlphabet[(pending << (6 - bits)) & 63U]);
  return out;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Takes the number and the '_' behind it from the front of `text`.
std::optional<std::uint32_t> TakeNumber(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits == text.size() || text[digits] != '_') return std::nullopt;
  text.remove_prefix(digits + 1);
  return number;
}

}  // namespace

std::string NewSecret() {
  std::array<unsigned char, 32> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    MUSTER_CHECK(got > 0 || errno == EINTR);  // the call has no other way to fail
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return "mst1_" + Base64Url(bytes);
}

std::string HashOf(std::string_view secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(Bytes(secret), secret.size(), digest.data());
  std::string out;
  for (const unsigned char byte : digest) out += base::Format("{:02x}", byte);
  return out;
}

bool SameSecret(const SecretPair& secrets) {
  return secrets.given.size() == secrets.expected.size() &&
         CRYPTO_memcmp(secrets.given.data(), secrets.expected.data(), secrets.given.size()) == 0;
}

std::string AttemptToken(std::string_view key, const driver::GangId& gang) {
  MUSTER_CHECK(!key.empty());
  std::string token = base::Format("{}{}_{}_", kAttemptPrefix, gang.job.value, gang.attempt.value);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> mac{};
  unsigned size = 0;
  // The prefix is part of what is signed: a key that served two purposes would still tell them
  // apart.
  const unsigned char* const made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                         Bytes(token), token.size(), mac.data(), &size);
  MUSTER_CHECK(made != nullptr && size == mac.size());
  return token + Base64Url(mac);
}

bool IsAttemptToken(std::string_view token) { return token.starts_with(kAttemptPrefix); }

base::Result<driver::GangId> CheckAttemptToken(std::string_view key, std::string_view token) {
  const base::Error refused{base::ErrorCode::kNotAllowed, "this is no token of an attempt here"};
  if (!IsAttemptToken(token) || token.size() > kMaxToken) return refused;
  std::string_view rest = token.substr(kAttemptPrefix.size());
  const auto job = TakeNumber(rest);
  if (!job) return refused;
  const auto attempt = TakeNumber(rest);
  if (!attempt) return refused;
  const driver::GangId gang{.job = model::JobId{*job}, .attempt = model::Attempt{*attempt}};
  // The whole text is compared, so that one attempt has one token: no leading zeros, no other
  // spelling of the same bytes.
  const std::string expected = AttemptToken(key, gang);
  if (!SameSecret({.given = token, .expected = expected})) return refused;
  return gang;
}

}  // namespace muster::api
