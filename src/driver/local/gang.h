// SPDX-License-Identifier: Apache-2.0
// One gang as the driver knows it: its folder, the pipes to its supervisors, and what became of its
// ranks. Used by the watcher thread alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "driver/local/events.h"
#include "driver/local/orders.h"
#include "driver/local/plan.h"
#include "posix/descriptor.h"

namespace muster::driver {

class Gang {
 public:
  /// Starts a gang: plan on disk, then a supervisor a node; no task before all of them are ready.
  /// Never fails by itself: what goes wrong stops what was begun and ends every rank as
  /// `kNotStarted`.
  static Gang Launch(GangFolder folder, Plan plan, std::span<const std::string> supervisor_command);
  /// A gang that was refused: nothing of it is on disk.
  static Gang Refused(GangId id, std::size_t ranks, const std::string& text);
  /// A gang that another run of the program started. `kNotFound`: it never began; the folder is
  /// removed. One whose plan cannot be read is an orphan (`IsReadable`).
  static base::Result<Gang> Reopen(GangId id, GangFolder folder);

  GangId id() const { return id_; }
  bool IsReadable() const { return is_readable_; }
  /// No process of it is left, not even its supervisors.
  bool IsGone() const;
  /// Nothing of the job's runs any more.
  bool HasEnded() const;
  /// Its master port, 0 for none.
  std::uint16_t port() const { return plan_.master_port; }
  /// Descriptors to wait for; `Look` when one has something to say.
  std::vector<int> Descriptors() const;
  /// A process could not be ended or collected yet: `Look` again in a while.
  bool WantsRetry() const;
  /// Supervisors of it that may live.
  const std::vector<std::int64_t>& supervisors() const { return supervisors_; }

  /// Its tasks may start once all supervisors are ready: the server wants it.
  void Approve() { is_approved_ = true; }
  /// Takes in what its supervisors wrote and whether they still are. Returns what is new.
  std::vector<Observation> Look();
  /// All that is known: which ranks started and which ended.
  std::vector<Observation> Everything() const;

  void Stop(base::Duration grace);
  void Signal(int number);
  /// Nobody wants it any more: everything is killed. `RemoveFolder` when `IsGone`.
  void Abandon();
  bool IsAbandoned() const { return is_abandoned_; }
  void RemoveFolder();

 private:
  /// The supervisor of one node.
  struct Link {
    posix::Descriptor alive;   ///< open: somebody of it lives
    posix::Descriptor orders;  ///< closed: there is nobody to take any
    EventReader events;
    pid_t child = 0;  ///< to be collected, if we started it
    bool has_begun = false;
    bool is_swept = true;  ///< false: it vanished, and not all it left could be killed yet
    std::string fault;     ///< its events cannot be read: why
  };

  Gang(GangId id, GangFolder folder, Plan plan);
  static Gang Unreadable(GangId id, GangFolder folder, const std::string& why);
  base::Status WriteDown() const;
  base::Status OpenLink(std::size_t node, std::span<const std::string> supervisor_command);
  void ReopenLink(std::size_t node);
  void ReadEvents(std::size_t node, std::vector<Observation>& news);
  void TakeEvent(const TaskEvent& event, std::vector<Observation>& news);
  bool DrainAlive(Link& link);
  void LoseRanks(std::size_t node, std::vector<Observation>& news);
  void Sweep(std::size_t node);
  void Abort(const std::string& text);
  void Advance(std::vector<Observation>& news);
  void SendTo(Link& link, const SupervisorOrder& order);
  void SendAll(const SupervisorOrder& order);
  void End(std::size_t rank, RankExit exit, std::vector<Observation>& news);
  bool HasOpenRanks(std::size_t node) const;
  bool IsOn(std::size_t rank, std::size_t node) const;
  std::string WhyBeginFailed(std::size_t node) const;

  GangId id_;
  GangFolder folder_;
  Plan plan_;
  std::vector<Link> links_;  ///< as plan_.nodes
  std::vector<std::int64_t> supervisors_;
  std::vector<bool> started_;
  std::vector<std::optional<RankExit>> ended_;
  bool is_readable_ = true;
  bool is_approved_ = false;
  bool is_going_ = false;  ///< kGo was sent, or need not be
  bool is_abandoned_ = false;
  std::string abort_text_;  ///< not empty: it is being undone, since not all of it could begin
};

/// "SIGUSR1" or "USR1" as a number.
std::optional<int> SignalNumber(std::string_view name);

}  // namespace muster::driver
