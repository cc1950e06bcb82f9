// SPDX-License-Identifier: Apache-2.0
// A rank's output on disk: a folder of segments `RANK.START.log`, START being the offset of the
// segment's first byte since the rank began. Two are kept at most, so names alone say what was
// rotated away. The folder is the driver's; users do not get at it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/driver.h"
#include "posix/descriptor.h"

namespace muster::driver {

/// Writes the log of one rank. Never fails: what cannot be written is counted, and a line in the
/// log says how much is missing as soon as there is space again.
class RankLog {
 public:
  /// Goes on after what is there of an earlier writer. `limit_bytes` bounds what is kept.
  RankLog(const std::string& folder, std::int32_t rank, std::int64_t limit_bytes);

  void Append(std::string_view bytes);
  /// A last try to tell of what was lost.
  void Finish();
  std::int64_t lost_bytes() const { return lost_bytes_; }

 private:
  std::string Name(std::uint64_t start) const;
  bool OpenSegment();
  bool Write(std::string_view bytes);
  void NoteLoss();

  std::string path_;
  posix::Descriptor folder_;
  std::int32_t rank_ = 0;
  std::int64_t segment_limit_ = 0;
  posix::Descriptor segment_;
  std::uint64_t end_ = 0;  ///< offset of the next byte
  std::uint64_t segment_start_ = 0;
  std::int64_t lost_bytes_ = 0;
  int loss_error_ = 0;
};

/// A piece of the log of `request.rank` in its attempt's folder. `kNotFound`: there is none.
base::Result<LogChunk> ReadRankLog(const std::string& folder, const LogRequest& request);

/// LOGS/JOB/ATTEMPT.
std::string LogFolder(const std::string& logs, GangId gang);

/// Disk space of the logs in an attempt's folder.
std::int64_t LogBytes(const std::string& folder);

/// While all logs below `logs` together are larger than `most_bytes`, removes whole attempts,
/// oldest last write first, except those that `is_kept` names. Returns how large they are then.
std::int64_t TrimLogs(const std::string& logs, std::int64_t most_bytes,
                      const std::function<bool(GangId)>& is_kept);

}  // namespace muster::driver
