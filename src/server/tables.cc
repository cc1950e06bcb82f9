// SPDX-License-Identifier: Apache-2.0
#include "server/tables.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "base/strings.h"
#include "server/names.h"
#include "server/usage.h"

namespace muster::server {
namespace {

using model::ReasonCode;

std::string_view WordFor(model::JobChanged::Change change) {
  constexpr std::array<std::string_view, 5> kNames = {"held", "released", "cancelled",
                                                      "given another priority", "requeued"};
  return kNames[static_cast<std::size_t>(change)];
}

/// "gpu-1, gpu-2 and 6 more".
std::string NodeList(const model::GangPlacement& placement, const engine::View& view) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> names;
  std::vector<model::NodeId> seen;
  for (const model::ReplicaPlacement& rank : placement.ranks) {
    if (std::ranges::find(seen, rank.node) != seen.end()) continue;
    seen.push_back(rank.node);
    if (names.size() < kShown) names.push_back(view.Node(rank.node).spec->name);
  }
  std::string text = base::Join(names, ", ");
  if (seen.size() > names.size()) text += base::Format(" and {} more", seen.size() - names.size());
  return text;
}

/// A shared value that is copied once, at its first change in a batch.
template <class T>
class Draft {
 public:
  explicit Draft(std::shared_ptr<const T>& shared) : shared_(shared) {}
  T& operator*() {
    if (own_ == nullptr) {
      own_ = std::make_shared<T>(*shared_);
      shared_ = own_;
    }
    return *own_;
  }

 private:
  std::shared_ptr<const T>& shared_;
  std::shared_ptr<T> own_;
};

/// Applies one batch; a value of its own so that its parts need not be handed around.
class Folder {
 public:
  Folder(Tables& tables, const Batch& batch, std::uint64_t sequence, const engine::View& view)
      : tables_(tables),
        batch_(batch),
        sequence_(sequence),
        view_(view),
        nodes_(tables.nodes),
        tokens_(tables.tokens),
        usage_(tables.usage) {}

  void Run() {
    for (const Note& note : batch_.notes) {
      std::visit([this](const auto& each) { On(each); }, note);
    }
    for (const model::Fact& fact : batch_.facts) {
      std::visit([this](const auto& each) { On(each); }, fact);
    }
    for (const model::Decision& decision : batch_.decisions) {
      std::visit([this](const auto& each) { On(each); }, decision);
    }
    DropOld(tables_.events, kKeptEvents);
    DropOld(tables_.audit, kKeptAudit);
    // A look at every chunk; now and then is enough.
    constexpr std::uint64_t kBatchesBetweenLooks = 1024;
    if (sequence_ % kBatchesBetweenLooks == 0) ForgetEndedJobs();
  }

 private:
  template <class Row, std::size_t kRows>
  static void DropOld(base::CowTable<Row, kRows>& table, std::size_t kept) {
    if (table.size() < kept + kRows) return;
    const std::size_t chunk = (table.size() - kept) / kRows - 1;
    if (!table.IsDropped(chunk * kRows)) table.DropChunk(chunk);
  }

  bool HasEnded(std::size_t job) const {
    const auto phase = view_.Job(model::JobId{static_cast<std::uint32_t>(job)}).phase;
    return phase == engine::JobPhase::kEnded || phase == engine::JobPhase::kUnknown;
  }
  /// Keeps the youngest chunks of jobs that have all ended; the audit and usage remember the rest.
  void ForgetEndedJobs() {
    constexpr std::size_t kRows = base::CowTable<JobRecord>::kRowsPerChunk;
    std::size_t kept = 0;
    for (std::size_t chunk = tables_.jobs.size() / kRows; chunk-- > 0;) {
      const std::size_t first = chunk * kRows;
      if (tables_.jobs.IsDropped(first)) continue;
      bool all = true;
      for (std::size_t i = first; i < first + kRows && all; ++i) all = HasEnded(i);
      if (!all) continue;
      kept += kRows;
      if (kept > kKeptEndedJobs) tables_.jobs.DropChunk(chunk);
    }
  }

  const JobRecord* Find(model::JobId job) const {
    if (job.value >= tables_.jobs.size() || tables_.jobs.IsDropped(job.value)) return nullptr;
    return tables_.jobs[job.value].text == nullptr ? nullptr : &tables_.jobs[job.value];
  }
  /// For writing, which copies the rows around it once a batch.
  JobRecord* FindToChange(model::JobId job) {
    return Find(job) == nullptr ? nullptr : &tables_.jobs.Mutable(job.value);
  }

  void AddEvent(EventKind kind, model::JobId job, model::Attempt attempt, std::string text) {
    // A batch has far fewer than 2^16 events of its own; those beyond share the last number.
    const std::uint64_t id = (sequence_ << 16) | std::min<std::uint64_t>(events_++, 0xffff);
    tables_.events.PushBack({id, batch_.at, kind, job, attempt, std::move(text)});
  }
  void AddNodeEvent(std::string text) {
    AddEvent(EventKind::kNode, model::JobId::None(), {}, std::move(text));
  }

  // --- notes
  void On(const JobAccepted& note) {
    while (tables_.jobs.size() <= note.job.value) tables_.jobs.PushBack({});
    JobRecord& record = tables_.jobs.Mutable(note.job.value);
    record = {.text = std::make_shared<const JobText>(note.text), .owner = note.owner};
  }
  void On(const RankExitNoted& note) {
    using Kind = driver::RankExit::Kind;
    if (note.exit.kind == Kind::kStopped ||
        (note.exit.kind == Kind::kExited && note.exit.code == 0)) {
      return;
    }
    // The first failure is the cause, the others follow it.
    const AttemptRecord* open = OpenAttempt(note.gang);
    if (open == nullptr || open->bad_rank >= 0) return;
    EditAttempt(note.gang, [&note](AttemptRecord& attempt) {
      attempt.bad_rank = note.rank;
      attempt.bad_exit = note.exit;
    });
  }
  void On(const NodeNoted& note) {
    NodeRecord& record = (*nodes_)[note.node];
    if (!note.note.empty()) record.note = note.note;
    if (!note.state_reason.empty()) record.state_reason = note.state_reason;
  }
  void On(const CheckpointNoted& note) {
    JobRecord* record = FindToChange(note.gang.job);
    if (record == nullptr) return;
    record->checkpoint = std::make_shared<const CheckpointRecord>(CheckpointRecord{
        .step = note.step, .path = note.path, .at = batch_.at, .attempt = note.gang.attempt});
    AddEvent(EventKind::kCheckpoint, note.gang.job, note.gang.attempt,
             base::Format("checkpoint at step {}", note.step));
  }
  void On(const PauseNoted& note) {
    tables_.pause = {note.paused, note.reason, batch_.at};
    AddEvent(EventKind::kPause, model::JobId::None(), {},
             base::Format("starts {}{}{}", note.paused ? "paused" : "resumed",
                          note.reason.empty() ? "" : ": ", note.reason));
  }
  void On(const TokenCreated& note) {
    std::erase_if(*tokens_, [this](const TokenCreated& each) { return IsExpired(each); });
    (*tokens_).push_back(note);
  }
  void On(const TokenRevoked& note) {
    std::erase_if(*tokens_, [&note](const TokenCreated& each) { return each.name == note.name; });
  }
  void On(const PolicyNoted& note) {
    tables_.policy_text = std::make_shared<const std::string>(note.text);
  }
  void On(const ClassNoted& note) {
    JobRecord* record = FindToChange(note.job);
    if (record == nullptr) return;
    JobText text = *record->text;
    text.priority_class = note.priority_class;
    record->text = std::make_shared<const JobText>(std::move(text));
  }
  void On(const Audited& note) { tables_.audit.PushBack({batch_.at, note}); }

  // --- facts
  void On(const model::JobSubmitted& fact) {
    JobRecord* record = FindToChange(fact.job);
    if (record == nullptr) return;
    record->request = fact.request;
    record->queue = fact.queue;
    record->submitted = batch_.at;
    record->start_after = fact.start_after;
    AddEvent(EventKind::kSubmitted, fact.job, {}, base::Format("to queue {}", fact.queue));
  }
  void On(const model::JobChanged& fact) {
    if (Find(fact.job) != nullptr)
      AddEvent(EventKind::kChanged, fact.job, {}, std::string(WordFor(fact.change)));
  }
  void On(const model::NodeSeen& fact) { AddNodeEvent(fact.spec.name + " found"); }
  void On(const model::NodeGone& fact) { AddNodeEvent(fact.node + " is gone"); }
  void On(const model::NodeStateChanged& fact) {
    AddNodeEvent(base::Format("{} is {}", fact.node, Name(fact.state)));
  }
  void On(const model::HealthReported& fact) {
    AddNodeEvent(base::Format("{} has {} faulty devices", fact.node, std::popcount(fact.faulty)));
  }
  void On(const model::ForeignUsage& fact) {
    AddNodeEvent(
        base::Format("{} has {} devices used by others", fact.node, std::popcount(fact.devices)));
  }
  void On(const model::TaskStarted& fact) {
    const AttemptRecord* open = OpenAttempt({fact.job, fact.attempt});
    if (open == nullptr || open->running.us != 0) return;
    EditAttempt({fact.job, fact.attempt}, [this, &fact](AttemptRecord& attempt) {
      attempt.running = batch_.at;
      AddEvent(EventKind::kRunning, fact.job, fact.attempt, "");
    });
  }
  void On(const model::TaskExited&) {}
  void On(const model::StopConfirmed&) {}
  void On(const model::CheckpointReported&) {}
  void On(const model::PolicyActivated&) {
    AddEvent(EventKind::kPolicy, model::JobId::None(), {}, "a policy was activated");
  }
  void On(const model::StartsPaused&) {}
  void On(const model::Tick&) {}

  // --- decisions
  void On(const model::StartGang& decision) {
    JobRecord* record = FindToChange(decision.job);
    if (record == nullptr) return;
    std::vector<AttemptRecord> attempts;
    if (record->attempts != nullptr) attempts = *record->attempts;
    if (attempts.size() == kKeptAttempts) attempts.erase(attempts.begin());
    attempts.push_back(
        {.number = decision.attempt, .placed = batch_.at, .placement = decision.placement});
    record->attempts = std::make_shared<const std::vector<AttemptRecord>>(std::move(attempts));
    AddEvent(EventKind::kPlaced, decision.job, decision.attempt,
             "on " + NodeList(*decision.placement, view_));
  }
  void On(const model::StopGang& decision) {
    AddEvent(EventKind::kStopping, decision.job, decision.attempt,
             std::string(model::Text(decision.reason.code)));
  }
  void On(const model::RequeueJob& decision) {
    EndAttempt(decision.job, decision.reason.code);
    AddEvent(EventKind::kRequeued, decision.job, decision.attempt,
             std::string(model::Text(decision.reason.code)));
  }
  void On(const model::FinishJob& decision) {
    const std::string how = EndAttempt(decision.job, decision.reason.code);
    AddEvent(EventKind::kEnded, decision.job, {},
             base::Format("{}{}{}", Name(decision.end), how.empty() ? "" : ": ", how));
  }

  bool IsExpired(const TokenCreated& token) const {
    return token.expires.us != 0 && token.expires <= batch_.at;
  }

  /// The newest attempt if it has this number and goes on, else null.
  const AttemptRecord* OpenAttempt(driver::GangId gang) const {
    const JobRecord* record = Find(gang.job);
    if (record == nullptr || record->attempts == nullptr) return nullptr;
    const AttemptRecord& last = record->attempts->back();
    return last.number == gang.attempt && last.ended.us == 0 ? &last : nullptr;
  }

  /// Changes that attempt. A copy is made of all that are kept: look first whether there is need.
  template <class Edit>
  void EditAttempt(driver::GangId gang, Edit edit) {
    if (OpenAttempt(gang) == nullptr) return;
    JobRecord* record = FindToChange(gang.job);
    auto attempts = *record->attempts;
    edit(attempts.back());
    record->attempts = std::make_shared<const std::vector<AttemptRecord>>(std::move(attempts));
  }

  /// Closes the newest attempt; what went wrong in it, for people.
  std::string EndAttempt(model::JobId job, ReasonCode why) {
    const JobRecord* record = FindToChange(job);
    if (record == nullptr || record->attempts == nullptr) return "";
    std::string how;
    EditAttempt({job, record->attempts->back().number}, [&](AttemptRecord& attempt) {
      attempt.ended = batch_.at;
      attempt.why = why;
      if (attempt.bad_rank >= 0)
        how = base::Format("rank {} {}", attempt.bad_rank, Describe(attempt.bad_exit));
      AddUsage(*usage_, *record, attempt, view_);
    });
    return how;
  }

  Tables& tables_;
  const Batch& batch_;
  std::uint64_t sequence_;
  const engine::View& view_;
  Draft<NodeRecords> nodes_;
  Draft<std::vector<TokenCreated>> tokens_;
  Draft<UsageDays> usage_;
  std::uint64_t events_ = 0;
};

}  // namespace

void Fold(Tables& tables, const Batch& batch, std::uint64_t sequence, const engine::View& view) {
  Folder(tables, batch, sequence, view).Run();
}

Tables EmptyTables() {
  Tables tables;
  tables.jobs.PushBack({});  // no job has number 0
  tables.nodes = std::make_shared<const NodeRecords>();
  tables.tokens = std::make_shared<const std::vector<TokenCreated>>();
  tables.usage = std::make_shared<const UsageDays>();
  tables.policy_text = std::make_shared<const std::string>();
  return tables;
}

std::string Describe(const driver::RankExit& exit) {
  using Kind = driver::RankExit::Kind;
  const std::string more = exit.text.empty() ? "" : " (" + exit.text + ")";
  switch (exit.kind) {
    case Kind::kExited:
      return base::Format("exited with {}{}", exit.code, more);
    case Kind::kSignalled:
      return base::Format("was killed by signal {}{}", exit.code, more);
    case Kind::kOutOfMemory:
      return "was killed for lack of memory" + more;
    case Kind::kNotStarted:
      return "could not be started" + more;
    case Kind::kStopped:
      return "was stopped" + more;
    case Kind::kLost:
      break;
  }
  return "was lost" + more;
}

}  // namespace muster::server
