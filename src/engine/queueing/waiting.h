// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/capacity/index.h"
#include "engine/queueing/gang_classes.h"
#include "engine/queueing/orders.h"
#include "engine/state/state.h"
#include "model/reason.h"

namespace muster::engine {

/// Jobs of one queue that ask for the same under the same relax step: if one cannot start, none
/// can.
using WaitingClassId = base::Id<struct WaitingClassTag>;

/// The waiting jobs in the order in which they are to be tried. Derived from the job table.
///
/// Jobs are kept by class; only the head of each class that may have a chance is looked at, so that
/// a pass over ten thousand blocked jobs of a few kinds costs a few comparisons. A class that was
/// proved not to fit sleeps until some node that matters to it has got more room.
class Waiting {
 public:
  struct Head {
    model::JobId job;
    WaitingClassId id;
  };

  /// `relax_step`: how many relax steps of the job are due.
  void Add(const State& state, model::JobId job, std::int32_t relax_step);
  /// Nothing if the job is not here. Call before its row changes.
  void Remove(model::JobId job);
  bool Contains(model::JobId job) const { return place_of_.contains(job); }
  /// Takes in queue rules; every class is tried again.
  void PolicyChanged(const State& state);

  /// Wakes classes whose chances have grown since they were put to sleep.
  void Wake(const State& state, CapacityIndex& index);
  /// The next job to try: best class, then order, over all queues; a strict queue offers nothing
  /// behind a blocked head.
  std::optional<Head> Next();

  /// The class cannot start now. It sleeps until one of `profiles` has more room (`proved`), or
  /// just any change.
  void Block(WaitingClassId id, const std::vector<ProfileId>& profiles, bool proved,
             CapacityIndex& index);
  /// The class can never start on this cluster: it blocks nobody, and sleeps until the hardware
  /// changes.
  void SetNever(WaitingClassId id);

  const model::GangRequestPtr& request(WaitingClassId id) const {
    return classes_[id.value].request;
  }

 private:
  enum class Mood : std::uint8_t {
    kReady,    ///< its head is in `ready_`
    kBlocked,  ///< sleeps, and blocks a strict queue
    kParked,   ///< behind a blocked head, or in a queue that the policy does not have
    kNever,
  };
  struct Class {
    model::GangRequestPtr request;
    model::QueueId queue;
    std::int32_t relax_step = 0;
    std::set<OrderKey> jobs;
    Mood mood = Mood::kReady;
    bool proved = false;
  };
  struct Queue {
    bool known = false;
    model::Blocking blocking = model::Blocking::kBypass;
    const QueueOrder* order = nullptr;
    std::set<OrderKey> blocked_heads;  ///< of its blocked classes
    std::vector<WaitingClassId> parked;
  };
  struct Place {
    WaitingClassId id = WaitingClassId::None();
    OrderKey key;
  };
  struct Watch {
    std::uint64_t growth = 0;   ///< of the profile, when last looked at
    std::uint64_t seen_to = 0;  ///< position in the change log
    std::set<WaitingClassId> classes;
  };

  Queue& QueueOf(const State& state, model::QueueId id);
  void ReadRules(const State& state, model::QueueId id, Queue& queue) const;
  WaitingClassId ClassOf(const State& state, const JobRow& row, std::int32_t relax_step);
  /// Takes the class's head out of where its mood keeps it, and puts it back after a change.
  void TakeHead(WaitingClassId id);
  void PutHead(WaitingClassId id);
  void SetMood(WaitingClassId id, Mood mood);
  static bool IsUnproved(const Class& c);
  void Unpark(Queue& queue);
  void ReadyAll();

  GangShapes shapes_;
  std::vector<Class> classes_;
  std::map<std::tuple<GangShapeId, model::QueueId, std::int32_t>, WaitingClassId> class_ids_;
  std::vector<Queue> queues_;                         ///< by QueueId
  std::unordered_map<model::JobId, Place> place_of_;  // look-ups only, never iterated
  std::set<std::pair<OrderKey, WaitingClassId>> ready_;
  std::map<ProfileId, Watch> watches_;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t seen_hardware_ = 0;
  std::uint64_t seen_topology_ = 0;
};

}  // namespace muster::engine
