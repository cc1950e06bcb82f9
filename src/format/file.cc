// SPDX-License-Identifier: Apache-2.0
#include "format/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "posix/descriptor.h"

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

Result<std::string> ReadRaw(const std::string& path, std::size_t limit) {
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.IsOpen()) return SystemError(path, "read");
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
  /// Whether no member follows: nothing does, or zeros that fill a block of a tape or disk.
  bool AtEnd() const {
    const auto zero = [](auto byte) { return byte == 0; };
    return std::all_of(stream_.next_in, stream_.next_in + stream_.avail_in, zero) &&
           std::ranges::all_of(rest_, zero);
  }
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

/// The folder that holds `path`, and the path of another file in it.
std::string Beside(const std::string& path, const std::string& name) {
  return path.substr(0, path.rfind('/') + 1) + name;
}

/// Where symbolic links lead from `path`, which may not be there yet.
Result<std::string> Follow(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system's own bound
  std::string at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlink(at.c_str(), target.data(), target.size());
    if (size < 0) return at;  // no link, or nothing there
    const std::string text(target.data(), static_cast<std::size_t>(size));
    at = text.starts_with('/') ? text : Beside(at, text);
  }
  errno = ELOOP;
  return SystemError(path, "write");
}

/// A file without a name, or with a temporary one, in the folder of the file that it becomes. Only
/// this one is ever removed.
class Temporary {
 public:
  explicit Temporary(const std::string& path) : path_(path) {
    constexpr mode_t kRights = 0666;  // less what the umask takes
    const std::string folder = Beside(path, ".");
    // Without a name nothing is left behind, whenever the program is stopped. Giving it one takes
    // /proc.
    if (access("/proc/self/fd", X_OK) == 0)
      file_ = open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kRights);
    if (file_ >= 0) return;
    WithFreeName([this](const std::string& name) {
      file_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kRights);
      return file_ >= 0;
    });
  }
  ~Temporary() {
    if (file_ >= 0) close(file_);
    if (!name_.empty()) unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  bool ok() const { return file_ >= 0; }
  int number() const { return file_; }

  /// Puts the file in the place of `path`; false with errno set.
  bool Place() {
    if (name_.empty()) {
      const std::string self = Format("/proc/self/fd/{}", file_);
      const auto link = [&](const std::string& name) {
        return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
      };
      if (link(path_)) return Close();
      if (errno != EEXIST || !WithFreeName(link)) return false;  // only a file with a name replaces
    }
    if (!Close() || std::rename(name_.c_str(), path_.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  /// Calls `make` with a short name beside the file until it takes one that nobody has.
  template <class Make>
  bool WithFreeName(Make make) {
    constexpr int kMostNames = 1000;
    for (int i = 0; i < kMostNames; ++i) {
      const std::string name = Beside(path_, Format(".muster-{}-{}", getpid(), i));
      if (make(name)) {
        name_ = name;
        return true;
      }
      if (errno != EEXIST) return false;
    }
    return false;
  }
  /// The system may report a write error as late as here.
  bool Close() { return close(std::exchange(file_, -1)) == 0; }

  std::string path_;
  std::string name_;  ///< empty while it has none
  int file_ = -1;
};

/// Writes to what is there: a pipe, a device, or the file that another program's output goes to.
Status WriteInto(const std::string& path, std::string_view text) {
  const posix::Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  return file.IsOpen() ? WriteAll(file.number(), text, path) : SystemError(path, "write");
}

/// Whether the one who runs this may write to the file. Root may write everywhere, and is stopped
/// by a file that its owner must not write to.
bool IsWritable(const std::string& path, const struct stat& status) {
  errno = EACCES;
  if (geteuid() == 0) return (status.st_mode & S_IWUSR) != 0;
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

Status Replace(const std::string& path, const struct stat* old, std::string_view text) {
  Temporary file(path);
  if (!file.ok()) return SystemError(path, "write");
  if (old != nullptr && fchmod(file.number(), old->st_mode & 07777) != 0)
    return SystemError(path, "write");
  if (Status written = WriteAll(file.number(), text, path); !written) return written;
  if (fsync(file.number()) != 0 || !file.Place()) return SystemError(path, "write");
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t limit) {
  Result<std::string> raw = ReadRaw(path, limit);
  if (!raw) return raw;
  if (IsGzip(*raw)) raw = Decompress(*raw, path, limit);
  if (raw && raw->empty()) return Error{ErrorCode::kInvalid, "the file is empty", path};
  return raw;
}

Status WriteFile(const std::string& path, std::string_view text) {
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return Error{ErrorCode::kInvalid, "is a directory; a file was expected", path};
  }
  if (exists && !S_ISREG(old.st_mode)) return WriteInto(path, text);
  if (exists && !IsWritable(path, old)) return SystemError(path, "write");
  const Result<std::string> target = Follow(path);
  if (!target) return target.error();
  if (target->starts_with("/proc/")) return WriteInto(path, text);
  return Replace(*target, exists ? &old : nullptr, text);
}

}  // namespace muster::format
