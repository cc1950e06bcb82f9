// SPDX-License-Identifier: Apache-2.0
#include "server/state.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "base/cow_archive.h"
#include "base/strings.h"
#include "model/request_list.h"
#include "server/records_archive.h"
#include "server/tables.h"

namespace muster::server {

template <class A>
void Archive(A& a, AttemptRecord& v) {
  a(v.number, v.placed, v.running, v.ended, v.why, v.placement, v.bad_rank, v.bad_exit);
}
template <class A>
void Archive(A& a, CheckpointRecord& v) {
  a(v.step, v.path, v.at, v.attempt);
}
/// All but the request, which is written as a number.
template <class A>
void Archive(A& a, JobRecord& v) {
  a(v.text, v.owner, v.queue, v.submitted, v.start_after, v.attempts, v.checkpoint);
}
template <class A>
void Archive(A& a, NodeRecord& v) {
  a(v.note, v.state_reason);
}
template <class A>
void Archive(A& a, AuditRecord& v) {
  a(v.at, v.act);
}
template <class A>
void Archive(A& a, UsageKey& v) {
  a(v.day, v.queue, v.user, v.model);
}
template <class A>
void Archive(A& a, UsageRow& v) {
  a(v.allocated_us, v.lost_us, v.cpu_us);
}
template <class A>
void Archive(A& a, PauseRecord& v) {
  a(v.paused, v.reason, v.since);
}
template <class A>
void Archive(A& a, KeyRecord& v) {
  a(v.first, v.count, v.request_hash, v.at);
}

namespace {

constexpr std::uint32_t kFormatVersion = 1;
constexpr base::Duration kKeyLifetime = base::Hours(24);
/// Work of one pass; a few tens of milliseconds. What is left is done in batches of its own, so
/// that requests do not wait for it.
constexpr engine::WorkBudget kPassBudget{.units = 1'000'000};

base::Error Damaged() {
  return {base::ErrorCode::kInvalid, "the snapshot is damaged or cut short", ""};
}

/// Maps go out as lists of pairs.
template <class Map>
auto Pairs(const Map& map) {
  return std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>>(map.begin(),
                                                                                   map.end());
}
template <class Map>
Map FromPairs(base::Reader& reader) {
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> pairs;
  reader(pairs);
  return Map(std::make_move_iterator(pairs.begin()), std::make_move_iterator(pairs.end()));
}

UsageDays ReadUsage(base::Reader& reader) {
  UsageDays days;
  std::vector<std::pair<UsageKey, UsageRow>> rows;
  reader(rows);
  std::map<std::int64_t, UsageDay> by_day;
  for (auto& [key, row] : rows) by_day[key.day].emplace(key, row);
  for (auto& [day, of_day] : by_day)
    days[day] = std::make_shared<const UsageDay>(std::move(of_day));
  return days;
}

std::vector<std::pair<UsageKey, UsageRow>> UsageRows(const UsageDays& days) {
  std::vector<std::pair<UsageKey, UsageRow>> rows;
  for (const auto& [day, of_day] : days) rows.insert(rows.end(), of_day->begin(), of_day->end());
  return rows;
}

/// The rest of the tables after the engine's snapshot.
Tables ReadTables(base::Reader& reader) {
  Tables tables;
  model::RequestList requests;
  reader(requests);
  base::ReadTable(reader, tables.jobs);
  if (reader.ok() && !requests.GiveTo(tables.jobs)) reader.Fail();
  tables.nodes = std::make_shared<const NodeRecords>(FromPairs<NodeRecords>(reader));
  std::vector<TokenCreated> tokens;
  reader(tokens);
  tables.tokens = std::make_shared<const std::vector<TokenCreated>>(std::move(tokens));
  base::ReadTable(reader, tables.audit);
  tables.usage = std::make_shared<const UsageDays>(ReadUsage(reader));
  std::string policy_text;
  reader(tables.pause, policy_text);
  tables.policy_text = std::make_shared<const std::string>(std::move(policy_text));
  return tables;
}

/// What the engine holds of a job need not be kept twice.
void ShareRequests(Tables& tables, const engine::View& view) {
  for (std::uint32_t i = 0; i < tables.jobs.size() && i < view.job_count(); ++i) {
    if (tables.jobs.IsDropped(i) || tables.jobs[i].request == nullptr) continue;
    if (auto request = view.Job(model::JobId{i}).request; request != nullptr)
      tables.jobs.Mutable(i).request = std::move(request);
  }
}

}  // namespace

const KeyRecord* IdempotencyKeys::Find(const std::string& user, const std::string& key) const {
  const auto at = records_.find(Name{user, key});
  return at == records_.end() ? nullptr : &at->second;
}

void IdempotencyKeys::Add(const std::string& user, const std::string& key,
                          const KeyRecord& record) {
  records_[Name{user, key}] = record;
  by_age_.emplace_back(user, key);
}

void IdempotencyKeys::Remove(const std::string& user, const std::string& key) {
  records_.erase(Name{user, key});
}

void IdempotencyKeys::DropOld(base::Instant now) {
  while (!by_age_.empty()) {
    const auto at = records_.find(by_age_.front());
    if (at != records_.end() && by_age_.size() <= kKeptKeys && at->second.at + kKeyLifetime > now)
      return;
    if (at != records_.end()) records_.erase(at);
    by_age_.pop_front();
  }
}

State::State(const StateOptions& options)
    : engine_(options.policy, options.seed), tables_(EmptyTables()) {
  tables_.policy_text = std::make_shared<const std::string>(options.policy_text);
}

std::vector<std::uint8_t> State::Snapshot() const {
  base::Writer writer;
  writer(kFormatVersion, sequence_, at_, engine_.Snapshot());
  writer(model::RequestList::Of(tables_.jobs));
  base::WriteTable(writer, tables_.jobs);
  writer(Pairs(*tables_.nodes), *tables_.tokens);
  base::WriteTable(writer, tables_.audit);
  writer(UsageRows(*tables_.usage), tables_.pause, *tables_.policy_text, Pairs(keys_.all()));
  return std::move(writer).Take();
}

base::Result<State> State::Restore(std::span<const std::uint8_t> bytes) {
  base::Reader reader(bytes);
  std::uint32_t version = 0;
  std::uint64_t sequence = 0;
  base::Instant at;
  std::vector<std::uint8_t> engine_bytes;
  reader(version);
  if (!reader.ok() || version != kFormatVersion) {
    return base::Error{
        base::ErrorCode::kInvalid,
        base::Format("server snapshot format {} is not the one this build reads ({})", version,
                     kFormatVersion),
        ""};
  }
  reader(sequence, at, engine_bytes);
  if (!reader.ok()) return Damaged();
  auto engine = engine::Engine::Restore(engine_bytes);
  if (!engine) return engine.error();
  Tables tables = ReadTables(reader);
  auto keys = FromPairs<std::map<IdempotencyKeys::Name, KeyRecord>>(reader);
  if (!reader.ok() || !reader.AtEnd()) return Damaged();
  ShareRequests(tables, engine->view());
  State state(std::move(*engine), std::move(tables));
  state.sequence_ = sequence;
  state.at_ = at;
  std::vector<std::pair<IdempotencyKeys::Name, KeyRecord>> by_age(keys.begin(), keys.end());
  std::ranges::stable_sort(by_age, {}, [](const auto& each) { return each.second.at; });
  for (const auto& [name, record] : by_age) state.keys_.Add(name.first, name.second, record);
  state.CountLiveJobs();
  return state;
}

void State::CountLiveJobs() {
  live_jobs_ = 0;
  const engine::View view = engine_.view();
  for (std::uint32_t i = 0; i < view.job_count(); ++i) {
    const engine::JobPhase phase = view.Job(model::JobId{i}).phase;
    if (phase != engine::JobPhase::kUnknown && phase != engine::JobPhase::kEnded) ++live_jobs_;
  }
}

void State::TakeIn(const Batch& batch) {
  for (const model::Fact& fact : batch.facts) engine_.Apply({batch.at, fact});
}

void State::Finish(const Batch& batch) {
  ++sequence_;
  at_ = batch.at;
  keys_.DropOld(batch.at);
  for (const Note& note : batch.notes) {
    const auto* accepted = std::get_if<JobAccepted>(&note);
    if (accepted == nullptr) continue;
    ++live_jobs_;
    if (accepted->idempotency_key.empty()) continue;
    keys_.Add(accepted->owner.user, accepted->idempotency_key,
              {accepted->job, accepted->of, accepted->request_hash, batch.at});
  }
  for (const model::Decision& decision : batch.decisions) {
    if (std::holds_alternative<model::FinishJob>(decision)) --live_jobs_;
  }
  Fold(tables_, batch, sequence_, engine_.view());
}

bool State::Decide(Batch& batch) {
  TakeIn(batch);
  engine::Pass pass = engine_.Decide(batch.at, kPassBudget);
  batch.decisions = std::move(pass.decisions);
  Finish(batch);
  return pass.more;
}

void State::Replay(const Batch& batch) {
  TakeIn(batch);
  for (const model::Decision& decision : batch.decisions) engine_.Commit(decision, batch.at);
  Finish(batch);
}

void State::RollBack(const Picture& picture, const Batch& undone) {
  engine_ = engine::Engine::FromView(picture.view);
  tables_ = picture.tables;
  sequence_ = picture.sequence;
  at_ = picture.at;
  for (const Note& note : undone.notes) {
    const auto* accepted = std::get_if<JobAccepted>(&note);
    if (accepted != nullptr && !accepted->idempotency_key.empty())
      keys_.Remove(accepted->owner.user, accepted->idempotency_key);
  }
  CountLiveJobs();
}

}  // namespace muster::server
