// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/identities.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <vector>

#include "api/token.h"
#include "base/strings.h"

namespace muster::cli {
namespace {

constexpr base::Duration kKeptFor = base::Minutes(1);
constexpr std::size_t kMostKept = 10'000;
constexpr std::size_t kRoom = std::size_t{64} << 10;  ///< for an entry of the account database

/// Is the account in the group that makes operators?
bool IsOperator(const char* user, gid_t own_group) {
  std::vector<char> room(kRoom);
  group entry{};
  group* found = nullptr;
  const std::string name(kOperatorsGroup);
  if (getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return false;
  std::vector<gid_t> groups(64);
  auto count = static_cast<int>(groups.size());
  if (getgrouplist(user, own_group, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(std::max(count, 64)));
    count = static_cast<int>(groups.size());
    if (getgrouplist(user, own_group, groups.data(), &count) < 0) return false;
  }
  return std::find(groups.begin(), groups.begin() + count, found->gr_gid) != groups.begin() + count;
}

base::Error Refused(std::string text) {
  return {base::ErrorCode::kNotAllowed, std::move(text), ""};
}

}  // namespace

server::Caller Identities::LookUp(const api::Peer& peer) const {
  server::Caller caller;
  caller.account = {.uid = peer.uid, .gid = peer.gid, .user = base::Format("uid-{}", peer.uid)};
  std::vector<char> room(kRoom);
  passwd entry{};
  passwd* found = nullptr;
  const bool has_account =
      getpwuid_r(peer.uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr;
  if (has_account) {
    caller.account.user = found->pw_name;
    // A job begins with the account's own group, whatever `newgrp` the caller is in.
    caller.account.gid = found->pw_gid;
  }
  caller.role = server::Role::kUser;
  if (peer.uid == 0 || peer.uid == options_.own_uid) {
    caller.role = server::Role::kAdmin;
  } else if (has_account && IsOperator(found->pw_name, found->pw_gid)) {
    caller.role = server::Role::kOperator;
  }
  return caller;
}

server::Caller Identities::OfPeer(const api::Peer& peer) {
  const base::Duration now = clock_.Steady();
  auto known = known_.find(peer.uid);
  if (known == known_.end() || known->second.until < now) {
    if (known_.size() >= kMostKept) known_.clear();
    known = known_.insert_or_assign(peer.uid, Known{LookUp(peer), now + kKeptFor}).first;
  }
  server::Caller caller = known->second.caller;
  caller.from = base::Format("socket, pid {}", peer.pid);
  return caller;
}

base::Result<server::Caller> Identities::OfAttemptToken(std::string_view token) const {
  const auto gang = api::CheckAttemptToken(options_.secret, token);
  if (!gang) return gang.error();
  const server::PicturePtr picture = front_.Look();
  const engine::JobView job = picture->view.Job(gang->job);
  if (job.placement == nullptr || job.attempt != gang->attempt) {
    return Refused(base::Format("attempt {} of job {} is over, and so is its token",
                                gang->attempt.value, gang->job.value));
  }
  return server::Caller{
      .account = picture->tables.jobs[gang->job.value].owner,
      .role = server::Role::kUser,
      .from = base::Format("token of job {}, attempt {}", gang->job.value, gang->attempt.value),
      .attempt = *gang};
}

base::Result<server::Caller> Identities::OfToken(std::string_view token) const {
  if (api::IsAttemptToken(token)) return OfAttemptToken(token);
  const std::string hash = api::HashOf(token);
  const server::PicturePtr picture = front_.Look();
  if (picture->tables.tokens == nullptr) return Refused("this token is not known here");
  for (const server::TokenCreated& known : *picture->tables.tokens) {
    if (!api::SameSecret({.given = hash, .expected = known.hash})) continue;
    if (known.expires.us != 0 && known.expires <= clock_.Now())
      return Refused(base::Format("the token {} has expired", base::Quote(known.name)));
    return server::Caller{
        .account = known.account, .role = known.role, .from = "token " + known.name};
  }
  return Refused("this token is not known here");
}

}  // namespace muster::cli
