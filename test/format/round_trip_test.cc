// SPDX-License-Identifier: Apache-2.0
// What is encoded decodes to the same value, through YAML and through JSON.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "format/cluster_document.h"
#include "format/job_document.h"
#include "format/json.h"
#include "format/policy_document.h"
#include "format/yaml.h"

namespace muster::format {
namespace {

template <class T>
void ExpectRoundTrip(const T& value, const Value& tree,
                     base::Checked<T> (*parse)(std::string_view, std::string_view)) {
  for (const std::string& text :
       {WriteYaml(tree), WriteJson(tree), WriteJson(tree, JsonStyle::kCompact)}) {
    const base::Checked<T> back = parse(text, "f");
    if (!back) RC_FAIL(back.error().front().ToString() + "\n" + text);
    RC_ASSERT(*back == value);
  }
}

int Draw(int from, int to) { return *rc::gen::inRange(from, to); }
bool Toss() { return Draw(0, 2) == 1; }

std::string AnyName() {
  return *rc::gen::element<std::string>("a", "leaf", "yes", "8", "H100-SXM-80G", "a/b", "x:y#z",
                                        "~", "null", "1e3", "é");
}
std::string AnyText() {
  return *rc::gen::element<std::string>("", " ", "a b", "- x", "true", "0.50", "'", "\"", "\\",
                                        "a\nb", "#", "{}", "é\t");
}
base::Duration AnyTime(int least) {
  return base::Microseconds(Draw(least, 1 << 20)) * Draw(1, 1000);
}

model::Labels AnyLabels() {
  model::Labels labels;
  for (const char* key : {"a", "b", "no", "z/z"}) {
    if (Toss()) labels.emplace_back(key, AnyText());
  }
  return labels;
}

std::vector<model::NamedAmount> AnyExtended() {
  std::vector<model::NamedAmount> out;
  for (const char* name : {"license", "npu"}) {
    if (Toss()) out.push_back({name, Draw(1, 1000)});
  }
  return out;
}

std::vector<model::LabelRequirement> AnySelector() {
  using Operator = model::LabelRequirement::Operator;
  std::vector<model::LabelRequirement> out;
  for (int i = Draw(0, 3); i > 0; --i) {
    const auto op = *rc::gen::element(Operator::kIn, Operator::kNotIn, Operator::kExists);
    std::vector<std::string> values;
    for (int k = op == Operator::kExists ? 0 : Draw(1, 3); k > 0; --k) values.push_back(AnyText());
    out.push_back({AnyName(), op, values});
  }
  return out;
}

model::ReplicaShape AnyShape() {
  model::ReplicaShape shape{.gpu = base::MilliGpu::Of(*rc::gen::element(1000, 2000, 4000, 8000)),
                            .nics = Draw(0, 9),
                            .extended = AnyExtended(),
                            .device_memory = base::Bytes::Of(Draw(0, 1000)) * (1 << 20),
                            .mixed_models = Toss(),
                            .selector = AnySelector()};
  if (Toss()) shape.cpu = base::MilliCpu::Of(Draw(0, 5000));
  if (Toss()) shape.memory = base::Bytes::Of(Draw(0, 1 << 30));
  for (int i = Draw(0, 3); i > 0; --i) shape.models.push_back(AnyName());
  for (int i = Draw(0, 3); i > 0; --i) {
    const bool any = Toss();
    shape.tolerations.push_back({Toss() ? AnyName() : "", any, any ? "" : AnyText()});
  }
  return shape;
}

model::TaskCommand AnyCommand() {
  model::TaskCommand command{
      .launch = *rc::gen::element(model::Launch::kPerReplica, model::Launch::kPerGpu),
      .env = AnyLabels(),
      .secret_env = AnyLabels(),
      .workdir = AnyText()};
  for (int i = Draw(0, 4); i > 0; --i) command.command.push_back(AnyText());
  return command;
}

model::TopologyRequest AnyTopology() {
  model::TopologyRequest topology{.required = Toss() ? AnyName() : "",
                                  .preferred = Toss() ? AnyName() : "",
                                  .anti_affinity = Toss() ? AnyName() : "",
                                  .comm_fraction = base::Permille::Of(Draw(0, 1001))};
  const int segments = Draw(0, 3);
  for (int i = 0; i < segments; ++i) topology.segments.push_back({2 << i, AnyName()});
  if (segments == 0 && Toss()) topology.spread = model::Spread{AnyName(), Draw(1, 5)};
  return topology;
}

model::JobSpec AnyJob() {
  model::JobSpec job{.name = AnyName(),
                     .queue = Toss() ? AnyName() : "",
                     .priority_class = Toss() ? AnyName() : "",
                     .labels = AnyLabels(),
                     .start_after = AnyTime(0)};
  model::GangRequest& request = job.request;
  request.topology = AnyTopology();
  for (int i = Draw(1, 4); i > 0; --i) {
    const int replicas = 4 * Draw(1, 10);
    const int least = Toss() ? replicas : 4;
    request.groups.push_back(
        {"group" + std::to_string(i), replicas, least, 4 * Draw(1, 3), AnyShape()});
    job.commands.push_back(AnyCommand());
  }
  for (int i = 0; i < Draw(0, 3); ++i) request.relax.push_back({base::Minutes(i + 1), AnyName()});
  if (Toss()) {
    request.checkpoint = model::CheckpointSpec{.every = AnyTime(0),
                                               .on_signal = Toss() ? "SIGUSR1" : "",
                                               .grace = AnyTime(0),
                                               .restart = AnyTime(0),
                                               .dir = AnyText()};
  }
  using Kind = model::Completion::Kind;
  request.completion = *rc::gen::element(model::Completion{}, model::Completion{Kind::kRank0, ""},
                                         model::Completion{Kind::kGroup, "group1"});
  request.restart = {Draw(0, 10), Toss()};
  request.estimate = AnyTime(0);
  request.time_limit = AnyTime(0);
  return job;
}

RC_GTEST_PROP(RoundTrip, Job, ()) {
  const model::JobSpec job = AnyJob();
  ExpectRoundTrip(job, EncodeJob(job), ParseJob);
}

std::vector<model::Level> AnyLevels() {
  std::vector<model::Level> levels;
  for (const char* name : {"zone", "spine", "leaf"}) {
    if (Toss()) levels.push_back({name, Toss() ? name : AnyName(), Draw(0, 1001)});
  }
  return levels;
}

RC_GTEST_PROP(RoundTrip, Policy, ()) {
  model::Policy policy{
      .topology = {AnyLevels(), Toss() ? AnyName() : ""},
      .placement = {AnyName(), Draw(1, 1000)},
      .defaults = {AnyName(), AnyName(),
                   Toss() ? model::ResourceDefault::kNone : model::ResourceDefault::kProportional}};
  for (const char* name : {"z", "normal", "8"}) {
    if (Toss()) policy.priority_classes.push_back({name, Draw(0, 1000)});
  }
  for (int i = Draw(0, 3); i > 0; --i) {
    policy.queues.push_back(
        {AnyName(), Toss() ? model::Blocking::kStrict : model::Blocking::kBypass, AnyName()});
  }
  ExpectRoundTrip<model::Policy>(
      policy, EncodePolicy(policy),
      [](std::string_view text, std::string_view file) { return ParsePolicy(text, file); });
}

RC_GTEST_PROP(RoundTrip, Cluster, ()) {
  model::Cluster cluster{.name = Toss() ? AnyName() : ""};
  if (Toss()) cluster.levels = {{"leaf", "leaf", 500}};
  if (!cluster.levels.empty() && Toss()) cluster.fabric = "leaf";
  const int nodes = Draw(1, 20);
  model::NodeSpec node;
  for (int i = 0; i < nodes; ++i) {
    if (i == 0 || Draw(0, 3) == 0) {
      node = {.anonymous_devices = Toss(),
              .cpu = base::MilliCpu::Of(Draw(0, 100'000)),
              .memory = base::Bytes::Of(Draw(0, 1 << 30)),
              .nics = Draw(0, 9),
              .extended = AnyExtended(),
              .labels = AnyLabels()};
      if (Toss()) node.taints.push_back({AnyName(), AnyText()});
      std::uint16_t group = 0;
      for (int run = Draw(0, 4); run > 0; --run, ++group) {
        const model::Device device{AnyName(), base::Bytes::Of(Draw(0, 3)) * (1 << 30), group};
        node.devices.insert(node.devices.end(), static_cast<std::size_t>(Draw(1, 5)), device);
      }
    }
    node.name = "n" + std::to_string(Draw(0, 2) == 0 ? i : i + 1000);
    cluster.nodes.push_back(node);
  }
  ExpectRoundTrip(cluster, EncodeCluster(cluster), ParseCluster);
}

}  // namespace
}  // namespace muster::format
