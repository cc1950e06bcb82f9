// SPDX-License-Identifier: Apache-2.0
#include "engine/queueing/waiting.h"

#include <algorithm>

#include "base/check.h"

namespace muster::engine {

void Waiting::ReadRules(const State& state, model::QueueId id, Queue& queue) const {
  const auto& rules = state.tables().policy->queues;
  const auto at =
      std::ranges::find(rules, state.tables().queues[id.value].name, &model::QueuePolicy::name);
  queue.known = at != rules.end();
  queue.blocking = queue.known ? at->blocking : model::Blocking::kBypass;
  queue.order = queue.known ? FindQueueOrder(at->order) : &QueueOrders().front();
  MUSTER_CHECK(queue.order != nullptr);  // CheckPolicy refused unknown orders
}

Waiting::Queue& Waiting::QueueOf(const State& state, model::QueueId id) {
  while (queues_.size() <= id.value) {
    queues_.emplace_back();
    ReadRules(state, model::QueueId{static_cast<std::uint32_t>(queues_.size() - 1)},
              queues_.back());
  }
  return queues_[id.value];
}

WaitingClassId Waiting::ClassOf(const State& state, const JobRow& row, std::int32_t relax_step) {
  const GangShapeId shape = shapes_.Intern(row.request);
  const auto [at, fresh] = class_ids_.try_emplace(
      {shape, row.queue, relax_step}, WaitingClassId{static_cast<std::uint32_t>(classes_.size())});
  if (fresh) {
    classes_.push_back({.request = row.request, .queue = row.queue, .relax_step = relax_step});
    QueueOf(state, row.queue);
  }
  return at->second;
}

void Waiting::Add(const State& state, model::JobId job, std::int32_t relax_step) {
  MUSTER_CHECK(!Contains(job));
  const JobRow& row = state.job(job);
  const WaitingClassId id = ClassOf(state, row, relax_step);
  Queue& queue = QueueOf(state, row.queue);
  const OrderKey key = KeyOf(*queue.order, row, job);
  place_of_.emplace(job, Place{id, key});
  Class& c = classes_[id.value];
  if (!c.jobs.empty() && *c.jobs.begin() < key) {
    c.jobs.insert(key);
    return;
  }
  TakeHead(id);
  c.jobs.insert(key);
  if (c.mood == Mood::kParked) {  // its new head may stand before the one that blocks
    std::erase(queue.parked, id);
    c.mood = Mood::kReady;
  }
  if (IsUnproved(c)) c.mood = Mood::kReady;
  PutHead(id);
}

void Waiting::Remove(model::JobId job) {
  const auto at = place_of_.find(job);
  if (at == place_of_.end()) return;
  const Place place = at->second;
  place_of_.erase(at);
  Class& c = classes_[place.id.value];
  if (place.key != *c.jobs.begin()) {
    c.jobs.erase(place.key);
    return;
  }
  TakeHead(place.id);
  c.jobs.erase(place.key);
  if (IsUnproved(c)) c.mood = Mood::kReady;
  PutHead(place.id);
}

/// What one head's search did not find, another's may: only a proof holds for the whole class.
bool Waiting::IsUnproved(const Class& c) { return c.mood == Mood::kBlocked && !c.proved; }

void Waiting::TakeHead(WaitingClassId id) {
  Class& c = classes_[id.value];
  if (c.jobs.empty()) return;
  if (c.mood == Mood::kReady) ready_.erase({*c.jobs.begin(), id});
  if (c.mood == Mood::kBlocked) {
    Queue& queue = queues_[c.queue.value];
    queue.blocked_heads.erase(*c.jobs.begin());
    Unpark(queue);
  }
}

void Waiting::PutHead(WaitingClassId id) {
  Class& c = classes_[id.value];
  if (c.jobs.empty()) return;
  if (c.mood == Mood::kReady) ready_.insert({*c.jobs.begin(), id});
  if (c.mood == Mood::kBlocked) queues_[c.queue.value].blocked_heads.insert(*c.jobs.begin());
}

void Waiting::SetMood(WaitingClassId id, Mood mood) {
  TakeHead(id);
  classes_[id.value].mood = mood;
  PutHead(id);
}

void Waiting::Unpark(Queue& queue) {
  std::vector<WaitingClassId> parked;
  parked.swap(queue.parked);
  for (const WaitingClassId id : parked) SetMood(id, Mood::kReady);
}

void Waiting::ReadyAll() {
  watches_.clear();
  for (Queue& queue : queues_) queue.parked.clear();
  for (std::uint32_t i = 0; i < classes_.size(); ++i) SetMood(WaitingClassId{i}, Mood::kReady);
}

void Waiting::PolicyChanged(const State& state) {
  ReadyAll();
  for (std::uint32_t i = 0; i < queues_.size(); ++i)
    ReadRules(state, model::QueueId{i}, queues_[i]);
  // Orders may differ now, and with them every key.
  std::vector<std::pair<model::JobId, std::int32_t>> jobs;
  for (const Class& c : classes_) {
    for (const OrderKey& key : c.jobs) jobs.emplace_back(key.job, c.relax_step);
  }
  for (const auto& [job, step] : jobs) Remove(job);
  for (const auto& [job, step] : jobs) Add(state, job, step);
}

void Waiting::Wake(const State& state, CapacityIndex& index) {
  if (seen_hardware_ != state.hardware_version() || seen_topology_ != state.topology_version()) {
    seen_hardware_ = state.hardware_version();
    seen_topology_ = state.topology_version();
    seen_changes_ = state.change_end();
    return ReadyAll();
  }
  if (seen_changes_ == state.change_end()) return;
  seen_changes_ = state.change_end();
  std::vector<ProfileId> done;
  for (auto& [id, watch] : watches_) {
    const CapacityIndex::News news = index.NewsSince(id, watch.seen_to, watch.growth);
    watch.seen_to = state.change_end();
    watch.growth = news.growth;
    if (!news.any) continue;
    std::erase_if(watch.classes, [&](WaitingClassId waiting) {
      const Class& c = classes_[waiting.value];
      if (c.mood != Mood::kBlocked) return true;
      if (!news.grew && c.proved) return false;
      SetMood(waiting, Mood::kReady);
      return true;
    });
    if (watch.classes.empty()) done.push_back(id);
  }
  for (const ProfileId id : done) watches_.erase(id);
}

std::optional<Waiting::Head> Waiting::Next() {
  while (!ready_.empty()) {
    const auto [key, id] = *ready_.begin();
    Queue& queue = queues_[classes_[id.value].queue.value];
    const bool behind = queue.blocking == model::Blocking::kStrict &&
                        !queue.blocked_heads.empty() && *queue.blocked_heads.begin() < key;
    if (queue.known && !behind) return Head{key.job, id};
    SetMood(id, Mood::kParked);
    queue.parked.push_back(id);
  }
  return std::nullopt;
}

void Waiting::Block(WaitingClassId id, const std::vector<ProfileId>& profiles, bool proved,
                    CapacityIndex& index) {
  classes_[id.value].proved = proved;
  SetMood(id, Mood::kBlocked);
  for (const ProfileId profile : profiles) {
    const auto [at, fresh] = watches_.try_emplace(profile);
    Watch& watch = at->second;
    if (fresh) {
      watch.growth = index.Get(profile).growth();
      watch.seen_to = seen_changes_;
    }
    watch.classes.insert(id);
  }
}

void Waiting::SetNever(WaitingClassId id) { SetMood(id, Mood::kNever); }

}  // namespace muster::engine
