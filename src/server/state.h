// SPDX-License-Identifier: Apache-2.0
// The server's whole state: the engine, the tables, the number of the last record. A function of
// the records alone, so that a restart, a check of the journal and the live server cannot differ.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/picture.h"
#include "server/records.h"

namespace muster::server {

/// What an idempotency key stands for.
struct KeyRecord {
  model::JobId first;
  std::uint32_t count = 0;
  std::uint64_t request_hash = 0;
  base::Instant at;
};

/// Keys of the last day, at most `kKeptKeys`.
class IdempotencyKeys {
 public:
  static constexpr std::size_t kKeptKeys = 100'000;

  /// Null: not known.
  const KeyRecord* Find(const std::string& user, const std::string& key) const;
  void Add(const std::string& user, const std::string& key, const KeyRecord& record);
  void Remove(const std::string& user, const std::string& key);
  void DropOld(base::Instant now);

  using Name = std::pair<std::string, std::string>;  ///< user, key
  const std::map<Name, KeyRecord>& all() const { return records_; }

 private:
  std::map<Name, KeyRecord> records_;
  std::deque<Name> by_age_;  ///< may name some that were removed
};

struct StateOptions {
  model::Policy policy;
  std::string policy_text;
  std::uint64_t seed = 1;
};

class State {
 public:
  explicit State(const StateOptions& options);
  /// The whole state as bytes, and back.
  std::vector<std::uint8_t> Snapshot() const;
  static base::Result<State> Restore(std::span<const std::uint8_t> bytes);

  /// Takes in a batch that has notes and facts, and fills in what the engine decides. True: the
  /// engine has more to decide, in a batch of its own.
  bool Decide(Batch& batch);
  /// Takes in a batch as it was recorded.
  void Replay(const Batch& batch);
  /// Back to what `picture` shows; `undone` is the batch that was taken in since.
  void RollBack(const Picture& picture, const Batch& undone);

  const engine::Engine& engine() const { return engine_; }
  const Tables& tables() const { return tables_; }
  const IdempotencyKeys& keys() const { return keys_; }
  std::uint64_t sequence() const { return sequence_; }
  base::Instant at() const { return at_; }
  /// Jobs that have not ended.
  std::size_t live_jobs() const { return live_jobs_; }

 private:
  State(engine::Engine engine, Tables tables)
      : engine_(std::move(engine)), tables_(std::move(tables)) {}
  void TakeIn(const Batch& batch);
  void Finish(const Batch& batch);
  void CountLiveJobs();

  engine::Engine engine_;
  Tables tables_;
  IdempotencyKeys keys_;
  std::uint64_t sequence_ = 0;
  base::Instant at_;
  std::size_t live_jobs_ = 0;
};

}  // namespace muster::server
