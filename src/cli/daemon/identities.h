// SPDX-License-Identifier: Apache-2.0
// Who a caller is and what they may do: by the account at the other end of a Unix socket, or by a
// token.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/http_server.h"
#include "base/result.h"
#include "base/time.h"
#include "server/caller.h"
#include "server/clock.h"
#include "server/front.h"

namespace muster::cli {

/// Members of this group, where the machine has it, may act on nodes and pause starts.
inline constexpr std::string_view kOperatorsGroup = "muster";

/// Used by the transport's thread alone.
class Identities {
 public:
  struct Options {
    std::uint32_t own_uid = 0;  ///< the server's
    std::string secret;         ///< of attempts' tokens
  };
  /// Both must outlive it.
  Identities(const server::Front& front, server::Clock& clock, Options options)
      : front_(front), clock_(clock), options_(std::move(options)) {}

  server::Caller OfPeer(const api::Peer& peer);
  base::Result<server::Caller> OfToken(std::string_view token) const;

 private:
  struct Known {
    server::Caller caller;
    base::Duration until;
  };
  server::Caller LookUp(const api::Peer& peer) const;
  base::Result<server::Caller> OfAttemptToken(std::string_view token) const;

  const server::Front& front_;
  server::Clock& clock_;
  Options options_;
  /// Asking for accounts and groups may go over the network; once a minute is enough.
  std::map<std::uint32_t, Known> known_;
};

}  // namespace muster::cli
