// SPDX-License-Identifier: Apache-2.0
// A disk in memory behind sqlite3_vfs, that fails where a test wants it to and forgets what was not
// synced when its power is cut. No thread, no real file, no clock.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"

namespace muster::test {

using Bytes = std::vector<std::uint8_t>;

class SimulatedDisk {
 public:
  SimulatedDisk();
  ~SimulatedDisk();
  SimulatedDisk(const SimulatedDisk&) = delete;
  SimulatedDisk& operator=(const SimulatedDisk&) = delete;

  /// For `SqliteJournal::Options::vfs`.
  const std::string& name() const { return name_; }

  enum class Fault {
    kFull,      ///< no space; strikes at writes only
    kError,     ///< write, sync, truncation or removal fails; what a failed sync should have
                ///< written is never written, as on Linux
    kPowerCut,  ///< nothing works until `Restart`
  };
  /// The n-th changing operation from now on (from 1) fails, with half of the sectors of a
  /// write done.
  void FailAt(int n, Fault fault) { Plan(n, fault, false); }
  /// All from the n-th on fail, until `Heal`.
  void FailFrom(int n, Fault fault) { Plan(n, fault, true); }
  void Heal() { countdown_ = 0; }
  /// Whether a planned fault has struck.
  bool struck() const { return struck_; }
  /// Whether the power is off.
  bool off() const { return off_; }

  /// From now on nothing works, as after `kPowerCut`.
  void CutPower() { off_ = true; }
  /// What a killed process does: nothing more. Nothing is lost.
  void GoOn() { off_ = false; }
  /// The power comes back. Of what was not synced, each sector is there or not, and each removed
  /// file is gone or not, by chance.
  void Restart(base::Rng& rng);

  /// The sum of all files' sizes may not exceed this.
  void SetCapacity(std::size_t bytes) { capacity_ = bytes; }
  std::size_t Used() const;

  // The files as an outsider sees them, while nobody has them open.
  Bytes Get(const std::string& path) const;
  void Set(const std::string& path, const Bytes& bytes);
  void Remove(const std::string& path) { files_.erase(path); }

 private:
  struct Change {
    std::size_t offset = 0;
    Bytes bytes;
    bool truncates = false;  ///< to `offset`, instead
  };
  struct Content {
    Bytes now;
    Bytes synced;
    std::vector<Change> pending;
  };
  struct OpenFile : sqlite3_file {
    SimulatedDisk* disk;
    bool syncs_folder;
    Content* content;
  };
  struct Vfs;

  void Plan(int n, Fault fault, bool persistent);
  bool Strikes(bool is_write);
  int Write(Content& content, const Change& change);
  int Sync(Content& content);
  static void ApplyChange(Bytes& bytes, const Change& change);

  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, Content> files_;
  std::map<std::string, Bytes> removed_;  ///< may come back: their folder is not synced yet
  base::Rng random_{1};
  std::size_t capacity_ = SIZE_MAX;
  Fault fault_ = Fault::kError;
  int countdown_ = 0;  ///< 0: no fault planned
  bool persistent_ = false;
  bool struck_ = false;
  bool off_ = false;
};

}  // namespace muster::test
