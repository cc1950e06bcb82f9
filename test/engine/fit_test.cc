// SPDX-License-Identifier: Apache-2.0
// Does a replica fit a node, how often, on which devices, and if not, why not.
#include "engine/capacity/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <functional>
#include <optional>

#include "engine/state/state.h"
#include "test/engine/builders.h"

namespace muster::test {
namespace {

using engine::HardwareFit;
using engine::Shape;
using engine::State;
using model::LabelRequirement;
using model::Outcome;
using model::Reason;
using model::ReasonCode;
using model::ReplicaShape;
using model::ResourceDefault;
using ::testing::ElementsAre;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

ReplicaShape Gpus(int count) {
  ReplicaShape shape;
  shape.gpu = base::MilliGpu::Of(count * 1000LL);
  return shape;
}

ReplicaShape Cpu(std::int64_t milli) {
  ReplicaShape shape;
  shape.cpu = base::MilliCpu::Of(milli);
  return shape;
}

/// One node in a state, and what a replica finds there.
struct Probe {
  explicit Probe(const model::NodeSpec& spec) { node = state.PutNode(spec); }

  Shape ShapeOf(const ReplicaShape& request) const {
    Shape shape(request, resource_default);
    shape.Refresh(state.tables());
    return shape;
  }
  engine::ReplicaNeed NeedOf(const ReplicaShape& request) const {
    return ShapeOf(request).NeedOn(*state.node(node).spec);
  }
  std::int32_t Slots(const ReplicaShape& request) const {
    return engine::Slots(ShapeOf(request), state.tables(), state.node(node));
  }
  std::int32_t SlotsWhenEmpty(const ReplicaShape& request) const {
    return engine::SlotsWhenEmpty(ShapeOf(request), state.tables(), state.node(node));
  }
  ReasonCode Why(const ReplicaShape& request) const {
    return engine::WhyNoSlot(ShapeOf(request), state.tables(), state.node(node));
  }
  /// Enters one replica that is not a job's: tests of the predicate need no jobs.
  void Take(model::DeviceMask devices, const ReplicaShape& request, std::int64_t cpu = 0,
            std::int64_t memory = 0) {
    const model::ReplicaPlacement placement{node, devices, base::MilliCpu::Of(cpu),
                                            base::Bytes::Of(memory)};
    state.Claim({placement, request});
  }

  State state;
  model::NodeId node;
  ResourceDefault resource_default = ResourceDefault::kProportional;
};

struct ReasonCase {
  const char* name;
  ReasonCode code;
  std::function<void(Probe&)> prepare;
  std::function<void(ReplicaShape&)> change;
  int gpus = 4;
};

class WhyNoSlotTest : public testing::TestWithParam<ReasonCase> {};

TEST_P(WhyNoSlotTest, NamesTheCause) {
  const ReasonCase& c = GetParam();
  model::NodeSpec spec = GpuNode("a", 8, {{"disk", "nvme"}});
  spec.extended = {{"licence", 3}};
  spec.taints = {{"team", "red"}};
  Probe probe(spec);
  ReplicaShape shape = Gpus(c.gpus);
  shape.tolerations = {{.key = "team"}};
  shape.extended = {{"licence", 1}};
  shape.nics = 1;
  ASSERT_GT(probe.Slots(shape), 0) << "the case's ground must fit";
  if (c.prepare) c.prepare(probe);
  if (c.change) c.change(shape);
  // The predicate does not look at labels; its callers do.
  if (engine::LabelsMatch(shape, spec)) {
    EXPECT_EQ(probe.Slots(shape), 0);
  }
  EXPECT_EQ(probe.Why(shape), c.code) << model::Name(probe.Why(shape));
}

const ReasonCase kReasonCases[] = {
    {"Cordoned",
     ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kCordoned); },
     {}},
    {"Draining",
     ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kDraining); },
     {}},
    {"Maintenance",
     ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kMaintenance); },
     {}},
    {"Down",
     ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kDown); },
     {}},
    {"Probation",
     ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kProbation); },
     {}},
    {"NotReadyComesBeforeLabels", ReasonCode::kNodeNotReady,
     [](Probe& p) { p.state.SetNodeState(p.node, model::NodeState::kDown); },
     [](ReplicaShape& s) {
       s.selector = {{.key = "x", .op = LabelRequirement::Operator::kExists}};
     }},
    {"Label",
     ReasonCode::kLabelMismatch,
     {},
     [](ReplicaShape& s) { s.selector = {{.key = "disk", .values = {"ssd"}}}; }},
    {"LabelComesBeforeTaint",
     ReasonCode::kLabelMismatch,
     {},
     [](ReplicaShape& s) {
       s.selector = {{.key = "disk", .values = {"ssd"}}};
       s.tolerations.clear();
     }},
    {"Taint", ReasonCode::kTaintNotTolerated, {}, [](ReplicaShape& s) { s.tolerations.clear(); }},
    {"TaintOtherValue",
     ReasonCode::kTaintNotTolerated,
     {},
     [](ReplicaShape& s) {
       s.tolerations = {{"team", false, "blue"}};
     }},
    {"TaintComesBeforeModel",
     ReasonCode::kTaintNotTolerated,
     {},
     [](ReplicaShape& s) {
       s.tolerations.clear();
       s.models = {"A100"};
     }},
    {"Model",
     ReasonCode::kWrongModel,
     {},
     [](ReplicaShape& s) {
       s.models = {"A100", "B200"};
     }},
    {"DeviceMemory",
     ReasonCode::kDeviceMemoryShort,
     {},
     [](ReplicaShape& s) { s.device_memory = base::Bytes::Of(80 * kGiB + 1); }},
    {"MoreDevicesThanTheNodeHas",
     ReasonCode::kNodeTooSmall,
     {},
     [](ReplicaShape& s) { s.gpu = base::MilliGpu::Of(9000); }},
    {"MoreCpuThanTheNodeHas",
     ReasonCode::kNodeTooSmall,
     {},
     [](ReplicaShape& s) { s.cpu = base::MilliCpu::Of(128'001); }},
    {"MoreMemoryThanTheNodeHas",
     ReasonCode::kNodeTooSmall,
     {},
     [](ReplicaShape& s) { s.memory = base::Bytes::Of(1024 * kGiB + 1); }},
    {"MoreNicsThanTheNodeHas", ReasonCode::kNodeTooSmall, {}, [](ReplicaShape& s) { s.nics = 9; }},
    {"MoreLicencesThanTheNodeHas",
     ReasonCode::kNodeTooSmall,
     {},
     [](ReplicaShape& s) {
       s.extended = {{"licence", 4}};
     }},
    {"UnknownResource",
     ReasonCode::kNodeTooSmall,
     {},
     [](ReplicaShape& s) {
       s.extended = {{"npu", 1}};
     }},
    {"Faulty", ReasonCode::kDevicesFaulty, [](Probe& p) { p.state.SetFaulty(p.node, 0x1f); }, {}},
    {"FaultyBesideBusy",
     ReasonCode::kDevicesFaulty,
     [](Probe& p) {
       p.Take(0x3, Gpus(2));
       p.state.SetFaulty(p.node, 0x70);
     },
     {}},
    {"Foreign",
     ReasonCode::kDevicesForeign,
     [](Probe& p) { p.state.SetForeign(p.node, 0x1f); },
     {}},
    {"Busy", ReasonCode::kDevicesBusy, [](Probe& p) { p.Take(0x1f, Gpus(5)); }, {}},
    {"FaultyWhereFaultsAndForeignUseTogetherAreToBlame",
     ReasonCode::kDevicesFaulty,
     [](Probe& p) {
       p.Take(0xf, Gpus(4));
       p.state.SetFaulty(p.node, 0x10);
       p.state.SetForeign(p.node, 0x20);
     },
     {}},
    {"CpuShort", ReasonCode::kCpuShort, [](Probe& p) { p.Take(0, Cpu(64'001), 64'001); }, {}},
    {"MemoryShort",
     ReasonCode::kMemoryShort,
     [](Probe& p) { p.Take(0, Cpu(1), 1, 512 * kGiB + 1); },
     {}},
    {"NicsShort",
     ReasonCode::kNicsShort,
     [](Probe& p) {
       ReplicaShape other = Cpu(1);
       other.nics = 8;
       p.Take(0, other, 1);
     },
     {}},
    {"ExtendedShort",
     ReasonCode::kExtendedShort,
     [](Probe& p) {
       ReplicaShape other = Cpu(1);
       other.extended = {{"licence", 3}};
       p.Take(0, other, 1);
     },
     {}},
    {"DevicesComeBeforeCpu",
     ReasonCode::kDevicesBusy,
     [](Probe& p) { p.Take(0x1f, Gpus(5), 128'000); },
     {}},
};

INSTANTIATE_TEST_SUITE_P(Causes, WhyNoSlotTest, testing::ValuesIn(kReasonCases),
                         [](const auto& row) { return row.param.name; });

TEST(Fit, AnonymousForeignUsageIsNotCalledAFault) {
  model::NodeSpec spec = GpuNode("a", 8);
  spec.anonymous_devices = true;
  Probe probe(spec);
  probe.Take(0x0f, Gpus(4));
  probe.state.SetForeign(probe.node, 0x0f);  // four others; the bits mean nothing
  EXPECT_EQ(probe.Slots(Gpus(1)), 0);
  EXPECT_EQ(probe.Why(Gpus(1)), ReasonCode::kDevicesForeign);
}

TEST(Fit, AnonymousDevicesAreCountedWhateverTheirBits) {
  model::NodeSpec spec = GpuNode("a", 8);
  spec.anonymous_devices = true;
  Probe probe(spec);
  EXPECT_EQ(probe.Slots(Gpus(3)), 2);
  probe.state.SetForeign(probe.node, 0x81);
  probe.Take(0x81, Gpus(2));  // the same bits: two devices more
  EXPECT_EQ(probe.Slots(Gpus(1)), 4);
  probe.state.SetFaulty(probe.node, 0x01);
  EXPECT_EQ(probe.Slots(Gpus(1)), 3);
  EXPECT_EQ(std::popcount(engine::FreeDevices(probe.state.node(probe.node))), 3);
  EXPECT_EQ(engine::FreeDevices(probe.state.node(probe.node)) & 0x81u, 0u);
}

TEST(Fit, StrictAccountsOfCpuMemoryNicsAndNamedResources) {
  struct Case {
    const char* name;
    std::function<void(ReplicaShape&)> change;
    std::int32_t slots;
  };
  const Case cases[] = {
      {"devices alone", [](ReplicaShape&) {}, 8},
      {"cpu 33 of 128", [](ReplicaShape& s) { s.cpu = base::MilliCpu::Of(33'000); }, 3},
      {"cpu exactly a quarter", [](ReplicaShape& s) { s.cpu = base::MilliCpu::Of(32'000); }, 4},
      {"memory", [](ReplicaShape& s) { s.memory = base::Bytes::Of(205 * kGiB); }, 4},
      {"nics", [](ReplicaShape& s) { s.nics = 3; }, 2},
      {"named",
       [](ReplicaShape& s) {
         s.extended = {{"licence", 4}, {"npu", 1}};
       },
       2},
      {"nothing of cpu and memory",
       [](ReplicaShape& s) {
         s.cpu = base::MilliCpu{};
         s.memory = base::Bytes{};
       },
       8},
  };
  model::NodeSpec spec = GpuNode("a", 8);
  spec.extended = {{"licence", 9}, {"npu", 2}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Probe probe(spec);
    ReplicaShape shape = Gpus(1);
    c.change(shape);
    EXPECT_EQ(probe.Slots(shape), c.slots);
    EXPECT_EQ(probe.SlotsWhenEmpty(shape), c.slots);
  }
}

TEST(Fit, SlotsCountWhatIsLeftAndSlotsWhenEmptyDoNot) {
  Probe probe(GpuNode("a", 8));
  probe.Take(0x3, Gpus(2), 100'000);
  probe.state.SetFaulty(probe.node, 0x4);
  probe.state.SetForeign(probe.node, 0x8);
  EXPECT_EQ(probe.Slots(Gpus(1)), 1);  // four devices, CPU for one
  EXPECT_EQ(probe.SlotsWhenEmpty(Gpus(1)), 8);
  probe.state.SetNodeState(probe.node, model::NodeState::kDown);
  EXPECT_EQ(probe.Slots(Gpus(1)), 0);
  EXPECT_EQ(probe.SlotsWhenEmpty(Gpus(1)), 8);
}

TEST(Fit, ProportionalShareIsFloored) {
  struct Case {
    int gpus;
    std::int64_t cpu;
    std::int64_t memory;
  };
  model::NodeSpec spec = GpuNode("a", 7);
  spec.cpu = base::MilliCpu::Of(100'000);
  spec.memory = base::Bytes::Of(1000);
  for (const Case& c : {Case{1, 14'285, 142}, Case{2, 28'571, 285}, Case{7, 100'000, 1000}}) {
    Probe probe(spec);
    const engine::ReplicaNeed need = probe.NeedOf(Gpus(c.gpus));
    EXPECT_EQ(need.cpu, base::MilliCpu::Of(c.cpu)) << c.gpus;
    EXPECT_EQ(need.memory, base::Bytes::Of(c.memory)) << c.gpus;
    EXPECT_EQ(probe.Slots(Gpus(c.gpus)), 7 / c.gpus);
  }
}

TEST(Fit, ProportionalShareOfHugeMemoryDoesNotOverflow) {
  model::NodeSpec spec = GpuNode("a", 8);
  spec.memory = base::Bytes::Of(INT64_MAX);
  const Probe probe(spec);
  EXPECT_EQ(probe.NeedOf(Gpus(8)).memory, base::Bytes::Of(INT64_MAX));
  EXPECT_EQ(probe.NeedOf(Gpus(4)).memory, base::Bytes::Of(INT64_MAX / 2));
}

TEST(Fit, WithoutDefaultsAJobThatAsksOnlyForGpusTakesNothingElse) {
  Probe probe(GpuNode("a", 8));
  probe.resource_default = ResourceDefault::kNone;
  const engine::ReplicaNeed need = probe.NeedOf(Gpus(4));
  EXPECT_EQ(need.cpu, base::MilliCpu{});
  EXPECT_EQ(need.memory, base::Bytes{});
}

TEST(Fit, AskedAmountsReplaceTheShareOneByOne) {
  const Probe probe(GpuNode("a", 8));
  ReplicaShape shape = Gpus(4);
  shape.cpu = base::MilliCpu::Of(1000);
  const engine::ReplicaNeed need = probe.NeedOf(shape);
  EXPECT_EQ(need.cpu, base::MilliCpu::Of(1000));
  EXPECT_EQ(need.memory, base::Bytes::Of(512 * kGiB));
}

TEST(Fit, LabelOperators) {
  using enum LabelRequirement::Operator;
  struct Case {
    const char* name;
    LabelRequirement requirement;
    bool matches;
  };
  const Case cases[] = {
      {"in, among", {"disk", kIn, {"ssd", "nvme"}}, true},
      {"in, not among", {"disk", kIn, {"ssd"}}, false},
      {"in, no value given", {"disk", kIn, {}}, false},
      {"in, label missing", {"rack", kIn, {"1"}}, false},
      {"not in, not among", {"disk", kNotIn, {"ssd"}}, true},
      {"not in, among", {"disk", kNotIn, {"nvme"}}, false},
      {"not in, label missing", {"rack", kNotIn, {"1"}}, true},
      {"exists", {"disk", kExists, {}}, true},
      {"exists, missing", {"rack", kExists, {}}, false},
  };
  const model::NodeSpec spec = GpuNode("a", 8, {{"disk", "nvme"}, {"zone", "z"}});
  for (const Case& c : cases) {
    ReplicaShape shape = Gpus(1);
    shape.selector = {c.requirement};
    EXPECT_EQ(engine::LabelsMatch(shape, spec), c.matches) << c.name;
    shape.selector.insert(shape.selector.begin(), {"zone", kExists, {}});
    EXPECT_EQ(engine::LabelsMatch(shape, spec), c.matches) << c.name << " beside another";
  }
}

TEST(Fit, Tolerations) {
  struct Case {
    const char* name;
    std::vector<model::Toleration> tolerations;
    bool fits;
  };
  const Case cases[] = {
      {"none", {}, false},
      {"one of two", {{.key = "a"}}, false},
      {"both by key", {{.key = "a"}, {.key = "b"}}, true},
      {"exact value", {{"a", false, "1"}, {"b", false, "2"}}, true},
      {"other value", {{"a", false, "1"}, {"b", false, "1"}}, false},
      {"everything", {{.key = ""}}, true},
  };
  model::NodeSpec spec = GpuNode("n", 8);
  spec.taints = {{"a", "1"}, {"b", "2"}};
  for (const Case& c : cases) {
    const Probe probe(spec);
    ReplicaShape shape = Gpus(1);
    shape.tolerations = c.tolerations;
    EXPECT_EQ(probe.Slots(shape) > 0, c.fits) << c.name;
  }
}

TEST(Fit, DeviceMemoryCountsOnlyDevicesThatHaveIt) {
  model::NodeSpec spec = GpuNode("a", 4);
  spec.devices[1].memory = base::Bytes::Of(40 * kGiB);
  spec.devices[3].memory = base::Bytes{};  // unknown
  const Probe probe(spec);
  ReplicaShape shape = Gpus(1);
  EXPECT_EQ(probe.Slots(shape), 4);
  shape.device_memory = base::Bytes::Of(40 * kGiB);
  EXPECT_EQ(probe.Slots(shape), 3);
  shape.device_memory = base::Bytes::Of(80 * kGiB);
  EXPECT_EQ(probe.Slots(shape), 2);
  shape.gpu = base::MilliGpu::Of(3000);
  EXPECT_EQ(probe.Why(shape), ReasonCode::kNodeTooSmall);
}

TEST(Fit, PickDevicesTakesTheTightestGroupThenTheFewestGroups) {
  struct Case {
    const char* name;
    std::vector<std::uint16_t> groups;  ///< of each device
    model::DeviceMask free;
    int devices;
    model::DeviceMask picked;
  };
  const Case cases[] = {
      {"one group: the lowest", {0, 0, 0, 0}, 0b1110, 2, 0b0110},
      {"first of equal groups", {0, 0, 1, 1}, 0b1111, 2, 0b0011},
      {"the group that is left with least", {0, 0, 0, 1, 1, 1}, 0b111011, 2, 0b000011},
      {"tightest although later", {0, 0, 0, 0, 1, 1, 1, 1}, 0b0011'1111, 2, 0b0011'0000},
      {"whole small group before part of a big one", {0, 0, 0, 0, 1, 1}, 0b111111, 2, 0b110000},
      {"no group holds it: fullest first", {0, 0, 1, 1, 1}, 0b11111, 4, 0b11101},
      {"interleaved groups", {0, 1, 0, 1}, 0b1111, 2, 0b0101},
      {"all that is free", {0, 0, 1, 1}, 0b1010, 2, 0b1010},
      {"three groups, two are enough", {0, 0, 1, 1, 2}, 0b11111, 3, 0b00111},
  };
  for (const Case& c : cases) {
    model::NodeSpec spec = GpuNode("a", static_cast<int>(c.groups.size()));
    for (std::size_t i = 0; i < c.groups.size(); ++i) spec.devices[i].group = c.groups[i];
    const Probe probe(spec);
    const Shape shape = probe.ShapeOf(Gpus(c.devices));
    EXPECT_EQ(engine::PickDevices(shape.fit(0), c.free, c.devices), c.picked) << c.name;
  }
}

TEST(Fit, PickDevicesSkipsDevicesOfOtherModels) {
  model::NodeSpec spec = GpuNode("a", 4);
  spec.devices[0].model = spec.devices[1].model = "A100";
  const Probe probe(spec);
  ReplicaShape shape = Gpus(2);
  shape.models = {"H100"};
  EXPECT_EQ(probe.Slots(shape), 1);
  EXPECT_EQ(engine::PickDevices(probe.ShapeOf(shape).fit(0), 0xf, 2), 0xcu);
}

TEST(Fit, ALostDeviceMakesTheNodeOverFullNeverNegative) {
  for (const bool anonymous : {false, true}) {
    SCOPED_TRACE(anonymous ? "anonymous" : "named");
    World world;
    model::NodeSpec spec = GpuNode("a", 8);
    spec.anonymous_devices = anonymous;
    world.Add({spec});
    const model::JobId first = world.Submit(Gang(2, 4));
    const model::JobId second = world.Submit(Gang(1, 2));
    world.Decide();
    ASSERT_TRUE(world.Holds(first));
    spec.devices.resize(6);  // the device plugin reports 6 of 8
    spec.cpu = base::MilliCpu::Of(96'000);
    world.Add({spec});
    world.Decide();
    EXPECT_TRUE(world.Holds(first));
    EXPECT_FALSE(world.Holds(second));
    EXPECT_EQ(world.engine.Verify(), "");
    const engine::Inventory counts = world.engine.view().Devices();
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) {
      EXPECT_GE(count, 0);
      sum += count;
    }
    EXPECT_EQ(sum, 6);
    EXPECT_THAT(world.Why(second).nodes, ElementsAre(Reason{ReasonCode::kDevicesBusy, 1}));
    // Rank 0 gives back four devices: with 4 in use of 6 there is room for 2.
    world.Tell(model::TaskExited{first, world.Job(first).attempt, {0, 1}, false});
    world.Decide();
    EXPECT_TRUE(world.Holds(second));
    world.Exit(first);
    world.Exit(second);
    world.Decide();
    EXPECT_EQ(world.engine.view().Devices()[0], 6);
  }
}

TEST(Fit, FaultsOfDevicesThatAreNoLongerReportedAreForgotten) {
  World world;
  model::NodeSpec spec = GpuNode("a", 8);
  world.Add({spec});
  world.Tell(model::HealthReported{"a", 0xc0});
  world.Tell(model::ForeignUsage{"a", 0x80});
  spec.devices.resize(6);
  world.Add({spec});
  const engine::Inventory counts = world.engine.view().Devices();
  EXPECT_EQ(counts[static_cast<std::size_t>(model::DeviceState::kFaulty)], 0);
  EXPECT_EQ(counts[static_cast<std::size_t>(model::DeviceState::kIdle)], 6);
}

TEST(Fit, InventoryOfAnonymousDevicesCountsEachOnce) {
  World world;
  model::NodeSpec spec = GpuNode("a", 8);
  spec.anonymous_devices = true;
  world.Add({spec});
  world.Submit(Gang(1, 3));
  world.Decide();
  world.Tell(model::HealthReported{"a", 0x01});
  world.Tell(model::ForeignUsage{"a", 0x03});
  const engine::Inventory counts = world.engine.view().Devices();
  const auto count = [&](model::DeviceState state) {
    return counts[static_cast<std::size_t>(state)];
  };
  EXPECT_EQ(count(model::DeviceState::kFaulty), 1);
  EXPECT_EQ(count(model::DeviceState::kForeign), 2);
  EXPECT_EQ(count(model::DeviceState::kAllocated), 3);
  EXPECT_EQ(count(model::DeviceState::kIdle), 2);
}

TEST(Fit, AFractionTakesItsDeviceWhole) {
  // The gate refuses fractions as long as sharing is not built; should one come in, nothing may run
  // beside it.
  Probe probe(GpuNode("a", 2));
  ReplicaShape half = Gpus(0);
  half.gpu = base::MilliGpu::Of(500);
  EXPECT_EQ(probe.ShapeOf(half).devices(), 1);
  EXPECT_EQ(probe.Slots(half), 2);
}

TEST(Fit, AFractionOfAnonymousDevicesNeverFits) {
  model::NodeSpec spec = GpuNode("a", 2);
  spec.anonymous_devices = true;
  const Probe probe(spec);
  ReplicaShape half = Gpus(0);
  half.gpu = base::MilliGpu::Of(500);
  EXPECT_EQ(probe.Slots(half), 0);
  EXPECT_EQ(probe.Why(half), ReasonCode::kFractionAnonymous);
}

// Slots by the predicate = how many replicas can really be claimed one after the other.
RC_GTEST_PROP(FitProperty, SlotsIsHowManyCanBeClaimed, ()) {
  const auto pick = [](int below) { return *rc::gen::inRange(0, below); };
  model::NodeSpec spec = GpuNode("a", pick(9));
  for (model::Device& device : spec.devices) {
    device.model = pick(3) == 0 ? "A100" : "H100";
    device.group = static_cast<std::uint16_t>(pick(3));
    device.memory = base::Bytes::Of(pick(3));
  }
  spec.anonymous_devices = pick(4) == 0;
  spec.cpu = base::MilliCpu::Of(pick(30));
  spec.memory = base::Bytes::Of(pick(30));
  spec.nics = pick(5);
  spec.extended = {{"npu", pick(5)}};
  Probe probe(spec);
  probe.state.SetFaulty(probe.node, static_cast<model::DeviceMask>(pick(256) & pick(256)));
  probe.state.SetForeign(probe.node, static_cast<model::DeviceMask>(pick(256) & pick(256)));
  ReplicaShape request = Gpus(pick(4));
  request.nics = pick(2);
  if (pick(2) == 0) request.cpu = base::MilliCpu::Of(pick(9));
  if (pick(2) == 0) request.memory = base::Bytes::Of(pick(9));
  if (pick(3) == 0) request.models = {"H100"};
  if (pick(3) == 0) request.extended = {{"npu", 1}};
  request.device_memory = base::Bytes::Of(pick(3));
  const Shape shape = probe.ShapeOf(request);
  const std::int32_t slots = probe.Slots(request);
  RC_ASSERT(slots <= probe.SlotsWhenEmpty(request));
  if (slots > 1000) RC_DISCARD("bounded by nothing");
  for (std::int32_t i = 0; i < slots; ++i) {
    RC_ASSERT(probe.Slots(request) == slots - i);
    const HardwareFit& fit = shape.fit(0);
    const model::DeviceMask devices = engine::PickDevices(
        fit, engine::FreeDevices(probe.state.node(probe.node)), shape.devices());
    RC_ASSERT(std::popcount(devices) == shape.devices());
    const engine::ReplicaNeed need = probe.NeedOf(request);
    probe.Take(devices, request, need.cpu.value(), need.memory.value());
  }
  RC_ASSERT(probe.Slots(request) == 0);
  RC_ASSERT(probe.Why(request) != ReasonCode::kCapacity);
  RC_ASSERT(!(probe.state.node(probe.node).use.cpu > spec.cpu));
  RC_ASSERT(!(probe.state.node(probe.node).use.memory > spec.memory));
}

}  // namespace
}  // namespace muster::test
