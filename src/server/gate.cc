// SPDX-License-Identifier: Apache-2.0
#include "server/gate.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/archive.h"
#include "base/hash.h"
#include "base/strings.h"
#include "server/names.h"
#include "server/records_archive.h"

namespace muster::server {
namespace {

using base::ErrorCode;

base::Error Refused(std::string message) { return {ErrorCode::kRefused, std::move(message), ""}; }

/// One hash for all that a request asks for.
std::uint64_t HashOf(const SubmitJobs& command) {
  base::Writer writer;
  for (const model::JobSpec& spec : command.jobs) {
    writer(spec.name, spec.queue, spec.priority_class, spec.labels, spec.start_after, spec.request,
           spec.commands);
  }
  base::StreamHash hash;
  hash.Add(writer.bytes());
  return hash.Value();
}

template <class Rows>
base::Error NoSuchName(std::string_view kind, const std::string& name, const Rows& rows,
                       std::string where) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = base::Nearest(name, candidates);
  return {ErrorCode::kInvalid,
          base::Format("the policy has no {} {}{}; it has {}", kind, base::Quote(name),
                       near.empty() ? "" : base::Format(" (did you mean {}?)", near),
                       base::Join(names, ", ")),
          std::move(where)};
}

std::vector<std::pair<std::string, std::string>> LevelsNamed(const model::GangRequest& request) {
  const model::TopologyRequest& topology = request.topology;
  std::vector<std::pair<std::string, std::string>> named = {
      {"spec.topology.required", topology.required},
      {"spec.topology.preferred", topology.preferred},
      {"spec.topology.antiAffinity", topology.anti_affinity},
      {"spec.topology.spread.level", topology.spread ? topology.spread->level : ""}};
  for (const model::Segment& segment : topology.segments)
    named.emplace_back("spec.topology.segment.level", segment.level);
  for (const model::RelaxStep& step : request.relax)
    named.emplace_back("spec.relax.topology", step.topology);
  return named;
}

base::Status CheckLevels(const model::GangRequest& request, const engine::View& view) {
  std::vector<std::string> levels;
  for (int i = 0; i < view.level_count(); ++i) levels.emplace_back(view.LevelName(i));
  for (const auto& [where, level] : LevelsNamed(request)) {
    if (level.empty() || std::ranges::find(levels, level) != levels.end()) continue;
    return base::Error{ErrorCode::kInvalid,
                       base::Format("the cluster has no topology level {}; it has {}",
                                    base::Quote(level), base::Join(levels, ", ")),
                       where};
  }
  return {};
}

}  // namespace

base::Duration StopGrace(base::Duration decided) {
  return decided.IsZero() ? base::Seconds(30) : decided;
}

Composer::Composer(const State& state, const Rules& rules, base::Instant now)
    : state_(state),
      rules_(rules),
      view_(state.engine().view()),
      policy_(view_.policy()),
      now_(now),
      next_job_(static_cast<std::uint32_t>(state.tables().jobs.size())) {
  batch_.at = now;
}

base::Result<Reply> Composer::Admit(const Request& request) {
  const bool reports = std::holds_alternative<ReportCheckpoint>(request.command);
  if (request.caller.attempt && !reports) {
    return base::Error{ErrorCode::kNotAllowed,
                       "the token of an attempt may report about that attempt, nothing else", ""};
  }
  return std::visit([&](const auto& command) { return On(request.caller, command); },
                    request.command);
}

void Composer::Audit(const Caller& caller, std::string action, std::string target,
                     std::string detail, bool allowed) {
  batch_.notes.emplace_back(Audited{.user = caller.account.user,
                                    .from = caller.from,
                                    .action = std::move(action),
                                    .target = std::move(target),
                                    .detail = std::move(detail),
                                    .allowed = allowed});
}

base::Status Composer::CheckRole(const Caller& caller, Role least, std::string_view what) {
  if (caller.role >= least) return {};
  Audit(caller, std::string(what), "", base::Format("role {}", Name(caller.role)), false);
  return base::Error{ErrorCode::kNotAllowed,
                     base::Format("{} needs the role {}; {} has the role {}", what, Name(least),
                                  caller.account.user, Name(caller.role)),
                     ""};
}

base::Status Composer::CheckAccount(const driver::Identity& account) const {
  if (account.uid == 0 && !rules_.allow_root) {
    return base::Error{ErrorCode::kNotAllowed,
                       "jobs do not run as root here: submit as another user, or start the server "
                       "with --allow-root",
                       ""};
  }
  if (!rules_.is_root && account.uid != rules_.uid) {
    return base::Error{
        ErrorCode::kNotAllowed,
        base::Format("this server was not started by root and runs jobs of uid {} only; {} is uid "
                     "{}",
                     rules_.uid, account.user, account.uid),
        ""};
  }
  return {};
}

base::Status Composer::CheckSpec(const model::JobSpec& spec, std::string_view where) const {
  const auto at = [where](std::string key) {
    return where.empty() ? key : base::Format("{}: {}", where, key);
  };
  const std::string& queue = spec.queue.empty() ? policy_.defaults.queue : spec.queue;
  if (std::ranges::find(policy_.queues, queue, &model::QueuePolicy::name) == policy_.queues.end())
    return NoSuchName("queue", queue, policy_.queues, at("metadata.queue"));
  const std::string& wanted =
      spec.priority_class.empty() ? policy_.defaults.priority_class : spec.priority_class;
  if (std::ranges::find(policy_.priority_classes, wanted, &model::PriorityClass::name) ==
      policy_.priority_classes.end()) {
    return NoSuchName("priority class", wanted, policy_.priority_classes, at("spec.priorityClass"));
  }
  for (std::size_t i = 0; i < spec.request.groups.size(); ++i) {
    if (i < spec.commands.size() && !spec.commands[i].command.empty() &&
        !spec.commands[i].command.front().empty()) {
      continue;
    }
    return base::Error{ErrorCode::kInvalid,
                       "nothing to run: add `command: [program, argument, ...]`",
                       at(base::Format("spec.tasks[{}].command", i))};
  }
  if (const base::Status fault = CheckLevels(spec.request, view_); !fault)
    return base::Error{fault.error().code, fault.error().message, at(fault.error().where)};
  return {};
}

base::Result<std::optional<Reply>> Composer::FindKey(const Caller& caller, const std::string& key,
                                                     std::uint64_t hash) const {
  if (key.empty()) return std::optional<Reply>{};
  const KeyRecord* known = state_.keys().Find(caller.account.user, key);
  if (known == nullptr) known = new_keys_.Find(caller.account.user, key);
  if (known == nullptr) return std::optional<Reply>{};
  if (known->request_hash != hash) {
    return Refused(base::Format(
        "the idempotency key {} was used for other jobs ({} from job {} on): use a new key",
        base::Quote(key), known->count, known->first.value));
  }
  Reply reply{.repeated = true};
  for (std::uint32_t i = 0; i < known->count; ++i)
    reply.jobs.push_back(model::JobId{known->first.value + i});
  return std::optional<Reply>{std::move(reply)};
}

model::JobId Composer::AddJob(const Caller& caller, const model::JobSpec& spec, JobAccepted note) {
  const model::JobId job{next_job_++};
  ++new_jobs_;
  const std::string& queue = spec.queue.empty() ? policy_.defaults.queue : spec.queue;
  const std::string& wanted =
      spec.priority_class.empty() ? policy_.defaults.priority_class : spec.priority_class;
  const auto row = std::ranges::find(policy_.priority_classes, wanted, &model::PriorityClass::name);
  note.job = job;
  note.text = {.name = spec.name,
               .priority_class = wanted,
               .labels = spec.labels,
               .commands = spec.commands};
  note.owner = caller.account;
  batch_.notes.emplace_back(std::move(note));
  batch_.facts.emplace_back(
      model::JobSubmitted{.job = job,
                          .queue = queue,
                          .user = caller.account.user,
                          .priority = row->value,
                          .start_after = spec.start_after,
                          .request = std::make_shared<const model::GangRequest>(spec.request)});
  return job;
}

base::Result<Reply> Composer::On(const Caller& caller, const SubmitJobs& command) {
  if (base::Status allowed = CheckRole(caller, Role::kUser, "submit"); !allowed)
    return allowed.error();
  if (base::Status allowed = CheckAccount(caller.account); !allowed) return allowed.error();
  if (command.jobs.empty()) return base::Error{ErrorCode::kInvalid, "no job in the request", ""};
  if (command.jobs.size() > kMaxJobsPerSubmit) {
    return base::Error{
        ErrorCode::kInvalid,
        base::Format("{} jobs in one request; at most {}", command.jobs.size(), kMaxJobsPerSubmit),
        ""};
  }
  const std::uint64_t hash = command.idempotency_key.empty() ? 0 : HashOf(command);
  auto known = FindKey(caller, command.idempotency_key, hash);
  if (!known) return known.error();
  if (*known) return **known;
  if (state_.live_jobs() + new_jobs_ + command.jobs.size() > rules_.max_live_jobs) {
    return Refused(
        base::Format("{} jobs wait or run, and at most {} may: try again when some have "
                     "ended",
                     state_.live_jobs() + new_jobs_, rules_.max_live_jobs));
  }
  for (std::size_t i = 0; i < command.jobs.size(); ++i) {
    const std::string where = command.jobs.size() == 1 ? "" : base::Format("job {}", i + 1);
    if (base::Status sound = CheckSpec(command.jobs[i], where); !sound) return sound.error();
  }
  Reply reply;
  for (const model::JobSpec& spec : command.jobs) {
    JobAccepted note;
    if (reply.jobs.empty() && !command.idempotency_key.empty()) {
      note.idempotency_key = command.idempotency_key;
      note.request_hash = hash;
      note.of = static_cast<std::uint32_t>(command.jobs.size());
    }
    reply.jobs.push_back(AddJob(caller, spec, std::move(note)));
  }
  if (!command.idempotency_key.empty()) {
    new_keys_.Add(caller.account.user, command.idempotency_key,
                  {reply.jobs.front(), static_cast<std::uint32_t>(reply.jobs.size()), hash, now_});
  }
  Audit(caller, "submit",
        reply.jobs.size() == 1
            ? JobName(reply.jobs.front())
            : base::Format("jobs {} to {}", reply.jobs.front().value, reply.jobs.back().value),
        "");
  return reply;
}

base::Result<const JobRecord*> Composer::FindOwn(const Caller& caller, model::JobId job,
                                                 std::string_view what) {
  const auto& jobs = state_.tables().jobs;
  const bool known =
      job.value < jobs.size() && !jobs.IsDropped(job.value) && jobs[job.value].text != nullptr;
  if (!known) {
    return base::Error{ErrorCode::kNotFound, base::Format("there is no job {}", job.value), ""};
  }
  const JobRecord& record = jobs[job.value];
  const bool own = caller.role >= Role::kUser && caller.account.user == record.owner.user;
  if (!own && caller.role < Role::kAdmin) {
    Audit(caller, std::string(what), JobName(job), "", false);
    return base::Error{ErrorCode::kNotAllowed,
                       base::Format("job {} belongs to {}; {} may not {} it", job.value,
                                    record.owner.user, caller.account.user, what),
                       ""};
  }
  const engine::JobView now = view_.Job(job);
  if (now.phase == engine::JobPhase::kEnded) {
    return Refused(base::Format("job {} has ended ({}): there is nothing to {}", job.value,
                                Name(now.end), what));
  }
  return &record;
}

base::Result<Reply> Composer::On(const Caller& caller, const ChangeJob& command) {
  constexpr std::array<std::string_view, 5> kWhat = {"hold", "release", "cancel", "reprioritise",
                                                     "requeue"};
  const std::string_view what = kWhat[static_cast<std::size_t>(command.change)];
  const auto record = FindOwn(caller, command.job, what);
  if (!record) return record.error();
  Reply reply{.jobs = {command.job}};
  using Change = model::JobChanged::Change;
  const engine::JobView now = view_.Job(command.job);
  const bool placed = now.placement != nullptr;
  if (command.change == Change::kHold && placed) {
    reply.notes.push_back(base::Format(
        "job {} has its place and goes on; it will be held if it comes back to the queue",
        command.job.value));
  }
  if (command.change == Change::kRequeue && !placed) {
    return Refused(
        base::Format("job {} holds no place: it is in the queue already", command.job.value));
  }
  batch_.facts.emplace_back(model::JobChanged{.job = command.job, .change = command.change});
  Audit(caller, std::string(what), JobName(command.job), base::Format("was {}", Name(now.phase)));
  return reply;
}

base::Result<Reply> Composer::On(const Caller& caller, const SetPriorityClass& command) {
  const auto record = FindOwn(caller, command.job, "update");
  if (!record) return record.error();
  const auto row = std::ranges::find(policy_.priority_classes, command.priority_class,
                                     &model::PriorityClass::name);
  if (row == policy_.priority_classes.end()) {
    return NoSuchName("priority class", command.priority_class, policy_.priority_classes,
                      "priorityClass");
  }
  batch_.notes.emplace_back(ClassNoted{command.job, command.priority_class});
  batch_.facts.emplace_back(model::JobChanged{
      .job = command.job, .change = model::JobChanged::Change::kPriority, .priority = row->value});
  Audit(caller, "update", JobName(command.job),
        base::Format("priority class {}, was {}", command.priority_class,
                     (*record)->text->priority_class));
  return Reply{.jobs = {command.job}};
}

base::Result<Reply> Composer::On(const Caller& caller, const SetNodeState& command) {
  if (base::Status allowed = CheckRole(caller, Role::kOperator, "node state"); !allowed)
    return allowed.error();
  const auto node = view_.FindNode(command.node);
  if (!node || view_.Node(*node).gone) {
    return base::Error{ErrorCode::kNotFound,
                       base::Format("there is no node {}", base::Quote(command.node)), ""};
  }
  const model::NodeState before = view_.Node(*node).state;
  batch_.facts.emplace_back(model::NodeStateChanged{command.node, command.state});
  batch_.notes.emplace_back(
      NodeNoted{.node = command.node,
                .note = "",
                .state_reason = base::Format("{}{}{}", caller.account.user,
                                             command.reason.empty() ? "" : ": ", command.reason)});
  Audit(
      caller, std::string(Name(command.state)), "node " + command.node,
      base::Format("was {}{}{}", Name(before), command.reason.empty() ? "" : ": ", command.reason));
  return Reply{};
}

base::Result<Reply> Composer::On(const Caller& caller, const PauseStarts& command) {
  if (base::Status allowed = CheckRole(caller, Role::kOperator, "pause"); !allowed)
    return allowed.error();
  const bool before = state_.tables().pause.paused;
  batch_.facts.emplace_back(model::StartsPaused{command.paused});
  batch_.notes.emplace_back(
      PauseNoted{command.paused, base::Format("{}{}{}", caller.account.user,
                                              command.reason.empty() ? "" : ": ", command.reason)});
  Audit(caller, command.paused ? "pause" : "resume", "starts",
        base::Format("were {}{}{}", before ? "paused" : "on", command.reason.empty() ? "" : ": ",
                     command.reason));
  return Reply{};
}

base::Result<Reply> Composer::On(const Caller& caller, const RequestCheckpoint& command) {
  const auto record = FindOwn(caller, command.job, "checkpoint");
  if (!record) return record.error();
  const engine::JobView now = view_.Job(command.job);
  if (now.phase != engine::JobPhase::kRunning) {
    return Refused(
        base::Format("job {} does not run: it is {}", command.job.value, Name(now.phase)));
  }
  const auto& checkpoint = (*record)->request->checkpoint;
  if (!checkpoint || checkpoint->on_signal.empty()) {
    return Refused(base::Format(
        "job {} does not checkpoint on request: its document has no checkpoint.onSignal",
        command.job.value));
  }
  orders_.emplace_back(driver::Signal{{command.job, now.attempt}, checkpoint->on_signal});
  Audit(caller, "checkpoint", JobName(command.job), "");
  return Reply{.jobs = {command.job}};
}

base::Result<Reply> Composer::On(const Caller& caller, const ReportCheckpoint& command) {
  const driver::GangId gang{command.job, command.attempt};
  if (caller.attempt && *caller.attempt != gang) {
    return base::Error{ErrorCode::kNotAllowed,
                       base::Format("the token is of job {}, attempt {}", caller.attempt->job.value,
                                    caller.attempt->attempt.value),
                       ""};
  }
  if (!caller.attempt) {
    const auto record = FindOwn(caller, command.job, "report about");
    if (!record) return record.error();
  }
  const engine::JobView now = view_.Job(command.job);
  if (now.placement == nullptr || now.attempt != command.attempt) {
    return Refused(
        base::Format("attempt {} of job {} is over: a checkpoint that it reports does not count",
                     command.attempt.value, command.job.value));
  }
  const auto& checkpoint = now.request->checkpoint;
  std::string path = command.path;
  if (path.empty() && checkpoint && !checkpoint->dir.empty())
    path = base::Format("{}/{}", checkpoint->dir, command.attempt.value);
  batch_.facts.emplace_back(model::CheckpointReported{command.job, command.attempt, command.step});
  batch_.notes.emplace_back(CheckpointNoted{gang, command.step, std::move(path)});
  return Reply{.jobs = {command.job}};
}

base::Result<Reply> Composer::On(const Caller& caller, const ReportHealth& command) {
  const bool may = caller.role == Role::kReporter || caller.role >= Role::kOperator;
  if (!may) {
    return base::Error{ErrorCode::kNotAllowed,
                       base::Format("health facts need the role reporter; {} has the role {}",
                                    caller.account.user, Name(caller.role)),
                       ""};
  }
  if (!view_.FindNode(command.node)) {
    return base::Error{ErrorCode::kNotFound,
                       base::Format("there is no node {}", base::Quote(command.node)), ""};
  }
  On(driver::HealthSeen{command.node, command.faulty, command.text});
  return Reply{};
}

base::Result<Reply> Composer::On(const Caller& caller, const CreateToken& command) {
  if (base::Status allowed = CheckRole(caller, Role::kAdmin, "token create"); !allowed)
    return allowed.error();
  const auto is_live = [this](const TokenCreated& token) {
    return token.expires.us == 0 || token.expires > now_;
  };
  bool taken = std::ranges::any_of(*state_.tables().tokens, [&](const TokenCreated& token) {
    return token.name == command.name && is_live(token);
  });
  for (const Note& note : batch_.notes) {
    const auto* token = std::get_if<TokenCreated>(&note);
    taken = taken || (token != nullptr && token->name == command.name);
  }
  if (taken) {
    return Refused(base::Format("there is a token {} already: revoke it, or choose another name",
                                base::Quote(command.name)));
  }
  constexpr std::size_t kMaxTokens = 10'000;
  if (state_.tables().tokens->size() >= kMaxTokens)
    return Refused(base::Format("there are {} tokens, the most there may be", kMaxTokens));
  batch_.notes.emplace_back(TokenCreated{
      .name = command.name,
      .hash = command.hash,
      .role = command.role,
      .account = command.account,
      .expires = command.lifetime.IsZero() ? base::Instant{} : now_ + command.lifetime});
  Audit(caller, "token create", "token " + command.name,
        base::Format("role {}, account {}", Name(command.role), command.account.user));
  return Reply{};
}

base::Result<Reply> Composer::On(const Caller& caller, const RevokeToken& command) {
  if (base::Status allowed = CheckRole(caller, Role::kAdmin, "token revoke"); !allowed)
    return allowed.error();
  const bool known = std::ranges::any_of(*state_.tables().tokens, [&](const TokenCreated& token) {
    return token.name == command.name;
  });
  if (!known) {
    return base::Error{ErrorCode::kNotFound,
                       base::Format("there is no token {}", base::Quote(command.name)), ""};
  }
  batch_.notes.emplace_back(TokenRevoked{command.name});
  Audit(caller, "token revoke", "token " + command.name, "");
  return Reply{};
}

base::Result<Reply> Composer::On(const Caller& caller, const ActivatePolicy& command) {
  if (base::Status allowed = CheckRole(caller, Role::kAdmin, "policy"); !allowed)
    return allowed.error();
  if (const base::Errors faults = engine::CheckPolicy(command.policy); !faults.empty())
    return faults.front();
  batch_.facts.emplace_back(model::PolicyActivated{command.policy});
  batch_.notes.emplace_back(PolicyNoted{command.text});
  Audit(caller, "policy", "policy", base::Format("{} bytes", command.text.size()));
  return Reply{};
}

}  // namespace muster::server
