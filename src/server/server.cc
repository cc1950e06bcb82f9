// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "base/archive.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/strings.h"

namespace muster::server {
namespace {

/// How long the journal is left alone after it failed.
constexpr base::Duration kRetryAfter = base::Seconds(1);

base::Error Unavailable(std::string_view trouble) {
  return {base::ErrorCode::kUnavailable,
          base::Format("the server cannot make anything durable at the moment: {}", trouble), ""};
}

std::string PolicyHash(const engine::View& view) {
  base::Writer writer;
  writer(view.policy());
  base::StreamHash hash;
  hash.Add(writer.bytes());
  return base::Format("{:016x}", hash.Value());
}

}  // namespace

/// A batch on its way to the journal.
struct Server::Pending {
  Batch batch;
  std::vector<driver::Order> orders;
  std::vector<driver::Observation> observations;
  struct Due {
    Answer answer;
    base::Result<Reply> reply;
  };
  std::vector<Due> answers;
};

Server::Server(Outside outside, ServerOptions options, State state)
    : outside_(outside), options_(std::move(options)), state_(std::move(state)) {
  Publish();
}

Server::~Server() = default;

base::Result<std::unique_ptr<Server>> Server::Open(Outside outside, ServerOptions options) {
  auto restored = RestoreState(outside.journal);
  if (!restored) return restored.error();
  const bool fresh = !restored->has_value();
  State state = fresh ? State(options.initial) : std::move(**restored);
  std::unique_ptr<Server> server(
      new Server(outside, std::move(options), std::move(state)));  // the constructor is private
  // A segment belongs to one build: whoever opens the journal begins one.
  if (base::Status put = server->PutSnapshot(); !put) return put.error();
  Mailbox& mailbox = server->mailbox_;
  base::Status opened = outside.driver.Open(
      [&mailbox](driver::Observation seen) { mailbox.Observe(std::move(seen)); });
  if (!opened) return opened.error();
  server->Reconcile();
  return server;
}

Server::StepResult Server::Step() {
  const base::Instant now = std::max(outside_.clock.Now(), state_.at());
  if (!trouble_.empty() && (now < retry_at_ || !ResolveDoubt())) {
    RejectWaiting();
    return Rest();
  }
  const base::Duration began = outside_.clock.Steady();
  Mailbox::Taken taken = mailbox_.Take();
  counters_.backlog = taken.requests.size() + taken.observations.size() + taken.left;
  Composer composer(state_, options_.rules, now);
  Pending pending;
  for (const driver::Observation& seen : taken.observations) composer.Observe(seen);
  for (Mailbox::Posted& posted : taken.requests) {
    ++counters_.commands;
    auto reply = composer.Admit(posted.request);
    if (!reply) ++counters_.refused;
    pending.answers.push_back({std::move(posted.answer), std::move(reply)});
  }
  const auto deadline = state_.engine().NextDeadline();
  if (decide_more_ || (deadline && *deadline <= now)) composer.AddTick();
  pending.orders = composer.TakeOrders();
  if (!composer.empty()) {
    pending.batch = composer.TakeBatch();
    pending.observations = std::move(taken.observations);
    if (!Commit(pending)) return Rest();
  } else {
    GiveOrders({}, pending.orders);
  }
  for (Pending::Due& due : pending.answers) due.answer(std::move(due.reply));
  counters_.loop_lag.Add(outside_.clock.Steady() - began);
  StepResult rest = Rest();
  rest.more = decide_more_ || taken.left > 0;
  return rest;
}

/// Decides, makes durable, publishes, gives the orders. False: it came to nothing, and all who wait
/// for it have been told.
bool Server::Commit(Pending& pending) {
  const base::Duration decide_began = outside_.clock.Steady();
  decide_more_ = state_.Decide(pending.batch);
  const base::Duration append_began = outside_.clock.Steady();
  counters_.decide.Add(append_began - decide_began);
  const journal::Record record{state_.sequence(), EncodeBatch(pending.batch)};
  const base::Status appended = outside_.journal.Append(record);
  counters_.append.Add(outside_.clock.Steady() - append_began);
  if (!appended) {
    EnterDoubt(appended.error(), pending.batch);
    mailbox_.PutBack(std::move(pending.observations));
    for (Pending::Due& due : pending.answers) {
      // A refusal holds, whatever became of the batch.
      due.answer(due.reply ? base::Result<Reply>(Unavailable(trouble_)) : std::move(due.reply));
    }
    return false;
  }
  Count(pending.batch);
  Publish();
  GiveOrders(pending.batch, pending.orders);
  MaybeSnapshot(record.bytes.size());
  return true;
}

Server::StepResult Server::Rest() const {
  if (!trouble_.empty()) return {.doubt = true, .wake = retry_at_};
  return {.wake = state_.engine().NextDeadline()};
}

void Server::EnterDoubt(const base::Error& error, const Batch& undone) {
  ++counters_.append_failures;
  trouble_ = error.ToString();
  retry_at_ = std::max(outside_.clock.Now(), state_.at()) + kRetryAfter;
  state_.RollBack(*Look(), undone);
  decide_more_ = true;  // the engine was made anew: let it look at everything once
  Publish();
}

/// Asks the journal what became of the record whose append failed. True: the state is the journal's
/// again.
bool Server::ResolveDoubt() {
  auto records = outside_.journal.Read(state_.sequence() + 1, std::size_t{1} << 30);
  if (!records) {
    trouble_ = records.error().ToString();
    retry_at_ = std::max(outside_.clock.Now(), state_.at()) + kRetryAfter;
    Publish();
    return false;
  }
  trouble_.clear();
  for (const journal::Record& record : *records) {
    auto batch = DecodeBatch(record.bytes);
    MUSTER_CHECK(batch.has_value());  // its checksum held, and this process wrote it
    state_.Replay(*batch);
    Count(*batch);
    Publish();
    GiveOrders(*batch, {});
  }
  Publish();
  return true;
}

void Server::RejectWaiting() {
  for (Mailbox::Posted& posted : mailbox_.Take().requests) posted.answer(Unavailable(trouble_));
}

driver::Launch Server::MakeLaunch(const Picture& picture, model::JobId job) const {
  const JobRecord& record = picture.tables.jobs[job.value];
  const engine::JobView now = picture.view.Job(job);
  driver::Launch launch{.gang = {job, now.attempt},
                        .job_name = record.text->name,
                        .owner = record.owner,
                        .api = options_.api};
  for (std::size_t g = 0; g < now.request->groups.size(); ++g)
    launch.groups.push_back({now.request->groups[g].name, record.text->commands[g]});
  std::size_t rank = 0;
  for (std::size_t g = 0; g < now.placement->group_sizes.size(); ++g) {
    for (std::int32_t i = 0; i < now.placement->group_sizes[g]; ++i, ++rank) {
      const model::ReplicaPlacement& placed = now.placement->ranks[rank];
      launch.replicas.push_back({.group = static_cast<std::int32_t>(g),
                                 .node = picture.view.Node(placed.node).spec->name,
                                 .devices = placed.devices,
                                 .cpu = placed.cpu,
                                 .memory = placed.memory});
    }
  }
  if (const auto& checkpoint = now.request->checkpoint) {
    launch.checkpoint_dir = checkpoint->dir;
    launch.checkpoint_signal = checkpoint->on_signal;
    launch.checkpoint_every = checkpoint->every;
  }
  if (record.checkpoint != nullptr) launch.resume_from = record.checkpoint->path;
  if (options_.attempt_token) launch.token = options_.attempt_token(launch.gang);
  return launch;
}

void Server::GiveOrders(const Batch& batch, const std::vector<driver::Order>& orders) {
  for (const driver::Order& order : orders) outside_.driver.Give(order);
  const PicturePtr picture = Look();
  for (const model::Decision& decision : batch.decisions) {
    if (const auto* start = std::get_if<model::StartGang>(&decision)) {
      // One batch may start a gang and stop it again; what is not there any more is not launched.
      const engine::JobView now = picture->view.Job(start->job);
      if (now.placement != nullptr && now.attempt == start->attempt)
        outside_.driver.Give(MakeLaunch(*picture, start->job));
    } else if (const auto* stop = std::get_if<model::StopGang>(&decision)) {
      outside_.driver.Give(driver::Stop{{stop->job, stop->attempt}, StopGrace(stop->grace)});
    } else if (const auto* requeue = std::get_if<model::RequeueJob>(&decision)) {
      outside_.driver.Give(driver::Forget{{requeue->job, requeue->attempt}});
    } else if (const auto* finish = std::get_if<model::FinishJob>(&decision)) {
      const engine::JobView now = picture->view.Job(finish->job);
      if (now.attempt.value > 0) outside_.driver.Give(driver::Forget{{finish->job, now.attempt}});
    }
  }
}

/// What runs is adopted; what was decided but never launched is launched now; what has vanished is
/// reported as lost; nodes that are no longer there are taken out.
void Server::Reconcile() {
  const engine::View view = state_.engine().view();
  std::vector<driver::Expected> expected;
  for (std::uint32_t i = 1; i < view.job_count(); ++i) {
    const engine::JobView job = view.Job(model::JobId{i});
    if (job.placement == nullptr) continue;
    const auto& attempts = state_.tables().jobs[i].attempts;
    const bool started = attempts != nullptr && attempts->back().running.us != 0;
    expected.push_back({{model::JobId{i}, job.attempt}, started});
  }
  const std::vector<driver::GangId> unknown = outside_.driver.Adopt(expected);
  TakeOutMissingNodes(view);
  for (const driver::Expected& each : expected) {
    const engine::JobView job = view.Job(each.gang.job);
    const bool known = std::ranges::find(unknown, each.gang) == unknown.end();
    if (!known && !each.started && job.phase == engine::JobPhase::kStarting) {
      outside_.driver.Give(MakeLaunch(*Look(), each.gang.job));
    } else if (!known) {
      for (std::size_t rank = 0; rank < job.placement->ranks.size(); ++rank) {
        mailbox_.Observe(driver::RankEnded{
            each.gang,
            static_cast<std::int32_t>(rank),
            {.kind = driver::RankExit::Kind::kLost, .text = "gone while the server was away"}});
      }
    } else if (job.phase == engine::JobPhase::kStopping) {
      const base::Duration grace =
          job.request->checkpoint ? job.request->checkpoint->grace : base::Duration{};
      outside_.driver.Give(driver::Stop{each.gang, StopGrace(grace)});
    }
  }
}

void Server::TakeOutMissingNodes(const engine::View& view) {
  Mailbox::Taken waiting = mailbox_.Take();
  std::set<std::string> found;
  for (const driver::Observation& seen : waiting.observations) {
    if (const auto* node = std::get_if<driver::NodeFound>(&seen)) found.insert(node->spec.name);
  }
  mailbox_.PutBack(std::move(waiting.observations));
  for (std::uint32_t i = 0; i < view.node_count(); ++i) {
    const engine::NodeView node = view.Node(model::NodeId{i});
    if (!node.gone && !found.contains(node.spec->name))
      mailbox_.Observe(driver::NodeMissing{node.spec->name});
  }
}

void Server::Count(const Batch& batch) {
  ++counters_.batches;
  counters_.facts += batch.facts.size();
  counters_.decisions += batch.decisions.size();
  for (const model::Decision& decision : batch.decisions) {
    if (const auto* start = std::get_if<model::StartGang>(&decision)) {
      const JobRecord& record = state_.tables().jobs[start->job.value];
      if (start->attempt.value > 1) {
        ++counters_.restarts;
      } else {
        counters_.wait[record.queue].Add(batch.at - record.submitted);
      }
    } else if (const auto* requeue = std::get_if<model::RequeueJob>(&decision)) {
      ++counters_.requeues;
      if (requeue->reason.code == model::ReasonCode::kNodeLost) ++counters_.node_losses;
    } else if (const auto* finish = std::get_if<model::FinishJob>(&decision)) {
      ++counters_.ends[static_cast<std::size_t>(finish->end)];
    }
  }
}

void Server::Publish() {
  counters_.rejected_full = mailbox_.rejected();
  PicturePtr picture = std::make_shared<const Picture>(
      Picture{.sequence = state_.sequence(),
              .at = state_.at(),
              .view = state_.engine().view(),
              .tables = state_.tables(),
              .counters = std::make_shared<const Counters>(counters_),
              .trouble = trouble_});
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    picture_.swap(picture);  // the old one is freed outside the lock
    wake = wake_;
  }
  if (wake) wake();
}

void Server::MaybeSnapshot(std::size_t record_bytes) {
  bytes_since_snapshot_ += record_bytes;
  if (bytes_since_snapshot_ < options_.snapshot_after_bytes ||
      bytes_since_snapshot_ < snapshot_bytes_) {
    return;
  }
  // Not being able to write one loses nothing: the records are there.
  if (!PutSnapshot()) bytes_since_snapshot_ = 0;
}

base::Status Server::PutSnapshot() {
  journal::Snapshot snapshot{.sequence = state_.sequence(),
                             .build = options_.build,
                             .policy_hash = PolicyHash(state_.engine().view()),
                             .bytes = state_.Snapshot()};
  if (base::Status put = outside_.journal.PutSnapshot(snapshot); !put) return put;
  snapshot_bytes_ = snapshot.bytes.size();
  bytes_since_snapshot_ = 0;
  const auto segments = outside_.journal.Segments();
  if (!segments || segments->size() <= options_.kept_segments) return {};
  return outside_.journal.DropBefore(
      (*segments)[segments->size() - options_.kept_segments].snapshot_sequence + 1);
}

base::Status Server::Close() {
  for (Mailbox::Posted& posted : mailbox_.Close()) {
    posted.answer(base::Error{base::ErrorCode::kUnavailable, "the server is shutting down", ""});
  }
  outside_.driver.Close();
  OnPublish({});
  return trouble_.empty() ? PutSnapshot() : base::Status{};
}

void Server::Post(Request request, Answer answer) {
  if (mailbox_.Post(request, answer)) return;
  answer(base::Error{base::ErrorCode::kUnavailable,
                     "the server has too many requests waiting, or is shutting down; try again",
                     ""});
}

PicturePtr Server::Look() const {
  const std::lock_guard lock(mutex_);
  return picture_;
}

void Server::OnPublish(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

base::Result<driver::LogChunk> Server::ReadLog(const driver::LogRequest& request) const {
  return outside_.driver.ReadLog(request);
}

}  // namespace muster::server
