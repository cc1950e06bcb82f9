// SPDX-License-Identifier: Apache-2.0
// GET /v1/queues; GET and PUT /v1/policy.
#include <algorithm>
#include <string>
#include <utility>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "api/resources/shapes.h"
#include "base/units.h"
#include "format/policy_document.h"
#include "format/yaml.h"

namespace muster::api {
namespace {

using format::Map;
using format::Text;
using format::Value;

Value QueueValue(std::string_view name, const model::QueuePolicy* rules, const PhaseCounts& jobs,
                 const engine::QueueView& use) {
  Value value = Map();
  value.entries.reserve(8);
  value.Add("name", Text(std::string(name)));
  if (rules != nullptr) {
    value.Add("order", Text(rules->order));
    value.Add("blocking", Text(rules->blocking == model::Blocking::kStrict ? "strict" : "bypass"));
  }
  value.Add("inPolicy", Flag(rules != nullptr));
  value.Add("jobs", PhaseCountsValue(jobs));
  value.Add("gpus", Number(use.devices));
  value.Add("cpu", Text(base::FormatCpu(use.cpu)));
  value.Add("memory", Text(base::FormatBytes(use.memory)));
  return value;
}

}  // namespace

HttpResponse ListQueues(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  const engine::View& view = picture->view;
  const JobCounts counts = CountJobs(*picture);
  const auto& rules = view.policy().queues;
  const auto find = [&view](std::string_view name) -> std::optional<std::uint32_t> {
    for (std::uint32_t q = 0; q < view.queue_count(); ++q) {
      if (view.Queue(model::QueueId{q}).name == name) return q;
    }
    return std::nullopt;
  };
  Value queues = format::List();
  for (const model::QueuePolicy& queue : rules) {
    const auto used = find(queue.name);
    queues.items.push_back(
        QueueValue(queue.name, &queue, used ? counts.by_queue[*used] : PhaseCounts{},
                   used ? view.Queue(model::QueueId{*used}) : engine::QueueView{}));
  }
  // Queues that the policy has no more, while jobs are left in them.
  for (std::uint32_t q = 0; q < view.queue_count(); ++q) {
    const engine::QueueView use = view.Queue(model::QueueId{q});
    const bool known = std::ranges::find(rules, use.name, &model::QueuePolicy::name) != rules.end();
    if (known || counts.by_queue[q] == PhaseCounts{}) continue;
    queues.items.push_back(QueueValue(use.name, nullptr, counts.by_queue[q], use));
  }
  Value list = Map();
  list.Add("queues", std::move(queues));
  return Json(list);
}

HttpResponse GetPolicy(server::Front& front, const HttpRequest&) {
  const server::PicturePtr picture = front.Look();
  const auto& text = picture->tables.policy_text;
  const std::string given = text == nullptr ? "" : *text;
  Value document = format::EncodeWholePolicy(picture->view.policy());
  Value value = Map();
  value.Add("text", Text(given.empty() ? format::WriteYaml(document) : given));
  value.Add("isDefault", Flag(given.empty()));
  value.Add("document", std::move(document));
  return Json(value);
}

void PutPolicy(server::Front& front, const HttpRequest& request, Respond respond) {
  // What must always exist is added before the rules are looked at, as when a policy is simulated.
  const auto rules = [](const model::Policy& policy) {
    return engine::CheckPolicy(model::WithDefaults(policy));
  };
  base::Checked<model::Policy> policy = format::ParsePolicy(request.body, "body", rules);
  if (!policy) return respond(Problem(policy.error()));
  PostAndAnswer(front, request,
                server::ActivatePolicy{.policy = model::WithDefaults(*std::move(policy)),
                                       .text = request.body},
                std::move(respond));
}

}  // namespace muster::api
