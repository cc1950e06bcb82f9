// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/write_ahead_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "journal/sqlite/fault.h"

namespace muster::journal {
namespace {

using base::Format;
using base::Result;
using base::Status;

// The layout is SQLite's file format, section 4 "The Write-Ahead Log".
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377F0682;  // the lowest bit: checksums over big-endian words
constexpr std::size_t kCopyBytes = std::size_t{1} << 16;

/// The log, through the VFS that SQLite will use.
class LogFile {
 public:
  LogFile(sqlite3_vfs& vfs, const DatabaseOptions& options)
      : shown_path_(LogPath(options.shown_path)),
        name_(sqlite3_create_filename(LogPath(options.path).c_str(), "", "", 0, nullptr)),
        memory_(new std::byte[static_cast<std::size_t>(vfs.szOsFile)]()) {
    if (name_ == nullptr) return;
    const int access = options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    open_code_ = vfs.xOpen(&vfs, name_, file(), access | SQLITE_OPEN_WAL, nullptr);
  }
  ~LogFile() {
    if (file()->pMethods != nullptr) file()->pMethods->xClose(file());
    sqlite3_free_filename(name_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  Status Opened() const { return Outcome(open_code_); }
  Result<std::size_t> Size() {
    sqlite3_int64 size = 0;
    if (Status got = Outcome(file()->pMethods->xFileSize(file(), &size)); !got) return got.error();
    return static_cast<std::size_t>(size);
  }
  Result<std::vector<std::uint8_t>> Read(std::size_t offset, std::size_t size) {
    std::vector<std::uint8_t> bytes(size);
    const int code = file()->pMethods->xRead(file(), bytes.data(), static_cast<int>(size),
                                             static_cast<sqlite3_int64>(offset));
    if (Status got = Outcome(code); !got) return got.error();
    return bytes;
  }
  Status Write(std::size_t offset, std::span<const std::uint8_t> bytes) {
    return Outcome(file()->pMethods->xWrite(file(), bytes.data(), static_cast<int>(bytes.size()),
                                            static_cast<sqlite3_int64>(offset)));
  }
  Status Truncate(std::size_t size) {
    return Outcome(file()->pMethods->xTruncate(file(), static_cast<sqlite3_int64>(size)));
  }
  Status Sync() { return Outcome(file()->pMethods->xSync(file(), SQLITE_SYNC_NORMAL)); }

 private:
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.get()); }
  Status Outcome(int code) const {
    if (code == SQLITE_OK) return {};
    return Explain({.code = code, .text = sqlite3_errstr(code)}, shown_path_);
  }

  std::string shown_path_;
  sqlite3_filename name_;
  std::unique_ptr<std::byte[]> memory_;
  int open_code_ = SQLITE_NOMEM;
};

std::uint32_t BigEndian(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes.first(4)) value = (value << 8) | byte;
  return value;
}

std::uint32_t LittleEndian(std::span<const std::uint8_t> bytes) {
  return __builtin_bswap32(BigEndian(bytes));
}

/// The running checksum of the log.
struct LogSum {
  bool big_endian = false;
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void Add(std::span<const std::uint8_t> bytes) {
    const auto word = big_endian ? BigEndian : LittleEndian;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      first += word(bytes) + second;
      second += word(bytes.subspan(4)) + first;
    }
  }
  bool Matches(std::span<const std::uint8_t> stored) const {
    return first == BigEndian(stored) && second == BigEndian(stored.subspan(4));
  }
};

struct LogHeader {
  LogSum sum;
  std::size_t page_bytes = 0;
  std::vector<std::uint8_t> salt;  ///< drawn anew whenever the log starts again from its beginning
};

/// None: damaged.
std::optional<LogHeader> ParseHeader(std::span<const std::uint8_t> bytes) {
  LogHeader header{.page_bytes = BigEndian(bytes.subspan(8)),
                   .salt = {bytes.begin() + 16, bytes.begin() + 24}};
  const std::uint32_t magic = BigEndian(bytes);
  header.sum.big_endian = (magic & 1) != 0;
  header.sum.Add(bytes.first(24));
  if ((magic & ~1U) != kMagic || !header.sum.Matches(bytes.subspan(24))) return std::nullopt;
  return header;
}

struct LogState {
  std::size_t whole_bytes = 0;  ///< from the beginning, header and frames that hold
  int lost = 0;                 ///< transactions that end behind them
};

Result<LogState> WalkFrames(LogFile& file, std::size_t size, LogHeader header) {
  LogState state{.whole_bytes = kHeaderBytes};
  const std::size_t frame_bytes = kFrameHeaderBytes + header.page_bytes;
  for (std::size_t at = kHeaderBytes; at + frame_bytes <= size; at += frame_bytes) {
    const Result<std::vector<std::uint8_t>> read = file.Read(at, frame_bytes);
    if (!read.has_value()) return read.error();
    const std::span<const std::uint8_t> frame(*read);
    // Another salt: left from an earlier round of the log, whose pages are in the database.
    const bool this_round = std::ranges::equal(frame.subspan(8, 8), header.salt);
    const bool commits = BigEndian(frame.subspan(4)) != 0;
    if (state.whole_bytes == at) {
      header.sum.Add(frame.first(8));
      header.sum.Add(frame.subspan(kFrameHeaderBytes));
      if (this_round && header.sum.Matches(frame.subspan(16))) state.whole_bytes += frame_bytes;
    }
    if (state.whole_bytes <= at && this_round && commits) ++state.lost;
  }
  return state;
}

Status WriteAgain(LogFile& file, std::size_t whole_bytes) {
  for (std::size_t at = 0; at < whole_bytes; at += kCopyBytes) {
    const auto bytes = file.Read(at, std::min(kCopyBytes, whole_bytes - at));
    if (!bytes.has_value()) return bytes.error();
    if (Status written = file.Write(at, *bytes); !written) return written;
  }
  if (Status cut = file.Truncate(whole_bytes); !cut) return cut;
  return file.Sync();
}

}  // namespace

Status SettleLog(const DatabaseOptions& options) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(options.vfs.empty() ? "unix" : options.vfs.c_str());
  if (vfs == nullptr) return {};  // SQLite will say so
  int exists = 0;
  vfs->xAccess(vfs, LogPath(options.path).c_str(), SQLITE_ACCESS_EXISTS, &exists);
  if (exists == 0) return {};
  LogFile file(*vfs, options);
  if (Status opened = file.Opened(); !opened) return opened;
  const Result<std::size_t> size = file.Size();
  if (!size.has_value()) return size.error();
  if (*size <= kHeaderBytes) return {};  // SQLite had not begun to use it
  const Result<std::vector<std::uint8_t>> bytes = file.Read(0, kHeaderBytes);
  if (!bytes.has_value()) return bytes.error();
  std::optional<LogHeader> header = ParseHeader(*bytes);
  if (!header) {
    return Damaged(options.shown_path, "the write-ahead log", "its header does not hold");
  }
  const Result<LogState> state = WalkFrames(file, *size, std::move(*header));
  if (!state.has_value()) return state.error();
  if (state->lost > 1) {
    return Damaged(options.shown_path, "the write-ahead log",
                   Format("{} transactions cannot be read back", state->lost));
  }
  return options.read_only ? Status{} : WriteAgain(file, state->whole_bytes);
}

}  // namespace muster::journal
