// SPDX-License-Identifier: Apache-2.0
// Golden placements: test/golden/placement_*.txt. Each file is a small story that a person can
// check by hand; what the engine decides is written below the line `---`. UPDATE_GOLDEN=1 rewrites
// that part.
//
//   levels: spine leaf             topology levels, outermost first
//   fabric: spine                  optional, as are `strategy:` and `blocking:`
//   nodes: n[0-3] gpus=8 model=H100 spine=s0 leaf=l0
//   job: NAME 4x8 [1x0 ...] [required=leaf] [preferred=] [segment=2:leaf]... [spread=leaf:1]
//   [apart=node]
//        [min=2] [step=2] [relax=10m:spine]... [cpu=64] [model=A100] [mixed] [priority=200]
//   foreign: n3 0-3                devices that others use
//   state: n3 cordoned | end: NAME | wait: 10m
//   show: a remark                 decides, and prints every job under the remark
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "test/engine/builders.h"

namespace muster::test {
namespace {

using Words = std::vector<std::string>;

Words Split(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// "key=value" as a pair; "word" has no value.
std::pair<std::string, std::string> KeyValue(const std::string& word, char by = '=') {
  const auto at = word.find(by);
  if (at == std::string::npos) return {word, ""};
  return {word.substr(0, at), word.substr(at + 1)};
}

/// "0-3,6" or "none".
std::string DeviceText(model::DeviceMask mask) {
  Words parts;
  while (mask != 0) {
    const int first = std::countr_zero(mask);
    const int count = std::countr_one(mask >> first);
    parts.push_back(count == 1 ? std::to_string(first)
                               : base::Format("{}-{}", first, first + count - 1));
    for (int i = 0; i < count; ++i) mask &= mask - 1;
  }
  return base::Join(parts, ",");
}

class Story {
 public:
  /// Plays the lines and returns what is to stand below `---`.
  std::string Play(const Words& lines) {
    bool shown = false;
    for (const std::string& line : lines) {
      const Words words = Split(line);
      if (words.empty() || words[0].starts_with("#")) continue;
      Take(words[0].substr(0, words[0].size() - 1), {words.begin() + 1, words.end()});
      shown = words[0] == "show:";
    }
    if (!shown) Show("at the end");
    return out_;
  }

 private:
  World& Now() {
    if (!world_) {
      EXPECT_TRUE(engine::CheckPolicy(policy_).empty());
      world_.emplace(policy_, 1);
    }
    return *world_;
  }

  void Take(const std::string& verb, const Words& words) {
    if (verb == "levels") {
      for (const std::string& level : words) policy_.topology.levels.push_back({level, level});
    } else if (verb == "fabric") {
      policy_.topology.fabric = words[0];
    } else if (verb == "strategy") {
      policy_.placement.strategy = words[0];
    } else if (verb == "blocking") {
      policy_.queues.front().blocking =
          words[0] == "strict" ? model::Blocking::kStrict : model::Blocking::kBypass;
    } else if (verb == "nodes") {
      AddNodes(words);
    } else if (verb == "job") {
      AddJob(words);
    } else if (verb == "foreign") {
      const auto [first, last] = KeyValue(words[1], '-');
      model::DeviceMask mask = 0;
      for (int i = std::stoi(first); i <= std::stoi(last.empty() ? first : last); ++i) {
        mask |= model::DeviceMask{1} << i;
      }
      Now().Tell(model::ForeignUsage{words[0], mask});
    } else if (verb == "state") {
      static const std::map<std::string, model::NodeState> kStates = {
          {"ready", model::NodeState::kReady},
          {"cordoned", model::NodeState::kCordoned},
          {"down", model::NodeState::kDown}};
      Now().Tell(model::NodeStateChanged{words[0], kStates.at(words[1])});
    } else if (verb == "end") {
      for (const auto& [name, job] : jobs_) {
        if (name == words[0]) Now().Exit(job);
      }
    } else if (verb == "wait") {
      Now().Advance(base::Minutes(std::stoi(words[0])));
    } else if (verb == "show") {
      Show(base::Join(words, " "));
    } else {
      ADD_FAILURE() << "unknown line '" << verb << ":'";
    }
  }

  void AddNodes(const Words& words) {
    const auto [prefix, range] = KeyValue(words[0], '[');
    const auto [first, last] = KeyValue(range, '-');
    for (int i = std::stoi(first); i <= std::stoi(last); ++i) {
      model::NodeSpec spec = GpuNode(prefix + std::to_string(i));
      for (std::size_t w = 1; w < words.size(); ++w) {
        const auto [key, value] = KeyValue(words[w]);
        if (key == "gpus") {
          spec = GpuNode(spec.name, std::stoi(value), spec.labels);
        } else if (key == "model") {
          for (model::Device& device : spec.devices) device.model = value;
        } else if (key == "nvlink") {
          for (std::size_t d = 0; d < spec.devices.size(); ++d) {
            spec.devices[d].group = static_cast<std::uint16_t>(d / std::stoul(value));
          }
        } else {
          spec.labels.emplace_back(key, value);
        }
      }
      std::ranges::sort(spec.labels);
      Now().Add({spec});
    }
  }

  void AddJob(const Words& words) {
    model::GangRequest request;
    int priority = 100;
    for (std::size_t w = 1; w < words.size(); ++w) {
      const auto [key, value] = KeyValue(words[w]);
      const auto [left, right] = KeyValue(value, ':');
      if (std::isdigit(key[0]) != 0) {
        const auto [replicas, gpus] = KeyValue(key, 'x');
        request.groups.push_back(Group(std::stoi(replicas), std::stoi(gpus),
                                       base::Format("g{}", request.groups.size())));
        continue;
      }
      model::TaskGroup& group = request.groups.back();
      if (key == "required")
        request.topology.required = value;
      else if (key == "preferred")
        request.topology.preferred = value;
      else if (key == "segment")
        request.topology.segments.push_back({std::stoi(left), right});
      else if (key == "spread")
        request.topology.spread = model::Spread{left, std::stoi(right)};
      else if (key == "apart")
        request.topology.anti_affinity = value;
      else if (key == "min")
        group.min_replicas = std::stoi(value);
      else if (key == "step")
        group.step = std::stoi(value);
      else if (key == "relax")
        request.relax.push_back({base::Minutes(std::stoi(left)), right});
      else if (key == "cpu")
        group.shape.cpu = base::MilliCpu::Of(std::stoll(value) * 1000);
      else if (key == "model")
        group.shape.models.push_back(value);
      else if (key == "mixed")
        group.shape.mixed_models = true;
      else if (key == "priority")
        priority = std::stoi(value);
      else
        ADD_FAILURE() << "unknown word '" << words[w] << "'";
    }
    jobs_.emplace_back(words[0], Now().Submit(request, "default", priority));
  }

  void Show(const std::string& remark) {
    World& world = Now();
    world.Decide();
    if (!remark.empty()) out_ += base::Format("-- {}\n", remark);
    const engine::View view = world.engine.view();
    for (const auto& [name, job] : jobs_)
      out_ += base::Format("{}: {}\n", name, Describe(view, job));
    if (const auto deadline = world.engine.NextDeadline()) {
      out_ += base::Format("next deadline: {} min\n", deadline->us / base::Minutes(1).value());
    }
  }

  std::string Describe(const engine::View& view, model::JobId job) {
    const engine::JobView row = view.Job(job);
    if (row.phase == engine::JobPhase::kEnded) return "ended";
    if (row.placement == nullptr) {
      const engine::Explanation why = world_->engine.Explain(view, job, {});
      return base::Format("waits, {}: {} {}", model::Name(why.outcome),
                          model::Name(why.binding.code), why.binding.count);
    }
    const auto& ranks = row.placement->ranks;
    const int level = row.placement->level;
    std::string text = base::Format("in one {} ({})", view.LevelName(level),
                                    view.DomainName(level, view.DomainOf(ranks[0].node, level)));
    std::size_t rank = 0;
    for (std::size_t g = 0; g < row.placement->group_sizes.size(); ++g) {
      if (row.placement->group_sizes.size() > 1) text += base::Format("\n  group {}", g);
      for (std::int32_t i = 0; i < row.placement->group_sizes[g]; ++i, ++rank) {
        const bool same_node = i > 0 && ranks[rank - 1].node == ranks[rank].node;
        if (!same_node)
          text += base::Format("\n    rank {} on {}", i, view.Node(ranks[rank].node).spec->name);
        if (ranks[rank].devices != 0)
          text += base::Format(" [{}]", DeviceText(ranks[rank].devices));
        if (ranks[rank].devices == 0 && same_node) text += " +1";
      }
    }
    return text;
  }

  model::Policy policy_ = model::WithDefaults({});
  std::optional<World> world_;
  std::vector<std::pair<std::string, model::JobId>> jobs_;
  std::string out_;
};

std::vector<std::filesystem::path> Files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = std::filesystem::path(MUSTER_SOURCE_DIR) / "test/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("placement_") && name.ends_with(".txt")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class GoldenTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenTest, PlacementIsAsWritten) {
  std::ifstream in(GetParam());
  Words story;
  std::string expected;
  bool below = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "---") {
      below = true;
    } else if (below) {
      expected += line + "\n";
    } else {
      story.push_back(line);
    }
  }
  const std::string actual = Story().Play(story);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(GetParam());
    for (const std::string& line : story) out << line << "\n";
    out << "---\n" << actual;
    return;
  }
  EXPECT_EQ(actual, expected) << GetParam() << "; UPDATE_GOLDEN=1 rewrites it";
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, testing::ValuesIn(Files()), [](const auto& row) {
  return row.param.stem().string().substr(std::string_view("placement_").size());
});

}  // namespace
}  // namespace muster::test
