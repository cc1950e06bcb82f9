// SPDX-License-Identifier: Apache-2.0
// Secrets: made, hashed, compared and checked. A token is kept as its hash only; the token of an
// attempt is kept nowhere, it can be computed again from the server's key.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/driver.h"

namespace muster::api {

/// A new secret of 256 bits: "mst1_" and 43 characters of base64url.
std::string NewSecret();

/// SHA-256 in hexadecimal.
std::string HashOf(std::string_view secret);

/// Two secrets that are to be compared.
struct SecretPair {
  std::string_view given;
  std::string_view expected;
};
/// Takes as long whether they differ early, late or not at all; only their sizes can be told apart.
bool SameSecret(const SecretPair& secrets);

/// The token of one attempt of a job: "mst1a_<job>_<attempt>_<HMAC-SHA256 in base64url>". `key` is
/// the server's own secret; whoever has it can make tokens.
std::string AttemptToken(std::string_view key, const driver::GangId& gang);
/// Does the text look like the token of an attempt, so that `CheckAttemptToken` is to judge it?
bool IsAttemptToken(std::string_view token);
/// The attempt that the token is for. `kNotAllowed` for anything that `AttemptToken` with this key
/// does not give, to the byte; the message never repeats the token.
base::Result<driver::GangId> CheckAttemptToken(std::string_view key, std::string_view token);

}  // namespace muster::api
