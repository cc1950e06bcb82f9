// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "journal/sqlite/fault.h"
#include "posix/lock.h"

namespace muster::journal {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;
using base::Status;

constexpr mode_t kOwnerOnly = 0600;  // what jobs are told may be secret

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::string> Absolute(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return ExplainSystem(errno, "find", path);
  std::string absolute = resolved;
  std::free(resolved);
  return absolute;
}

Status SyncFolder(const std::string& folder) {
  const posix::Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.IsOpen()) return ExplainSystem(errno, "open", folder);
  if (fsync(descriptor.number()) != 0) return ExplainSystem(errno, "write", folder);
  return {};
}

/// The number in the lock file, if such a process runs: a killed server leaves its own behind.
std::optional<pid_t> ReadHolder(int lock_file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(lock_file, text.data(), text.size(), 0);
  pid_t holder = 0;
  if (size <= 0 || std::from_chars(text.data(), text.data() + size, holder).ec != std::errc{}) {
    return std::nullopt;
  }
  const bool runs = holder > 0 && (kill(holder, 0) == 0 || errno == EPERM);
  return runs ? std::optional(holder) : std::nullopt;
}

Error InUse(int lock_file, const std::string& shown_path, LockFile::Mode mode) {
  const std::optional<pid_t> holder = ReadHolder(lock_file);
  if (mode == LockFile::Mode::kReader) {
    const std::string who = holder ? Format(" (pid {})", *holder) : "";
    return {ErrorCode::kUnavailable,
            Format("{} is in use by a muster server{}: ask the server instead, stop it first, or "
                   "read a backup (`muster journal export --backup`)",
                   shown_path, who)};
  }
  if (holder) {
    return {ErrorCode::kUnavailable,
            Format("{} is in use by another muster server (pid {})", shown_path, *holder)};
  }
  return {ErrorCode::kUnavailable,
          Format("{} is in use by another muster program, which reads it: wait until it ends",
                 shown_path)};
}

/// For messages only, so a full disk does not matter.
void WriteHolder(int lock_file, std::string_view text) {
  if (ftruncate(lock_file, 0) != 0) return;
  if (pwrite(lock_file, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

Result<std::string> ResolveFile(const std::string& path) {
  if (path.empty()) return Error{ErrorCode::kInvalid, "the path of the journal is empty"};
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    // A link to nothing is refused here, before a file is made where somebody else chose.
    Result<std::string> target = Absolute(path);
    if (!target.has_value()) return target;
    if (stat(target->c_str(), &status) != 0) return ExplainSystem(errno, "find", path);
    if (S_ISDIR(status.st_mode)) {
      return Error{ErrorCode::kInvalid,
                   Format("{} is a folder; a journal is a file: give a name in it", path)};
    }
    if (!S_ISREG(status.st_mode)) {
      return Error{ErrorCode::kInvalid, Format("{} is not a plain file", path)};
    }
    return target;
  }
  if (errno != ENOENT) return ExplainSystem(errno, "find", path);
  if (path.back() == '/') {
    return Error{ErrorCode::kInvalid,
                 Format("{} is a folder; a journal is a file: give a name in it", path)};
  }
  const std::string folder = FolderOf(path);
  const Result<std::string> absolute = Absolute(folder);
  if (absolute.has_value()) return *absolute + "/" + path.substr(path.rfind('/') + 1);
  if (absolute.error().code != ErrorCode::kNotFound) return absolute.error();
  return Error{ErrorCode::kNotFound,
               Format("the folder {} of the journal {} is not there: make it first", folder, path)};
}

Status CreateIfMissing(const std::string& path) {
  const posix::Descriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file.IsOpen()) return errno == EEXIST ? Status{} : ExplainSystem(errno, "create", path);
  return SyncFolder(FolderOf(path));
}

Result<LockFile> LockFile::Take(const std::string& path, const std::string& shown_path, Mode mode) {
  const std::string lock_path = path + "-lock";
  const auto open_with = [&](int flags) {
    return posix::Descriptor(open(lock_path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  };
  const bool writer = mode == Mode::kWriter;
  posix::Descriptor file = open_with(O_RDWR | O_CREAT);
  if (!file.IsOpen() && !writer) {
    if (errno != EACCES && errno != EROFS) return ExplainSystem(errno, "open", lock_path);
    file = open_with(O_RDONLY);
    if (!file.IsOpen() && errno == ENOENT) return LockFile(posix::Descriptor());
  }
  if (!file.IsOpen()) return ExplainSystem(errno, "open", lock_path);
  if (posix::LockPatiently(file.number(), writer ? LOCK_EX : LOCK_SH,
                           [&file] { return !ReadHolder(file.number()); }) != 0) {
    if (errno == EWOULDBLOCK) return InUse(file.number(), shown_path, mode);
    return ExplainSystem(errno, "lock", lock_path);
  }
  // The file stays for ever: whoever removes it may remove it from under the next one's lock.
  if (writer) WriteHolder(file.number(), Format("{}\n", getpid()));
  return LockFile(std::move(file));
}

Status Publish(const std::string& from, const std::string& to) {
  const posix::Descriptor file(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.IsOpen()) return ExplainSystem(errno, "open", from);
  if (fsync(file.number()) != 0) return ExplainSystem(errno, "write", to);
  int failed = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (failed != 0 && errno == EINVAL) {  // a file system that does not know the flag
    failed = access(to.c_str(), F_OK) == 0 ? -1 : rename(from.c_str(), to.c_str());
  }
  if (failed != 0) return ExplainSystem(errno, "create", to);
  return SyncFolder(FolderOf(to));
}

}  // namespace muster::journal
