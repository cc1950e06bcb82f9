// SPDX-License-Identifier: Apache-2.0
// Does a replica fit a node? The one predicate, used by the index, the placement and the
// explanation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/state/tables.h"
#include "model/job.h"
#include "model/reason.h"

namespace muster::engine {

/// What one replica of a shape takes on nodes of one make, or why it never fits there.
struct HardwareFit {
  std::optional<model::ReasonCode> never;  ///< set: no node of this make can ever host it
  model::DeviceMask matching = 0;          ///< devices that it may use
  std::vector<model::DeviceMask>
      groups;  ///< `matching` by NVLink or NUMA group; empty if there is just one
};

/// CPU and memory that one replica takes on a node.
struct ReplicaNeed {
  base::MilliCpu cpu;
  base::Bytes memory;
};

/// A replica's needs against the makes of nodes that the cluster has.
class Shape {
 public:
  Shape(const model::ReplicaShape& request, model::ResourceDefault resource_default)
      : request_(request), default_(resource_default) {}

  const model::ReplicaShape& request() const { return request_; }
  /// Devices of each replica. Devices are not shared yet, so a part of one takes all of it.
  int devices() const { return static_cast<int>((request_.gpu.value() + 999) / 1000); }
  bool HasSelector() const { return !request_.selector.empty(); }

  /// Learns makes of nodes that came since the last call.
  void Refresh(const Tables& tables);
  const HardwareFit& fit(std::uint32_t hardware) const { return fits_[hardware]; }
  /// What was asked for, or the share of the node's that goes with the devices.
  ReplicaNeed NeedOn(const model::NodeSpec& spec) const;

 private:
  HardwareFit FitFor(const Hardware& hardware) const;

  model::ReplicaShape request_;
  model::ResourceDefault default_;
  std::vector<HardwareFit> fits_;
};

/// Do the node's labels meet the selector?
bool LabelsMatch(const model::ReplicaShape& shape, const model::NodeSpec& spec);

/// How many replicas fit the node beside what runs there. Does not look at labels: they change only
/// with the topology version, so that callers ask `LabelsMatch` once.
std::int32_t Slots(const Shape& shape, const Tables& tables, const NodeRow& row);
/// How many would fit if the node were idle, healthy and ready.
std::int32_t SlotsWhenEmpty(const Shape& shape, const Tables& tables, const NodeRow& row);
/// Why not one replica fits (call where `Slots` is 0 or labels do not match): the first cause in
/// the order of the codes.
model::ReasonCode WhyNoSlot(const Shape& shape, const Tables& tables, const NodeRow& row);

/// Devices for one replica out of `free`: from the group that is left with least, else over the
/// fewest groups, lowest first. `free` holds enough.
model::DeviceMask PickDevices(const HardwareFit& fit, model::DeviceMask free, int devices);

}  // namespace muster::engine
