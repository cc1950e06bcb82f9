// SPDX-License-Identifier: Apache-2.0
#include "driver/local/events.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "base/archive.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "driver/local/files.h"

namespace muster::driver {
namespace {

constexpr std::string_view kMagic = "MEVT";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 8;   // magic, version
constexpr std::size_t kFrameBytes = 8;  // length, checksum
constexpr std::size_t kMostRecordBytes = 8192;
constexpr std::size_t kMostTextBytes = 2048;

// In a class of its own, so that the stored form changes only when this does.
struct StoredEvent {
  TaskEvent event;
};
template <class A>
void Archive(A& a, StoredEvent& v) {
  a(v.event.kind, v.event.rank, v.event.pid, v.event.exit.kind, v.event.exit.code,
    v.event.exit.text);
}

std::uint32_t Checksum(std::span<const std::uint8_t> bytes) {
  base::StreamHash hash;
  hash.Add(bytes);
  return static_cast<std::uint32_t>(hash.Value());
}

std::array<char, 4> Fixed(std::uint32_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16),
          static_cast<char>(value >> 24)};
}

std::uint32_t Unfixed(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

void AppendFixed(std::string& text, std::uint32_t value) {
  const std::array<char, 4> bytes = Fixed(value);
  text.append(bytes.data(), bytes.size());
}

struct Record {
  TaskEvent event;
  std::size_t bytes = 0;  ///< with its frame
};

/// The record at the start of `bytes`, if it is there in whole.
std::optional<Record> DecodeRecord(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kFrameBytes) return std::nullopt;
  const std::uint32_t length = Unfixed(bytes);
  if (length > kMostRecordBytes || bytes.size() - kFrameBytes < length) return std::nullopt;
  const auto payload = bytes.subspan(kFrameBytes, length);
  if (Checksum(payload) != Unfixed(bytes.subspan(4))) return std::nullopt;
  base::Reader reader(payload);
  StoredEvent stored;
  reader(stored);
  if (!reader.ok()) return std::nullopt;
  return Record{std::move(stored.event), kFrameBytes + length};
}

}  // namespace

base::Result<EventWriter> EventWriter::Create(const std::string& path, std::size_t ranks) {
  posix::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
  if (!file.IsOpen()) return FileError("make", path, errno);
  // Two records a rank, at their longest. A file system that cannot do it is one more that can
  // fill.
  const std::size_t room = 4096 + ranks * (kMostTextBytes + 1024);
  if (fallocate(file.number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(room)) != 0 &&
      errno == ENOSPC) {
    return FileError("set space aside for", path, ENOSPC);
  }
  EventWriter writer(std::move(file));
  std::string head(kMagic);
  AppendFixed(head, kVersion);
  if (const base::Status wrote = writer.Write(head); !wrote) return wrote.error();
  return writer;
}

base::Status EventWriter::Append(const TaskEvent& event) {
  StoredEvent stored{event};
  std::string& text = stored.event.exit.text;
  if (text.size() > kMostTextBytes) text.resize(kMostTextBytes);
  text = base::ValidUtf8(text);
  base::Writer writer;
  writer(stored);
  const std::span<const std::uint8_t> payload = writer.bytes();
  std::string record;
  AppendFixed(record, static_cast<std::uint32_t>(payload.size()));
  AppendFixed(record, Checksum(payload));
  record.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  if (const base::Status wrote = Write(record); !wrote) return wrote;
  if (event.kind == TaskEvent::Kind::kEnded && fdatasync(file_.number()) != 0) {
    return FileError("write", "events", errno);
  }
  return {};
}

base::Status EventWriter::Write(std::string_view bytes) {
  if (WriteAll(file_.number(), bytes) != bytes.size()) {
    const int error_number = errno;
    // No half record may stand in the way of the next one.
    if (ftruncate(file_.number(), size_) != 0) return FileError("cut", "events", errno);
    return FileError("write", "events", error_number);
  }
  size_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

base::Result<std::vector<TaskEvent>> EventReader::ReadNew() {
  std::vector<TaskEvent> events;
  const posix::Descriptor file(open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.IsOpen()) {
    if (errno == ENOENT) return events;
    return FileError("open", path_, errno);
  }
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 16384> block{};
  ssize_t got = 0;
  while ((got = pread(file.number(), block.data(), block.size(),
                      offset_ + static_cast<std::int64_t>(bytes.size()))) > 0) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  }
  if (got < 0) return FileError("read", path_, errno);
  std::span<const std::uint8_t> rest = bytes;
  if (offset_ == 0) {
    if (rest.size() < kHeadBytes) return events;
    const bool is_ours = std::equal(kMagic.begin(), kMagic.end(), rest.begin());
    if (const std::uint32_t version = Unfixed(rest.subspan(4)); !is_ours || version != kVersion) {
      return base::Error{
          base::ErrorCode::kInvalid,
          base::Format("'{}' has events of version {}; this program knows version {}", path_,
                       version, kVersion)};
    }
    rest = rest.subspan(kHeadBytes);
  }
  while (std::optional<Record> record = DecodeRecord(rest)) {
    rest = rest.subspan(record->bytes);
    events.push_back(std::move(record->event));
  }
  offset_ += static_cast<std::int64_t>(bytes.size() - rest.size());
  return events;
}

}  // namespace muster::driver
