// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "engine/capacity/fit.h"
#include "engine/capacity/profile.h"

namespace muster::engine {

/// A shape under rules, known to the index.
using ProfileId = base::Id<struct ProfileTag>;

/// The capacity index: who has room for which shape, at every topology level (ARCHITECTURE.md, "Why
/// a decision takes microseconds"). Derived from the state; numbers are brought up to date when
/// they are asked for.
class CapacityIndex {
 public:
  explicit CapacityIndex(const State& state) : state_(&state) {}

  /// The id for replicas of `request` under `rules`; equal ones get equal ids.
  ProfileId Intern(const model::ReplicaShape& request, model::ResourceDefault resource_default,
                   const LevelRules& rules);

  /// Up to date. The reference holds until `kFewestProfiles` others have been asked for.
  const Profile& Get(ProfileId id);
  /// What has happened to a profile's replicas since a place in the change log.
  struct News {
    bool any = false;          ///< some node changed
    bool grew = false;         ///< some node may have got more room
    std::uint64_t growth = 0;  ///< the profile's growth count to ask with next time
  };
  /// `growth`: the count when last asked. Cheap where nothing got room; a dropped profile is not
  /// made anew for it.
  News NewsSince(ProfileId id, std::uint64_t log_position, std::uint64_t growth);
  /// Room if everything were idle, healthy and ready; for proofs of "never". Holds as long.
  const Profile& WhenEmpty(ProfileId id);

  /// Compares every profile with one made from scratch. Empty, or the first difference.
  std::string Verify();

  /// Work units spent on keeping up, since the last call.
  std::int64_t TakeWork();

 private:
  struct Entry {
    Shape* shape = nullptr;
    LevelRules rules;
    std::unique_ptr<Profile> profile;  ///< null until first use, and after it was dropped
    std::unique_ptr<Profile> empty;    ///< likewise
    std::uint64_t growth = 0;          ///< of the profile that was dropped
    std::uint64_t last_use = 0;
  };
  // The numbers of all profiles together stay below 256 MB (on 12,500 nodes some 4,000 shapes):
  // those that have not been used for longest are dropped, and made anew when asked for again.
  static constexpr std::size_t kFewestProfiles = 256;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  Entry& Use(ProfileId id);
  void DropOldest();

  const State* state_;
  std::vector<std::unique_ptr<Shape>> shapes_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> shape_ids_;    // look-ups only, never iterated
  std::unordered_map<std::string, std::uint32_t> profile_ids_;  // look-ups only, never iterated
  std::uint64_t uses_ = 0;
  std::size_t live_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace muster::engine
