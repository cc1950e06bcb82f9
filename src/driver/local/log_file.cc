// SPDX-License-Identifier: Apache-2.0
#include "driver/local/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "driver/local/files.h"

namespace muster::driver {
namespace {

constexpr std::int64_t kLeastSegmentBytes = 4096;

template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;  // one spelling each
  return number;
}

/// Start of the segment that `name` is, if it is one of `rank`.
std::optional<std::uint64_t> SegmentStart(std::string_view name, std::int32_t rank) {
  const std::vector<std::string_view> parts = base::Split(name, '.');
  if (parts.size() != 3 || parts[2] != "log") return std::nullopt;
  if (ParseNumber<std::int32_t>(parts[0]) != rank) return std::nullopt;
  return ParseNumber<std::uint64_t>(parts[1]);
}

struct Segment {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t end() const { return start + size; }
};

std::string SegmentName(std::int32_t rank, std::uint64_t start) {
  return base::Format("{}.{}.log", rank, start);
}

/// By rising start. Whatever is no regular file is not ours.
std::vector<Segment> SegmentsOf(const std::string& folder, int folder_number, std::int32_t rank) {
  std::vector<Segment> segments;
  for (const std::string& name : NamesIn(folder)) {
    const std::optional<std::uint64_t> start = SegmentStart(name, rank);
    struct stat facts {};
    if (!start || fstatat(folder_number, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(facts.st_mode)) continue;
    segments.push_back({*start, static_cast<std::uint64_t>(facts.st_size)});
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.start < b.start; });
  return segments;
}

base::Error NoLog(const LogRequest& request) {
  return {base::ErrorCode::kNotFound,
          base::Format("no log is kept of rank {} of job {}, attempt {}", request.rank,
                       request.job.value, request.attempt.value)};
}

}  // namespace

RankLog::RankLog(const std::string& folder, std::int32_t rank, std::int64_t limit_bytes)
    : path_(folder), rank_(rank), segment_limit_(std::max(kLeastSegmentBytes, limit_bytes / 2)) {
  if (base::Result<posix::Descriptor> opened = OpenFolder(folder)) folder_ = std::move(*opened);
  if (!folder_.IsOpen()) return;
  const std::vector<Segment> segments = SegmentsOf(path_, folder_.number(), rank);
  if (!segments.empty()) end_ = segments.back().end();
  OpenSegment();
}

bool RankLog::OpenSegment() {
  segment_.Reset();
  // Space is made before it is used: all but what was written last goes.
  std::vector<Segment> old = SegmentsOf(path_, folder_.number(), rank_);
  if (!old.empty()) old.pop_back();
  for (const Segment& segment : old) {
    unlinkat(folder_.number(), SegmentName(rank_, segment.start).c_str(), 0);
  }
  const std::string name = SegmentName(rank_, end_);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC;
  segment_.Reset(openat(folder_.number(), name.c_str(), flags, 0600));
  if (!segment_.IsOpen() && errno == EEXIST) {
    // Something that is no log of ours, or an empty one: it goes, and is not written through.
    unlinkat(folder_.number(), name.c_str(), 0);
    segment_.Reset(openat(folder_.number(), name.c_str(), flags, 0600));
  }
  segment_start_ = end_;
  return segment_.IsOpen();
}

bool RankLog::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::int64_t used = static_cast<std::int64_t>(end_ - segment_start_);
    if ((!segment_.IsOpen() || used >= segment_limit_) && !OpenSegment()) break;
    const auto room =
        static_cast<std::size_t>(segment_limit_) - static_cast<std::size_t>(end_ - segment_start_);
    const std::size_t size = std::min(bytes.size(), room);
    const std::size_t wrote = WriteAll(segment_.number(), bytes.substr(0, size));
    end_ += wrote;
    bytes.remove_prefix(wrote);
    if (wrote < size) break;
  }
  if (bytes.empty()) return true;
  if (lost_bytes_ == 0) loss_error_ = errno;
  lost_bytes_ += static_cast<std::int64_t>(bytes.size());
  return false;
}

void RankLog::NoteLoss() {
  const std::int64_t lost_bytes = std::exchange(lost_bytes_, 0);
  const std::string why = loss_error_ == ENOSPC ? "no space" : ErrnoText(loss_error_);
  const std::uint64_t before = end_;
  if (Write(base::Format("\n[muster: {} bytes of output lost: {}]\n", lost_bytes, why))) return;
  // Cut a half note off again; the next one says it all.
  const auto size = static_cast<off_t>(before - segment_start_);
  if (segment_.IsOpen() && before >= segment_start_ && ftruncate(segment_.number(), size) == 0) {
    end_ = before;
  }
  lost_bytes_ = lost_bytes;
}

void RankLog::Append(std::string_view bytes) {
  if (lost_bytes_ > 0) NoteLoss();
  if (lost_bytes_ > 0 || !folder_.IsOpen()) {
    lost_bytes_ += static_cast<std::int64_t>(bytes.size());
    return;
  }
  Write(bytes);
}

void RankLog::Finish() {
  if (lost_bytes_ > 0 && folder_.IsOpen()) NoteLoss();
}

base::Result<LogChunk> ReadRankLog(const std::string& folder, const LogRequest& request) {
  const base::Result<posix::Descriptor> opened = OpenFolder(folder);
  if (!opened) return NoLog(request);
  // A segment may be rotated away between the look and the reading.
  for (int tried = 0; tried < 8; ++tried) {
    const std::vector<Segment> segments = SegmentsOf(folder, opened->number(), request.rank);
    if (segments.empty()) return NoLog(request);
    LogChunk chunk{.offset = request.offset, .end = segments.back().end()};
    const auto holds = [&](const Segment& segment) { return segment.end() > request.offset; };
    const auto segment = std::find_if(segments.begin(), segments.end(), holds);
    if (segment == segments.end()) return chunk;
    chunk.offset = std::max(request.offset, segment->start);
    const posix::Descriptor file(openat(opened->number(),
                                        SegmentName(request.rank, segment->start).c_str(),
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.IsOpen() && errno == ENOENT) continue;
    if (!file.IsOpen()) return FileError("open the log in", folder, errno);
    chunk.bytes.resize(std::min<std::size_t>(
        request.max_bytes, static_cast<std::size_t>(segment->end() - chunk.offset)));
    const ssize_t got = pread(file.number(), chunk.bytes.data(), chunk.bytes.size(),
                              static_cast<off_t>(chunk.offset - segment->start));
    if (got < 0) return FileError("read the log in", folder, errno);
    chunk.bytes.resize(static_cast<std::size_t>(got));
    return chunk;
  }
  return base::Error{base::ErrorCode::kUnavailable,
                     "the log is rotated faster than it can be read; try again"};
}

std::string LogFolder(const std::string& logs, GangId gang) {
  return base::Format("{}/{}/{}", logs, gang.job.value, gang.attempt.value);
}

namespace {

struct AttemptLogs {
  std::int64_t last_write_ns = 0;
  GangId gang;
  std::int64_t bytes = 0;
};

AttemptLogs LookAtLogs(const std::string& folder) {
  AttemptLogs found;
  for (const std::string& name : NamesIn(folder)) {
    struct stat facts {};
    if (lstat(base::Format("{}/{}", folder, name).c_str(), &facts) != 0) continue;
    found.bytes += facts.st_blocks * 512;
    found.last_write_ns =
        std::max(found.last_write_ns,
                 facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec);
  }
  return found;
}

std::vector<AttemptLogs> AllLogs(const std::string& logs) {
  std::vector<AttemptLogs> attempts;
  for (const std::string& job_name : NamesIn(logs)) {
    const auto job = ParseNumber<std::uint32_t>(job_name);
    if (!job) continue;
    for (const std::string& attempt_name : NamesIn(base::Format("{}/{}", logs, job_name))) {
      const auto attempt = ParseNumber<std::uint32_t>(attempt_name);
      if (!attempt) continue;
      const GangId gang{{*job}, {*attempt}};
      attempts.push_back(LookAtLogs(LogFolder(logs, gang)));
      attempts.back().gang = gang;
    }
  }
  return attempts;
}

}  // namespace

std::int64_t LogBytes(const std::string& folder) { return LookAtLogs(folder).bytes; }

std::int64_t TrimLogs(const std::string& logs, std::int64_t most_bytes,
                      const std::function<bool(GangId)>& is_kept) {
  std::vector<AttemptLogs> attempts = AllLogs(logs);
  std::sort(attempts.begin(), attempts.end(), [](const AttemptLogs& a, const AttemptLogs& b) {
    return std::tie(a.last_write_ns, a.gang) < std::tie(b.last_write_ns, b.gang);
  });
  std::int64_t total = 0;
  for (const AttemptLogs& attempt : attempts) total += attempt.bytes;
  for (const AttemptLogs& attempt : attempts) {
    if (total <= most_bytes) break;
    if (is_kept(attempt.gang)) continue;
    std::error_code ignored;  // what cannot be removed now is tried again later
    std::filesystem::remove_all(LogFolder(logs, attempt.gang), ignored);
    // Goes only when it is empty.
    std::filesystem::remove(base::Format("{}/{}", logs, attempt.gang.job.value), ignored);
    total -= attempt.bytes;
  }
  return total;
}

}  // namespace muster::driver
