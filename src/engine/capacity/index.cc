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
    entry.profile->ContinueFrom(entry.growth);
    ++live_;
  }
  work_ += entry.profile->CatchUp(*state_);
  return *entry.profile;
}

CapacityIndex::News CapacityIndex::NewsSince(ProfileId id, std::uint64_t log_position,
                                             std::uint64_t growth) {
  const Entry& entry = Use(id);
  const auto changes = state_->ChangesSince(log_position);
  if (!changes) return {.any = true, .grew = true, .growth = growth};
  News news{.growth = growth};
  // A node without room for one replica is no news to those who wait for room, and that is soon
  // told.
  for (const NodeChange& change : *changes) {
    if (change.trial) continue;
    news.any = true;
    if (news.grew) break;
    ++work_;
    const NodeRow& row = state_->node(state_->tables().topology->node_at(change.position));
    news.grew = Slots(*entry.shape, state_->tables(), row) > 0;
  }
  if (news.grew && entry.profile != nullptr) {
    news.growth = Get(id).growth();
    news.grew = news.growth != growth;
  }
  return news;
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
    oldest->growth = oldest->profile->growth();
    oldest->profile.reset();
    --live_;
  }
  if (oldest->empty != nullptr) {
    oldest->empty.reset();
    --live_;
  }
}

}  // namespace muster::engine
