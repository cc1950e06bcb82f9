// SPDX-License-Identifier: Apache-2.0
#include "format/policy_document.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/strings.h"
#include "format/codec.h"
#include "format/fields.h"
#include "format/parse.h"
#include "format/schema.h"

namespace muster::format {
namespace {

/// A name where a later version also takes a map of names.
Codec<std::string> NameNotYetMap() {
  Codec<std::string> codec = Name();
  codec.decode = [decode = codec.decode](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kMap) return decode(value, decoder);
    decoder.Report(value, "a map is not supported by this version yet; give one name");
    return std::string();
  };
  return codec;
}

Codec<model::TopologyPolicy> TopologyCodec() {
  using model::TopologyPolicy;
  return Struct<TopologyPolicy>({
      Key("levels", &TopologyPolicy::levels, LevelsCodec(),
          "levels, outermost first, without node; left out: the cluster file's"),
      Key("fabric", &TopologyPolicy::fabric, Name(),
          "level whose domains no gang spans; left out: none"),
  });
}

Codec<model::PlacementPolicy> PlacementCodec() {
  using model::PlacementPolicy;
  return Struct<PlacementPolicy>({
      Key("strategy", &PlacementPolicy::strategy, Name(), "how places are chosen"),
      Key("searchLimit", &PlacementPolicy::search_limit, Count({.min = 1, .max = 1'000'000}),
          "most domains that one search tries before it ends without proof"),
  });
}

/// A map from names to classes; the model keeps the name in the class.
Codec<std::vector<model::PriorityClass>> PriorityClassesCodec() {
  using model::PriorityClass;
  using Named = std::vector<std::pair<std::string, PriorityClass>>;
  const auto forth = [](const Named& named) {
    std::vector<PriorityClass> classes;
    for (const auto& [name, each] : named) classes.push_back({.name = name, .value = each.value});
    return classes;
  };
  const auto back = [](const std::vector<PriorityClass>& classes) {
    Named named;
    for (const PriorityClass& each : classes) named.emplace_back(each.name, each);
    return named;
  };
  return Converted<std::vector<PriorityClass>>(
      MapOf(Struct<PriorityClass>({
          Key("value", &PriorityClass::value, Count({.max = 1'000'000'000}), "higher goes first")
              .Required(),
      })),
      forth, back);
}

Codec<model::QueuePolicy> QueueCodec() {
  using model::Blocking;
  using model::QueuePolicy;
  return Struct<QueuePolicy>({
      Key("name", &QueuePolicy::name, Name(), "name of the queue").Required(),
      Key("blocking", &QueuePolicy::blocking,
          OneOf<Blocking>({{"strict", Blocking::kStrict}, {"bypass", Blocking::kBypass}},
                          {"backfill"}),
          "when its head cannot start: strict = nobody passes, bypass = others pass without a "
          "promise to it"),
      Key("order", &QueuePolicy::order, Name(), "who is next"),
  });
}

Codec<model::Defaults> DefaultsCodec() {
  using model::Defaults;
  using model::ResourceDefault;
  return Struct<Defaults>({
      Key("queue", &Defaults::queue, NameNotYetMap(), "queue of a job that names none"),
      Key("priorityClass", &Defaults::priority_class, Name(), "class of a job that names none"),
      Key("resources", &Defaults::resources,
          OneOf<ResourceDefault>(
              {{"proportional", ResourceDefault::kProportional}, {"none", ResourceDefault::kNone}}),
          "CPU and memory of a job that asks for GPUs only: its GPUs' share of the node's, or "
          "nothing"),
  });
}

const Codec<model::Policy>& PolicyCodec() {
  using model::Policy;
  static const Codec<Policy> codec = Struct<Policy>(WithHead<Policy>(
      DocumentKind::kPolicy,
      {
          Key("topology", &Policy::topology, TopologyCodec(), "levels of the network"),
          Key("placement", &Policy::placement, PlacementCodec(), "how places are found"),
          Key("priorityClasses", &Policy::priority_classes, PriorityClassesCodec(),
              "classes by name; left out: normal = 100"),
          Key("queues", &Policy::queues, ListOf(QueueCodec()), "queues; left out: default"),
          Key("defaults", &Policy::defaults, DefaultsCodec(), "what a job leaves out"),
      }));
  return codec;
}

}  // namespace

base::Checked<model::Policy> ParsePolicy(std::string_view text, std::string_view file,
                                         const PolicyRules& rules) {
  base::Result<Parsed> parsed = ParseOneDocument(text, file, DocumentKind::kPolicy);
  if (!parsed) return parsed.error();
  return DecodePolicy(*std::move(parsed), file, rules);
}

base::Checked<model::Policy> DecodePolicy(Parsed parsed, std::string_view file,
                                          const PolicyRules& rules) {
  Decoder decoder(PlannedPolicyKeys());
  model::Policy policy = PolicyCodec().decode(parsed.documents.front(), decoder);
  const bool wrong = !decoder.faults().empty();
  for (const base::Error& rule : rules ? rules(policy) : base::Errors{}) {
    // A default names a queue or class; whether one is missing or merely wrong cannot be told.
    if (!wrong || !rule.where.starts_with("defaults.")) decoder.ReportRule(rule);
  }
  std::ranges::move(decoder.faults(), std::back_inserter(parsed.faults));
  if (!parsed.faults.empty()) return ToErrors(file, std::move(parsed.faults));
  return policy;
}

Value EncodePolicy(const model::Policy& policy) { return PolicyCodec().encode(policy); }

Value EncodeWholePolicy(const model::Policy& policy) {
  return WithDefaultKeys(EncodePolicy(policy), PolicyCodec().shape);
}

std::vector<std::string> OtherPolicyKeys(const model::Policy& policy) {
  return OtherKeys(EncodeWholePolicy(policy), PolicyCodec().shape, PlannedPolicyKeys());
}

Value PolicySchema() {
  return JsonSchema("Muster policy", PolicyCodec().shape, PlannedPolicyKeys());
}

std::string PolicyReference() {
  return Reference("Policy document", PolicyCodec().shape, PlannedPolicyKeys());
}

}  // namespace muster::format
