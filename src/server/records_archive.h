// SPDX-License-Identifier: Apache-2.0
// How the parts of records and snapshots are written. For the .cc files of this folder only.
#pragma once

#include "base/archive.h"
#include "server/records.h"

namespace muster::server {

template <class A>
void Archive(A& a, JobText& v) {
  a(v.name, v.priority_class, v.labels, v.commands);
}
template <class A>
void Archive(A& a, JobAccepted& v) {
  a(v.job, v.text, v.owner, v.idempotency_key, v.request_hash, v.of);
}
template <class A>
void Archive(A& a, RankExitNoted& v) {
  a(v.gang, v.rank, v.exit);
}
template <class A>
void Archive(A& a, NodeNoted& v) {
  a(v.node, v.note, v.state_reason);
}
template <class A>
void Archive(A& a, CheckpointNoted& v) {
  a(v.gang, v.step, v.path);
}
template <class A>
void Archive(A& a, PauseNoted& v) {
  a(v.paused, v.reason);
}
template <class A>
void Archive(A& a, TokenCreated& v) {
  a(v.name, v.hash, v.role, v.account, v.expires);
}
template <class A>
void Archive(A& a, TokenRevoked& v) {
  a(v.name);
}
template <class A>
void Archive(A& a, PolicyNoted& v) {
  a(v.text);
}
template <class A>
void Archive(A& a, ClassNoted& v) {
  a(v.job, v.priority_class);
}
template <class A>
void Archive(A& a, Audited& v) {
  a(v.user, v.from, v.action, v.target, v.detail, v.allowed);
}

}  // namespace muster::server
