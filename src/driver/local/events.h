// SPDX-License-Identifier: Apache-2.0
// What a supervisor saw, in a file that only grows: a head with the version, then framed records
// with a checksum each. It is the only word about a rank that counts, also for a server that was
// away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/driver.h"
#include "posix/descriptor.h"

namespace muster::driver {

struct TaskEvent {
  enum class Kind : std::uint8_t {
    kBegun,    ///< the supervisor `pid` is ready for orders
    kStarted,  ///< every process of the rank runs its command
    kEnded,    ///< the rank is gone with all its processes
    kLast = kEnded,
  };
  Kind kind = Kind::kBegun;
  std::int32_t rank = 0;
  std::int64_t pid = 0;
  RankExit exit;
  friend bool operator==(const TaskEvent&, const TaskEvent&) = default;
};

class EventWriter {
 public:
  /// Makes the file and sets disk space aside for the events of `ranks` ranks, so that a disk that
  /// fills later does not swallow them.
  static base::Result<EventWriter> Create(const std::string& path, std::size_t ranks);

  /// Adds a record; the end of a rank is on disk before it returns. After an error the file is as
  /// it was, and trying again is fine.
  base::Status Append(const TaskEvent& event);

 private:
  explicit EventWriter(posix::Descriptor file) : file_(std::move(file)) {}
  base::Status Write(std::string_view bytes);

  posix::Descriptor file_;
  std::int64_t size_ = 0;
};

/// Reads a file of events while it grows.
class EventReader {
 public:
  explicit EventReader(std::string path) : path_(std::move(path)) {}

  /// What came since the last call; a record that is not whole yet comes with a later call. Nothing
  /// where there is no file. `kInvalid`: the version is unknown.
  base::Result<std::vector<TaskEvent>> ReadNew();

 private:
  std::string path_;
  std::int64_t offset_ = 0;
};

}  // namespace muster::driver
