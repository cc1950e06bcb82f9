// SPDX-License-Identifier: Apache-2.0
// What tests of the local driver share. Nothing here sleeps: everything waits for a descriptor or a
// condition, with a deadline that only a failing test reaches.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/driver.h"
#include "driver/local/local_driver.h"
#include "posix/descriptor.h"

namespace muster::driver {

inline constexpr std::chrono::seconds kDeadline{20};

/// A folder of a test, removed with it. Everyone may use it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// Lines that tasks write into a named pipe (`echo here > PATH`).
class Lines {
 public:
  explicit Lines(const std::string& path);
  const std::string& path() const { return path_; }
  /// The next line; empty after the deadline, which fails the test.
  std::string Next();

 private:
  std::string path_;
  posix::Descriptor pipe_;
  std::string rest_;
};

/// Waits until a process is gone; false after the deadline. To be made while it lives.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t pid);
  bool Wait() const;

 private:
  posix::Descriptor handle_;
};

/// Takes in what a driver tells.
class Seen {
 public:
  Sink sink();
  /// False after the deadline.
  bool WaitFor(const std::function<bool(const Seen&)>& holds);

  // For `holds`, and for whoever has waited.
  std::optional<RankExit> Exit(GangId gang, std::int32_t rank = 0) const;
  bool Started(GangId gang, std::int32_t rank = 0) const;
  std::size_t EndsTold() const { return ends_told_; }
  const std::vector<NodeFound>& nodes() const { return nodes_; }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void Take(const Observation& observation);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<NodeFound> nodes_;
  std::vector<std::string> missing_;
  std::map<std::pair<GangId, std::int32_t>, RankExit> ends_;
  std::map<std::pair<GangId, std::int32_t>, bool> started_;
  std::size_t ends_told_ = 0;
};

/// A driver with virtual nodes ("4x2" unless said otherwise) in a folder of its own.
class LocalDriverTest : public testing::Test {
 protected:
  LocalDriverTest();
  ~LocalDriverTest() override;

  /// What `Open` uses; to be changed before it.
  LocalDriverOptions options;
  void Open();
  /// Ends the driver and begins another on the same folder; what was seen is forgotten.
  void Reopen();

  /// A gang of one rank a command, each on a node of its own as far as there are nodes.
  Launch MakeLaunch(std::uint32_t job, std::vector<std::vector<std::string>> commands) const;
  /// A gang of one rank that runs a shell script.
  Launch Script(std::uint32_t job, const std::string& script) const;
  static std::vector<std::string> Shell(const std::string& script);

  /// How a rank ended; fails the test at the deadline.
  RankExit WaitForExit(GangId gang, std::int32_t rank = 0);
  bool WaitForStart(GangId gang, std::int32_t rank = 0);
  RankExit RunToEnd(const Launch& launch);
  /// All of a rank's output.
  std::string Log(GangId gang, std::int32_t rank = 0) const;
  std::string GangFolderPath(GangId gang) const;
  /// Process number of the supervisor of a node of a gang.
  pid_t SupervisorOf(GangId gang, std::size_t node = 0) const;

  TestFolder folder;
  std::unique_ptr<Seen> seen;
  std::unique_ptr<LocalDriver> driver;
};

/// For messages of failed tests.
void PrintTo(const RankExit& exit, std::ostream* out);

/// The account `nobody`.
Identity Nobody();
Identity Self();
bool IsRoot();

}  // namespace muster::driver
