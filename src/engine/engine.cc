// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "engine/explain/explain.h"
#include "engine/impl.h"
#include "engine/state/snapshot.h"

namespace muster::engine {

Engine::Impl::Impl(State from, CheckLevel level) : state(std::move(from)), check(level) {
  for (std::uint32_t i = 0; i < state.tables().jobs.size(); ++i) {
    const model::JobId job{i};
    const JobRow& row = state.job(job);
    if (row.phase == JobPhase::kUnknown || row.phase == JobPhase::kEnded) continue;
    if (HasPlace(row)) placed.insert(job);
    unsettled.insert(job);
    if (row.phase == JobPhase::kWaiting) {
      Enqueue(job);
    } else {
      SetDeadlines(job);
    }
  }
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Engine::Engine(const model::Policy& policy, std::uint64_t seed, CheckLevel check) {
  State state;
  state.SetPolicy(std::make_shared<const model::Policy>(policy));
  state.SetSeed(seed);
  impl_ = std::make_unique<Impl>(std::move(state), check);
}

std::vector<std::uint8_t> Engine::Snapshot() const {
  impl_->state.RefreshTopology();
  return WriteSnapshot(impl_->state.tables());
}

base::Result<Engine> Engine::Restore(std::span<const std::uint8_t> snapshot, CheckLevel check) {
  auto tables = ReadSnapshot(snapshot);
  if (!tables) return tables.error();
  if (const base::Errors faults = CheckPolicy(*tables->policy); !faults.empty()) {
    return base::Error{base::ErrorCode::kInvalid,
                       "the snapshot's policy is not sound: " + faults.front().ToString(), ""};
  }
  State state(std::move(*tables));
  if (const std::string fault = state.VerifyLedger(); !fault.empty()) {
    return base::Error{base::ErrorCode::kInvalid, "the snapshot contradicts itself: " + fault, ""};
  }
  return Engine(std::make_unique<Impl>(std::move(state), check));
}

Engine Engine::FromView(const View& view, CheckLevel check) {
  return Engine(std::make_unique<Impl>(State(view.tables()), check));
}

void Engine::Apply(const model::Input& input) { impl_->Apply(input); }
Pass Engine::Decide(base::Instant now, WorkBudget budget) { return impl_->Decide(now, budget); }
void Engine::Commit(const model::Decision& decision, base::Instant now) {
  impl_->Commit(decision, now);
}

std::optional<base::Instant> Engine::NextDeadline() const {
  if (impl_->deadlines.empty()) return std::nullopt;
  return impl_->deadlines.begin()->at;
}

View Engine::view() const {
  impl_->state.RefreshTopology();
  return View(std::make_shared<const Tables>(impl_->state.tables()));
}

Explanation Engine::Explain(const View& view, model::JobId job, WorkBudget budget) {
  return ExplainJob(view.tables(), job, budget.units);
}

std::string Engine::Verify() const {
  impl_->state.RefreshTopology();
  if (std::string fault = impl_->state.VerifyLedger(); !fault.empty()) return fault;
  return impl_->index.Verify();
}

base::Errors CheckPolicy(const model::Policy& policy) {
  base::Errors errors;
  const auto add = [&errors](std::string where, std::string message) {
    errors.push_back({base::ErrorCode::kInvalid, std::move(message), std::move(where)});
  };
  const auto known_names = [](const auto& rows) {
    std::vector<std::string> names;
    for (const auto& row : rows) names.emplace_back(row.name);
    return base::Join(names, ", ");
  };
  if (FindStrategy(policy.placement.strategy) == nullptr) {
    add("placement.strategy",
        base::Format("{} is no placement strategy; known: {}",
                     base::Quote(policy.placement.strategy), known_names(Strategies())));
  }
  if (policy.placement.search_limit < 1) add("placement.searchLimit", "must be 1 or more");
  for (std::size_t i = 0; i < policy.queues.size(); ++i) {
    const model::QueuePolicy& queue = policy.queues[i];
    if (FindQueueOrder(queue.order) == nullptr) {
      add(base::Format("queues[{}].order", i),
          base::Format("{} is no queue order; known: {}", base::Quote(queue.order),
                       known_names(QueueOrders())));
    }
    if (std::ranges::count(policy.queues, queue.name, &model::QueuePolicy::name) > 1) {
      add(base::Format("queues[{}].name", i),
          base::Format("{} is given twice", base::Quote(queue.name)));
    }
  }
  const auto& levels = policy.topology.levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const bool reserved =
        levels[i].name == kNodeLevel || levels[i].name == kAnyLevel || levels[i].name.empty();
    if (reserved || std::ranges::count(levels, levels[i].name, &model::Level::name) > 1) {
      add(base::Format("topology.levels[{}]", i),
          base::Format("{} is {}", base::Quote(levels[i].name),
                       reserved ? "a reserved name" : "given twice"));
    }
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (std::ranges::count(levels, levels[i].label, &model::Level::label) > 1) {
      add(base::Format("topology.levels[{}].label", i),
          base::Format("{} labels two levels", base::Quote(levels[i].label)));
    }
  }
  const std::string& fabric = policy.topology.fabric;
  if (!fabric.empty() && std::ranges::find(levels, fabric, &model::Level::name) == levels.end()) {
    add("topology.fabric",
        base::Format("{} is no topology level of this policy", base::Quote(fabric)));
  }
  if (std::ranges::find(policy.queues, policy.defaults.queue, &model::QueuePolicy::name) ==
      policy.queues.end()) {
    add("defaults.queue",
        base::Format("{} is no queue of this policy", base::Quote(policy.defaults.queue)));
  }
  const auto& classes = policy.priority_classes;
  if (std::ranges::find(classes, policy.defaults.priority_class, &model::PriorityClass::name) ==
      classes.end()) {
    add("defaults.priorityClass", base::Format("{} is no priority class of this policy",
                                               base::Quote(policy.defaults.priority_class)));
  }
  return errors;
}

}  // namespace muster::engine
