// SPDX-License-Identifier: Apache-2.0
#include "driver/local/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/strings.h"
#include "base/utf8.h"

namespace muster::driver {

using base::ErrorCode;

std::string ErrnoText(int error_number) { return std::generic_category().message(error_number); }

base::Error FileError(std::string_view what, std::string_view path, int error_number) {
  ErrorCode code = ErrorCode::kIo;
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      code = ErrorCode::kExhausted;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::kNotAllowed;
      break;
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    default:
      break;
  }
  return {code,
          base::Format("cannot {} '{}': {}", what, base::Printable(path), ErrnoText(error_number))};
}

base::Result<std::vector<std::uint8_t>> ReadOwnFile(const std::string& path, std::size_t limit) {
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.IsOpen()) return FileError("open", path, errno);
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0) return FileError("read", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return base::Error{ErrorCode::kInvalid,
                       base::Format("'{}' is no regular file", base::Printable(path))};
  }
  if (static_cast<std::uint64_t>(facts.st_size) > limit) {
    return base::Error{ErrorCode::kInvalid,
                       base::Format("'{}' has {} bytes; at most {} are read", base::Printable(path),
                                    facts.st_size, limit)};
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.number(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

base::Status WriteDurably(const std::string& path, std::span<const std::uint8_t> bytes) {
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const posix::Descriptor file(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.IsOpen()) return FileError("make", temporary, errno);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (WriteAll(file.number(), text) != text.size() || fsync(file.number()) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    unlink(temporary.c_str());
    return FileError("write", path, error_number);
  }
  return SyncFolder(std::filesystem::path(path).parent_path().string());
}

base::Status MakeFolders(const std::string& path) {
  std::string part;
  for (const std::string_view name : base::Split(path, '/')) {
    part += name;
    // The first part of an absolute path is empty.
    if (!part.empty() && !name.empty() && mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return FileError("make the folder", part, errno);
    }
    part += '/';
  }
  return {};
}

base::Status SyncFolder(const std::string& path) {
  const base::Result<posix::Descriptor> folder = OpenFolder(path);
  if (!folder) return folder.error();
  if (fsync(folder->number()) != 0 && errno != EINVAL) return FileError("write", path, errno);
  return {};
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

base::Result<posix::Descriptor> OpenFolder(const std::string& path) {
  posix::Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.IsOpen()) return FileError("open the folder", path, errno);
  return folder;
}

std::size_t WriteAll(int descriptor, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  return done;
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace muster::driver
