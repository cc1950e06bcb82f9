// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "api/token.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "format/file.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

std::string LockPath(const std::string& state_dir) { return state_dir + "/server.pid"; }

/// What went wrong with a file, from `errno`.
Error SystemError(std::string_view what, const std::string& path) {
  const int number = errno;
  ErrorCode code = ErrorCode::kIo;
  if (number == EACCES || number == EPERM) code = ErrorCode::kNotAllowed;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == ENOSPC || number == EDQUOT || number == EMFILE) code = ErrorCode::kExhausted;
  return {code, Format("cannot {}: {}", what, std::generic_category().message(number)),
          base::Printable(path)};
}

/// A lock on the whole file. POSIX locks, since they name their holder and are not inherited by the
/// processes that a server starts.
struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

base::Status MakeOneFolder(const std::string& path, std::uint32_t mode) {
  if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  struct stat there {};
  // On a file system that cannot be written, one that is there is still fine.
  const int number = errno;
  if (stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) return {};
  errno = number;
  return SystemError("make the folder", path);
}

}  // namespace

base::Status MakeFolder(const std::string& path, std::uint32_t mode) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (auto made = MakeOneFolder(path.substr(0, slash), 0755); !made) return made;
  }
  if (auto made = MakeOneFolder(path, mode); !made) return made;
  struct stat there {};
  if (stat(path.c_str(), &there) != 0) return SystemError("look at the folder", path);
  if (S_ISDIR(there.st_mode)) return {};
  return Error{ErrorCode::kInvalid, "is no folder", base::Printable(path)};
}

base::Result<std::string> ReadOrMakeSecret(const std::string& state_dir) {
  const std::string path = state_dir + "/secret";
  struct stat there {};
  if (stat(path.c_str(), &there) != 0) {
    if (errno != ENOENT) return SystemError("read the server's secret", path);
    std::string secret = api::NewSecret();
    const mode_t before = umask(0077);
    const base::Status written = format::WriteFile(path, secret + "\n");
    umask(before);
    if (!written) return written.error();
    return secret;
  }
  if ((there.st_mode & 0077) != 0) {
    return Error{
        ErrorCode::kInvalid,
        "others than its owner may read or write the server's secret; remove it, and a new "
        "one is made (jobs that run lose the right to report checkpoints)",
        base::Printable(path)};
  }
  auto text = format::ReadFile(path, 4096);
  if (!text) return text.error();
  std::string secret(base::Trim(*text));
  if (secret.size() >= 32) return secret;
  return Error{ErrorCode::kInvalid, "too short for a secret; remove it, and a new one is made",
               base::Printable(path)};
}

base::Result<ServerLock> ServerLock::Take(const std::string& state_dir) {
  const std::string path = LockPath(state_dir);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return SystemError("open", path);
  ServerLock lock(descriptor);
  struct flock whole = WholeFile();
  if (fcntl(descriptor, F_SETLK, &whole) != 0) {
    if (errno != EACCES && errno != EAGAIN) return SystemError("lock", path);
    const auto other = FindServer(state_dir);
    const pid_t process = other && *other ? **other : 0;
    return Error{ErrorCode::kRefused,
                 Format("a server runs already on {} (process {}); `muster down` stops it",
                        base::Printable(state_dir), process),
                 ""};
  }
  const std::string number = Format("{}\n", getpid());
  if (ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, number.data(), number.size(), 0) != static_cast<ssize_t>(number.size())) {
    return SystemError("write", path);
  }
  return lock;
}

ServerLock::~ServerLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

ServerLock::ServerLock(ServerLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ServerLock& ServerLock::operator=(ServerLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

base::Result<std::optional<pid_t>> FindServer(const std::string& state_dir) {
  const std::string path = LockPath(state_dir);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<pid_t>{};
    return SystemError("open", path);
  }
  struct flock whole = WholeFile();
  const int asked = fcntl(descriptor, F_GETLK, &whole);
  const Error error = asked == 0 ? Error{} : SystemError("ask for the lock of", path);
  close(descriptor);
  if (asked != 0) return error;
  if (whole.l_type == F_UNLCK) return std::optional<pid_t>{};
  return std::optional<pid_t>{whole.l_pid};
}

}  // namespace muster::cli
