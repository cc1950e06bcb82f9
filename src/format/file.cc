// SPDX-License-Identifier: Apache-2.0
#include "format/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "base/strings.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;
using base::Status;

constexpr std::size_t kChunk = std::size_t{1} << 16;

ErrorCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorCode::kExhausted;
    default:
      return ErrorCode::kIo;
  }
}

/// "cannot read: No such file or directory", at `path`. Call it right after the call that failed.
Error SystemError(const std::string& path, std::string_view doing) {
  const int error_number = errno;
  return Error{CodeOf(error_number),
               Format("cannot {}: {}", doing, std::generic_category().message(error_number)), path};
}

Error TooLarge(const std::string& path, std::size_t limit) {
  return Error{ErrorCode::kInvalid, Format("more than {} bytes; that is the limit", limit), path};
}

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes now; false with errno set when the system reports a late write error.
  bool Close() { return close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

Result<std::string> ReadRaw(const std::string& path, std::size_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return SystemError(path, "read");
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return SystemError(path, "read");
  if (S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kInvalid, "is a directory; a file was expected", path};
  }
  std::string text;
  if (status.st_size > 0) text.reserve(std::min(limit, static_cast<std::size_t>(status.st_size)));
  std::array<char, kChunk> chunk;
  while (true) {
    const ssize_t count = read(file.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, "read");
    if (count == 0) return text;
    if (static_cast<std::size_t>(count) > limit - text.size()) return TooLarge(path, limit);
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// zlib's stream for reading gzip, ended at the end of its scope.
class Inflater {
 public:
  explicit Inflater(std::string_view input) : rest_(input) {
    constexpr int kGzipOnly = 15 + 16;  // largest window; 16 = expect a gzip header
    started_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Inflater() {
    if (started_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ok() const { return started_; }
  bool AtEnd() const { return rest_.empty() && stream_.avail_in == 0; }
  /// Begins the next member.
  bool Next() { return inflateReset(&stream_) == Z_OK; }
  /// Appends the next piece to `text`; zlib's own result.
  int Step(std::string& text) {
    if (stream_.avail_in == 0) {
      const std::size_t size =
          std::min(rest_.size(), std::size_t{std::numeric_limits<uInt>::max()});
      // zlib never writes to its input; its interface predates const.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(size);
      rest_.remove_prefix(size);
    }
    stream_.next_out = reinterpret_cast<Bytef*>(chunk_.data());
    stream_.avail_out = static_cast<uInt>(chunk_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    text.append(chunk_.data(), chunk_.size() - stream_.avail_out);
    return result;
  }

 private:
  z_stream stream_{};
  std::string_view rest_;
  std::array<char, kChunk> chunk_{};
  bool started_ = false;
};

Result<std::string> Decompress(std::string_view bytes, const std::string& path, std::size_t limit) {
  Inflater inflater(bytes);
  if (!inflater.ok()) return Error{ErrorCode::kExhausted, "no memory to decompress", path};
  std::string text;
  while (true) {
    const int result = inflater.Step(text);
    if (text.size() > limit) return TooLarge(path, limit);
    if (result == Z_STREAM_END) {
      if (inflater.AtEnd()) return text;
      inflater.Next();
    } else if (result == Z_BUF_ERROR) {  // neither input nor output left to give
      return Error{ErrorCode::kInvalid, "the gzip archive is truncated", path};
    } else if (result != Z_OK) {
      return Error{ErrorCode::kInvalid, "the gzip archive is damaged", path};
    }
  }
}

Status WriteAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, "write");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

/// Creates the temporary at `path`, with the rights of a new file or of the one that it will
/// replace.
Status WriteTemporary(const std::string& path, const std::string& temporary,
                      std::string_view text) {
  struct stat old {};
  const mode_t rights = stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666;
  Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights));
  if (!file.ok()) return SystemError(path, "write");
  if (Status written = WriteAll(file.number(), text, path); !written) return written;
  if (fsync(file.number()) != 0 || !file.Close()) return SystemError(path, "write");
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t limit) {
  Result<std::string> raw = ReadRaw(path, limit);
  if (!raw) return raw;
  if (raw->empty()) return Error{ErrorCode::kInvalid, "the file is empty", path};
  return IsGzip(*raw) ? Decompress(*raw, path, limit) : std::move(raw);
}

Status WriteFile(const std::string& path, std::string_view text) {
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return Error{ErrorCode::kInvalid, "is a directory; a file was expected", path};
  }
  if (exists && !S_ISREG(old.st_mode)) {  // a pipe or /dev/stdout must not be renamed over
    const Descriptor device(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return device.ok() ? WriteAll(device.number(), text, path) : SystemError(path, "write");
  }
  const std::string temporary = Format("{}.{}.tmp", path, getpid());
  Status written = WriteTemporary(path, temporary, text);
  if (written && std::rename(temporary.c_str(), path.c_str()) != 0) {
    written = SystemError(path, "write");
  }
  if (!written) unlink(temporary.c_str());
  return written;
}

}  // namespace muster::format
