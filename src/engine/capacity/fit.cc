// SPDX-License-Identifier: Apache-2.0
#include "engine/capacity/fit.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "engine/state/state.h"

namespace muster::engine {
namespace {

using model::DeviceMask;
using model::ReasonCode;

// More replicas than a node would ever run; so small that the sum over a million nodes fits its 32
// bits.
constexpr std::int64_t kMostSlots = 2047;

bool Tolerates(const std::vector<model::Toleration>& tolerations, const model::Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const model::Toleration& toleration) {
    return toleration.key.empty() || (toleration.key == taint.key &&
                                      (toleration.any_value || toleration.value == taint.value));
  });
}

bool ModelAllowed(const model::ReplicaShape& shape, const std::string& model) {
  return shape.models.empty() || std::ranges::find(shape.models, model) != shape.models.end();
}

std::int64_t AmountOf(const std::vector<model::NamedAmount>& amounts, const std::string& name) {
  const auto at = std::ranges::find(amounts, name, &model::NamedAmount::name);
  return at == amounts.end() ? 0 : at->amount;
}

/// A node's share of `amount` for `devices` of its `total` devices.
std::int64_t Share(std::int64_t amount, int devices, std::size_t total) {
  constexpr std::int64_t kFitsTimesDevices =
      std::numeric_limits<std::int64_t>::max() / model::kMaxDevicesPerNode;
  if (amount <= kFitsTimesDevices) return amount * devices / static_cast<std::int64_t>(total);
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(amount) * devices / static_cast<Wide>(total));
}

std::vector<DeviceMask> SplitByGroup(const std::vector<model::Device>& devices,
                                     DeviceMask matching) {
  std::vector<std::pair<std::uint16_t, DeviceMask>> groups;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceMask bit = DeviceMask{1} << i;
    if ((matching & bit) == 0) continue;
    const auto at =
        std::ranges::find(groups, devices[i].group, [](const auto& g) { return g.first; });
    if (at == groups.end()) {
      groups.emplace_back(devices[i].group, bit);
    } else {
      at->second |= bit;
    }
  }
  std::vector<DeviceMask> masks;
  if (groups.size() < 2) return masks;
  for (const auto& group : groups) masks.push_back(group.second);
  return masks;
}

/// Free amounts of a node, to be divided by what one replica takes.
struct Room {
  DeviceMask devices = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t nics = 0;
};

/// How often `need` goes into `room`, at most `slots` times.
std::int64_t Limited(std::int64_t slots, std::int64_t room, std::int64_t need) {
  if (need <= 0) return slots;
  return room <= 0 ? 0 : std::min(slots, room / need);
}

std::int64_t CountSlots(const Shape& shape, const HardwareFit& fit, const model::NodeSpec& spec,
                        const Room& room) {
  std::int64_t slots = kMostSlots;
  if (shape.devices() > 0) {
    slots = std::popcount(room.devices & fit.matching) / shape.devices();
    if (slots == 0) return 0;
  }
  const ReplicaNeed need = shape.NeedOn(spec);
  slots = Limited(slots, room.cpu, need.cpu.value());
  slots = Limited(slots, room.memory, need.memory.value());
  return Limited(slots, room.nics, shape.request().nics);
}

std::int64_t ExtendedLeft(const Tables& tables, const NodeRow& row,
                          const model::NamedAmount& need) {
  const std::int64_t total = AmountOf(row.spec->extended, need.name);
  const auto index = FindExtended(tables, need.name);
  const auto& used = row.use.extended;
  return total - (index && *index < used.size() ? used[*index] : 0);
}

Room RoomNow(const NodeRow& row) {
  return {.devices = FreeDevices(row),
          .cpu = (row.spec->cpu - row.use.cpu).value(),
          .memory = (row.spec->memory - row.use.memory).value(),
          .nics = row.spec->nics - row.use.nics};
}

}  // namespace

void Shape::Refresh(const Tables& tables) {
  for (std::size_t i = fits_.size(); i < tables.hardware.size(); ++i) {
    fits_.push_back(FitFor(tables.hardware[i]));
  }
}

ReplicaNeed Shape::NeedOn(const model::NodeSpec& spec) const {
  const bool proportional =
      default_ == model::ResourceDefault::kProportional && devices() > 0 && !spec.devices.empty();
  const auto share = [&](std::int64_t amount) {
    return proportional ? Share(amount, devices(), spec.devices.size()) : 0;
  };
  return {
      .cpu = request_.cpu ? *request_.cpu : base::MilliCpu::Of(share(spec.cpu.value())),
      .memory = request_.memory ? *request_.memory : base::Bytes::Of(share(spec.memory.value()))};
}

HardwareFit Shape::FitFor(const Hardware& hardware) const {
  HardwareFit fit;
  const auto refuse = [&fit](ReasonCode code) {
    if (!fit.never || code < *fit.never) fit.never = code;
  };
  const auto tolerated = [&](const model::Taint& taint) {
    return Tolerates(request_.tolerations, taint);
  };
  if (!std::ranges::all_of(hardware.taints, tolerated)) refuse(ReasonCode::kTaintNotTolerated);

  bool model_seen = request_.gpu.IsZero();
  for (std::size_t i = 0; i < hardware.devices.size(); ++i) {
    const model::Device& device = hardware.devices[i];
    if (!ModelAllowed(request_, device.model)) continue;
    model_seen = true;
    if (device.memory >= request_.device_memory) fit.matching |= DeviceMask{1} << i;
  }
  if (request_.gpu > base::MilliGpu{}) {
    if (!model_seen && !hardware.devices.empty()) refuse(ReasonCode::kWrongModel);
    if (model_seen && fit.matching == 0) refuse(ReasonCode::kDeviceMemoryShort);
    if (std::popcount(fit.matching) < devices()) refuse(ReasonCode::kNodeTooSmall);
    if (hardware.anonymous && request_.gpu.value() < 1000) refuse(ReasonCode::kFractionAnonymous);
  }
  fit.groups = SplitByGroup(hardware.devices, fit.matching);

  return fit;
}

bool LabelsMatch(const model::ReplicaShape& shape, const model::NodeSpec& spec) {
  return std::ranges::all_of(shape.selector, [&](const model::LabelRequirement& requirement) {
    const std::string* value = FindLabel(spec.labels, requirement.key);
    const auto among = [&] {
      return value != nullptr &&
             std::ranges::find(requirement.values, *value) != requirement.values.end();
    };
    switch (requirement.op) {
      case model::LabelRequirement::Operator::kIn:
        return among();
      case model::LabelRequirement::Operator::kNotIn:
        return !among();
      case model::LabelRequirement::Operator::kExists:
        return value != nullptr;
    }
    return false;
  });
}

std::int32_t Slots(const Shape& shape, const Tables& tables, const NodeRow& row) {
  const HardwareFit& fit = shape.fit(row.hardware);
  if (fit.never || !IsSchedulable(row)) return 0;
  std::int64_t slots = CountSlots(shape, fit, *row.spec, RoomNow(row));
  for (const model::NamedAmount& extra : shape.request().extended) {
    slots = Limited(slots, ExtendedLeft(tables, row, extra), extra.amount);
  }
  return static_cast<std::int32_t>(slots);
}

std::int32_t SlotsWhenEmpty(const Shape& shape, const Tables& tables, const NodeRow& row) {
  const HardwareFit& fit = shape.fit(row.hardware);
  if (fit.never || row.gone) return 0;
  NodeRow empty;
  empty.spec = row.spec;
  std::int64_t slots = CountSlots(shape, fit, *row.spec, RoomNow(empty));
  for (const model::NamedAmount& extra : shape.request().extended) {
    slots = Limited(slots, ExtendedLeft(tables, empty, extra), extra.amount);
  }
  return static_cast<std::int32_t>(slots);
}

namespace {

/// Would one replica be too much for the node even if it were empty?
bool IsTooSmall(const Shape& shape, const model::NodeSpec& spec) {
  const ReplicaNeed need = shape.NeedOn(spec);
  if (need.cpu > spec.cpu || need.memory > spec.memory || shape.request().nics > spec.nics)
    return true;
  return std::ranges::any_of(shape.request().extended, [&](const model::NamedAmount& extra) {
    return extra.amount > AmountOf(spec.extended, extra.name);
  });
}

/// Why too few devices are free: the cause without which there would be enough.
ReasonCode WhyTooFewDevices(const Shape& shape, const HardwareFit& fit, const NodeRow& row) {
  const auto enough_in = [&](const NodeRow& other) {
    return std::popcount(FreeDevices(other) & fit.matching) >= shape.devices();
  };
  NodeRow healthy = row;
  healthy.faulty = 0;
  if (enough_in(healthy)) return ReasonCode::kDevicesFaulty;
  NodeRow ours = row;
  ours.foreign = 0;
  if (enough_in(ours)) return ReasonCode::kDevicesForeign;
  healthy.foreign = 0;
  return enough_in(healthy) ? ReasonCode::kDevicesFaulty : ReasonCode::kDevicesBusy;
}

}  // namespace

ReasonCode WhyNoSlot(const Shape& shape, const Tables& tables, const NodeRow& row) {
  if (!IsSchedulable(row)) return ReasonCode::kNodeNotReady;
  if (!LabelsMatch(shape.request(), *row.spec)) return ReasonCode::kLabelMismatch;
  const HardwareFit& fit = shape.fit(row.hardware);
  const bool too_small = IsTooSmall(shape, *row.spec);
  if (fit.never) return too_small ? std::min(*fit.never, ReasonCode::kNodeTooSmall) : *fit.never;
  if (too_small) return ReasonCode::kNodeTooSmall;
  const Room room = RoomNow(row);
  if (std::popcount(room.devices & fit.matching) < shape.devices())
    return WhyTooFewDevices(shape, fit, row);
  const ReplicaNeed need = shape.NeedOn(*row.spec);
  if (room.cpu < need.cpu.value()) return ReasonCode::kCpuShort;
  if (room.memory < need.memory.value()) return ReasonCode::kMemoryShort;
  if (room.nics < shape.request().nics) return ReasonCode::kNicsShort;
  for (const model::NamedAmount& extra : shape.request().extended) {
    if (ExtendedLeft(tables, row, extra) < extra.amount) return ReasonCode::kExtendedShort;
  }
  return ReasonCode::kCapacity;
}

DeviceMask PickDevices(const HardwareFit& fit, DeviceMask free, int devices) {
  const DeviceMask usable = free & fit.matching;
  MUSTER_CHECK(std::popcount(usable) >= devices);
  const auto lowest = [](DeviceMask from, int count) {
    DeviceMask picked = 0;
    for (; count > 0; --count) {
      picked |= from & (0 - from);
      from &= from - 1;
    }
    return picked;
  };
  if (fit.groups.empty() || std::popcount(usable) == devices) return lowest(usable, devices);
  DeviceMask tightest = 0;
  for (const DeviceMask group : fit.groups) {
    const int room = std::popcount(group & usable);
    if (room >= devices && (tightest == 0 || room < std::popcount(tightest)))
      tightest = group & usable;
  }
  if (tightest != 0) return lowest(tightest, devices);
  // No group has enough: whole groups, the fullest first, so that the devices lie in as few as can
  // be.
  DeviceMask picked = 0;
  while (devices > 0) {
    DeviceMask fullest = 0;
    for (const DeviceMask group : fit.groups) {
      const DeviceMask left = group & usable & ~picked;
      if (std::popcount(left) > std::popcount(fullest)) fullest = left;
    }
    const DeviceMask part = lowest(fullest, std::min(devices, std::popcount(fullest)));
    devices -= std::popcount(part);
    picked |= part;
  }
  return picked;
}

}  // namespace muster::engine
