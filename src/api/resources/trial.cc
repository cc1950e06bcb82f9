// SPDX-License-Identifier: Apache-2.0
#include "api/resources/trial.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/resources/why.h"

namespace muster::api {

Trial::Trial(const engine::View& view, base::Instant now)
    : engine_(engine::Engine::FromView(view)),
      view_(view),
      now_(now),
      next_{std::max<std::uint32_t>(1, view.job_count())} {}

engine::Explanation Trial::Judge(const model::JobSpec& spec, const std::string& user) {
  const model::JobId job = next_;
  ++next_.value;
  const model::Policy& policy = view_.policy();
  const std::string& wanted =
      spec.priority_class.empty() ? policy.defaults.priority_class : spec.priority_class;
  const auto priority =
      std::ranges::find(policy.priority_classes, wanted, &model::PriorityClass::name);
  engine_.Apply(
      {now_, model::JobSubmitted{
                 .job = job,
                 .queue = spec.queue.empty() ? policy.defaults.queue : spec.queue,
                 .user = user,
                 .priority = priority == policy.priority_classes.end() ? 0 : priority->value,
                 .request = std::make_shared<const model::GangRequest>(spec.request)}});
  engine::Explanation why = engine::Engine::Explain(engine_.view(), job, kExplainBudget);
  // Out of the way of the next one.
  engine_.Apply({now_, model::JobChanged{.job = job, .change = model::JobChanged::Change::kHold}});
  return why;
}

}  // namespace muster::api
