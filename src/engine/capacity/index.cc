// SPDX-License-Identifier: Apache-2.0
#include "engine/capacity/index.h"

#include <algorithm>
#include <utility>

#include "base/archive.h"
#include "base/strings.h"

namespace muster::engine {
namespace {

std::string Key(const base::Writer& writer) {
  return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

}  // namespace

ProfileId CapacityIndex::Intern(const model::ReplicaShape& request,
                                model::ResourceDefault resource_default, const LevelRules& rules) {
  base::Writer writer;
  writer(request, resource_default);
  const auto [shape_at, fresh_shape] =
      shape_ids_.try_emplace(Key(writer), static_cast<std::uint32_t>(shapes_.size()));
  if (fresh_shape) shapes_.push_back(std::make_unique<Shape>(request, resource_default));

  writer.Clear();
  writer(shape_at->second);
  for (const LevelRule& rule : rules) writer(rule.multiple, rule.limit);
  const auto [at, fresh] =
      profile_ids_.try_emplace(Key(writer), static_cast<std::uint32_t>(entries_.size()));
  if (fresh) {
    entries_.push_back(
        {.shape = shapes_[shape_at->second].get(), .rules = rules, .profile = nullptr});
  }
  return ProfileId{at->second};
}

CapacityIndex::Entry& CapacityIndex::Use(ProfileId id) {
  Entry& entry = entries_[id.value];
  entry.shape->Refresh(state_->tables());
  entry.last_use = ++uses_;
  return entry;
}

const Profile& CapacityIndex::Get(ProfileId id) {
  Entry& entry = Use(id);
  if (entry.profile == nullptr) {
    DropOldest();
    entry.profile = std::make_unique<Profile>(*entry.shape, entry.rules, Profile::Mode::kNow);
    entry.profile->ContinueFrom(entry.changes);
    ++live_;
  }
  work_ += entry.profile->CatchUp(*state_);
  return *entry.profile;
}

Profile::Changes CapacityIndex::News(ProfileId id, Profile::Changes seen, std::uint64_t from) {
  if (entries_[id.value].profile != nullptr) return Get(id).changes();
  const Entry& entry = Use(id);
  const auto changes = state_->ChangesSince(from);
  if (!changes) return {.growth = seen.growth + 1, .any = seen.any + 1};
  for (const NodeChange& change : *changes) {
    if (change.trial) continue;
    ++work_;
    seen.any = seen.any + 1;
    const NodeRow& row = state_->node(state_->tables().topology->node_at(change.position));
    if (Slots(*entry.shape, state_->tables(), row) > 0) ++seen.growth;
  }
  return seen;
}

const Profile& CapacityIndex::WhenEmpty(ProfileId id) {
  Entry& entry = Use(id);
  if (entry.empty == nullptr) {
    DropOldest();
    entry.empty = std::make_unique<Profile>(*entry.shape, entry.rules, Profile::Mode::kWhenEmpty);
    ++live_;
  }
  work_ += entry.empty->CatchUp(*state_);
  return *entry.empty;
}

std::string CapacityIndex::Verify() {
  for (Entry& entry : entries_) {
    if (entry.profile == nullptr) continue;
    entry.shape->Refresh(state_->tables());
    entry.profile->CatchUp(*state_);
    Profile fresh(*entry.shape, entry.rules, Profile::Mode::kNow);
    fresh.CatchUp(*state_);
    for (LevelIndex level = 0; level < state_->tables().topology->level_count(); ++level) {
      if (!std::ranges::equal(fresh.capacity(level), entry.profile->capacity(level))) {
        return base::Format("capacity index: level {} differs from a full scan",
                            state_->tables().topology->level_name(level));
      }
    }
  }
  return {};
}

std::int64_t CapacityIndex::TakeWork() { return std::exchange(work_, 0); }

void CapacityIndex::DropOldest() {
  const std::size_t bytes_each = 5 * (std::size_t{state_->tables().topology->node_count()} + 1);
  if (live_ < std::max(kFewestProfiles, kMostBytes / bytes_each)) return;
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    const bool live = entry.profile != nullptr || entry.empty != nullptr;
    if (live && (oldest == nullptr || entry.last_use < oldest->last_use)) oldest = &entry;
  }
  if (oldest->profile != nullptr) {
    oldest->changes = oldest->profile->changes();
    oldest->profile.reset();
    --live_;
  }
  if (oldest->empty != nullptr) {
    oldest->empty.reset();
    --live_;
  }
}

}  // namespace muster::engine
