// SPDX-License-Identifier: Apache-2.0
#include "engine/state/snapshot.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/archive.h"
#include "base/cow_archive.h"
#include "base/hash.h"
#include "base/strings.h"
#include "model/check_request.h"
#include "model/request_list.h"

namespace muster::engine {

template <class A>
void Archive(A& a, NodeUse& v) {
  a(v.devices, v.cpu, v.memory, v.nics, v.extended);
}
template <class A>
void Archive(A& a, NodeRow& v) {
  a(v.spec, v.hardware, v.state, v.gone, v.faulty, v.foreign, v.use);
}
template <class A>
void Archive(A& a, Hardware& v) {
  a(v.devices, v.anonymous, v.taints);
}
/// All but the request, which is written as a number.
template <class A>
void Archive(A& a, JobRow& v) {
  a(v.placement, v.ranks_gone, v.submitted, v.eligible, v.started, v.ended, v.checkpointed,
    v.checkpoint_step, v.queue, v.user, v.attempt, v.priority, v.ranks_left, v.restarts, v.phase,
    v.end, v.stop_reason, v.held, v.cancelled, v.failed, v.broken);
}
template <class A>
void Archive(A& a, QueueRow& v) {
  a(v.name, v.use.devices, v.use.cpu, v.use.memory);
}
template <class A>
void Archive(A& a, UserRow& v) {
  a(v.name);
}

namespace {

/// 2 added `starts_paused`, at the end.
constexpr std::uint32_t kFormatVersion = 2;
constexpr std::uint32_t kOldestVersion = 1;
constexpr std::size_t kChecksumBytes = 8;

std::array<std::uint8_t, kChecksumBytes> ChecksumOf(std::span<const std::uint8_t> bytes) {
  base::StreamHash hash;
  hash.Add(bytes);
  std::array<std::uint8_t, kChecksumBytes> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(hash.Value() >> (8 * i));
  }
  return out;
}

/// At the end, so that damage is noticed before a number is believed.
void AppendChecksum(std::vector<std::uint8_t>& bytes) {
  const auto checksum = ChecksumOf(bytes);
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
}

bool HasChecksum(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= kChecksumBytes &&
         std::ranges::equal(ChecksumOf(bytes.first(bytes.size() - kChecksumBytes)),
                            bytes.last(kChecksumBytes));
}

/// Everything that a row refers to exists. Numbers inside rows are checked by the ledger.
bool RefersToRows(const Tables& tables) {
  for (std::size_t i = 0; i < tables.hardware.size(); ++i) {
    if (tables.hardware[i].devices.size() > static_cast<std::size_t>(model::kMaxDevicesPerNode))
      return false;
  }
  for (std::size_t i = 0; i < tables.nodes.size(); ++i) {
    const NodeRow& row = tables.nodes[i];
    if (row.spec == nullptr || row.hardware >= tables.hardware.size() ||
        row.spec->devices.size() > static_cast<std::size_t>(model::kMaxDevicesPerNode)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < tables.jobs.size(); ++i) {
    const JobRow& job = tables.jobs[i];
    const bool placed = job.phase == JobPhase::kStarting || job.phase == JobPhase::kRunning ||
                        job.phase == JobPhase::kStopping;
    if (HasPlace(job) != placed) return false;
    if (job.phase == JobPhase::kUnknown) continue;
    if (job.queue.value >= tables.queues.size() || job.user.value >= tables.users.size())
      return false;
    if (job.phase != JobPhase::kEnded && job.request == nullptr) return false;
    if (!HasPlace(job)) continue;
    if (job.request == nullptr || job.placement->group_sizes.size() != job.request->groups.size())
      return false;
    std::int64_t ranks = 0;
    for (const std::int32_t size : job.placement->group_sizes) {
      if (size < 0) return false;
      ranks += size;
    }
    if (ranks != static_cast<std::int64_t>(job.placement->ranks.size())) return false;
    if (job.ranks_gone != nullptr && job.ranks_gone->size() * 64 < job.placement->ranks.size())
      return false;
    for (const model::ReplicaPlacement& rank : job.placement->ranks) {
      if (rank.node.value >= tables.nodes.size()) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::uint8_t> WriteSnapshot(const Tables& tables) {
  base::Writer writer;
  writer(kFormatVersion, *tables.policy, tables.seed, tables.latest, *tables.extended_names);
  base::WriteTable(writer, tables.hardware);
  base::WriteTable(writer, tables.nodes);
  base::WriteTable(writer, tables.queues);
  base::WriteTable(writer, tables.users);
  writer(model::RequestList::Of(tables.jobs));
  base::WriteTable(writer, tables.jobs);
  writer(tables.starts_paused);
  std::vector<std::uint8_t> bytes = std::move(writer).Take();
  AppendChecksum(bytes);
  return bytes;
}

base::Result<Tables> ReadSnapshot(std::span<const std::uint8_t> bytes) {
  const base::Error damaged{base::ErrorCode::kInvalid, "the snapshot is damaged or cut short", ""};
  if (bytes.size() < kChecksumBytes) return damaged;
  base::Reader reader(bytes.first(bytes.size() - kChecksumBytes));
  std::uint32_t version = 0;
  reader(version);
  if (version < kOldestVersion ||
      version > kFormatVersion) {  // first, as another version may have another checksum
    return base::Error{base::ErrorCode::kInvalid,
                       base::Format("snapshot format {} is none that this build reads ({} to {})",
                                    version, kOldestVersion, kFormatVersion),
                       ""};
  }
  if (!HasChecksum(bytes)) return damaged;
  Tables tables;
  model::Policy policy;
  std::vector<std::string> extended_names;
  model::RequestList requests;
  reader(policy, tables.seed, tables.latest, extended_names);
  base::ReadTable(reader, tables.hardware);
  tables.policy = std::make_shared<const model::Policy>(std::move(policy));
  tables.extended_names =
      std::make_shared<const std::vector<std::string>>(std::move(extended_names));
  base::ReadTable(reader, tables.nodes);
  base::ReadTable(reader, tables.queues);
  base::ReadTable(reader, tables.users);
  reader(requests);
  base::ReadTable(reader, tables.jobs);
  if (version >= 2) reader(tables.starts_paused);
  if (!reader.ok() || !reader.AtEnd() || !requests.GiveTo(tables.jobs)) return damaged;
  // The gate let only sound requests in, and the engine relies on it.
  for (const model::GangRequestPtr& request : requests.distinct) {
    if (request == nullptr || !model::CheckRequest(*request).empty()) return damaged;
  }
  if (!RefersToRows(tables)) return damaged;
  tables.topology = BuildTopology(tables);
  return tables;
}

}  // namespace muster::engine
