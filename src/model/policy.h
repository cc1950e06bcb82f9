// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace muster::model {

struct PriorityClass {
  std::string name;
  std::int32_t value = 0;  ///< higher goes first
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

/// What a queue does when its head cannot start.
enum class Blocking : std::uint8_t {
  kStrict,  ///< nobody passes
  kBypass,  ///< others pass, the head gets no promise
  kLast = kBypass,
};

struct QueuePolicy {
  std::string name;
  Blocking blocking = Blocking::kBypass;
  std::string order = "fifo";  ///< a row of engine/queueing/orders.cc
  friend bool operator==(const QueuePolicy&, const QueuePolicy&) = default;
};

/// How much CPU and memory a job gets that asks only for GPUs.
enum class ResourceDefault : std::uint8_t {
  kProportional,  ///< node's amount / node's GPUs x GPUs asked
  kNone,          ///< nothing
  kLast = kNone,
};

struct TopologyPolicy {
  std::vector<Level> levels;  ///< outermost first, without `node`; empty: the cluster file's
  std::string fabric;         ///< no gang spans two domains of this level; empty: no such bound
  friend bool operator==(const TopologyPolicy&, const TopologyPolicy&) = default;
};

struct PlacementPolicy {
  std::string strategy = "topology";  ///< a row of engine/placement/strategies.cc
  /// Most domain choices that one search tries before it answers "search ended".
  std::int32_t search_limit = 64;
  friend bool operator==(const PlacementPolicy&, const PlacementPolicy&) = default;
};

/// What a document leaves out.
struct Defaults {
  std::string queue = "default";
  std::string priority_class = "normal";
  ResourceDefault resources = ResourceDefault::kProportional;
  friend bool operator==(const Defaults&, const Defaults&) = default;
};

/// One version of a site's rules. A default-constructed policy plus `WithDefaults` is what runs
/// when none is given.
struct Policy {
  TopologyPolicy topology;
  PlacementPolicy placement;
  std::vector<PriorityClass> priority_classes;
  std::vector<QueuePolicy> queues;
  Defaults defaults;
  friend bool operator==(const Policy&, const Policy&) = default;
};

/// Adds what must always exist: class `normal` (100) and queue `default` where the policy names
/// none.
Policy WithDefaults(Policy policy);

template <class A>
void Archive(A& a, PriorityClass& v) {
  a(v.name, v.value);
}
template <class A>
void Archive(A& a, QueuePolicy& v) {
  a(v.name, v.blocking, v.order);
}
template <class A>
void Archive(A& a, TopologyPolicy& v) {
  a(v.levels, v.fabric);
}
template <class A>
void Archive(A& a, PlacementPolicy& v) {
  a(v.strategy, v.search_limit);
}
template <class A>
void Archive(A& a, Defaults& v) {
  a(v.queue, v.priority_class, v.resources);
}
template <class A>
void Archive(A& a, Policy& v) {
  a(v.topology, v.placement, v.priority_classes, v.queues, v.defaults);
}

}  // namespace muster::model
