// SPDX-License-Identifier: Apache-2.0
#include "driver/local/cgroup_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

using base::Format;
using base::Split;

// More mounts than a machine has; a container host has thousands.
constexpr std::size_t kMostMountBytes = std::size_t{16} << 20;

base::ErrorCode CodeOf(int number) {
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ENOTDIR:
    case ESRCH:
      return base::ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return base::ErrorCode::kNotAllowed;
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      return base::ErrorCode::kExhausted;
    case EBUSY:
    case ENOTEMPTY:
      return base::ErrorCode::kUnavailable;
    default:
      return base::ErrorCode::kIo;
  }
}

/// A path of mountinfo, where blanks and the like are written as "\040".
std::string Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3) {
      out.push_back(static_cast<char>(code));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

/// One line of mountinfo that is about cgroups.
struct MountLine {
  bool v2 = false;
  std::string inner_root;  ///< the group that is seen at the mount point
  std::string point;
  std::vector<std::string> options;  ///< of the file system: the controllers are among them
};

std::optional<MountLine> ReadMountLine(std::string_view line) {
  // 36 35 98:0 /inner /point rw,relatime [shared:1 ...] - cgroup source rw,cpu,cpuacct
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> before = Split(line.substr(0, dash), ' ');
  const std::vector<std::string_view> after = Split(line.substr(dash + 3), ' ');
  if (before.size() < 6 || after.size() < 3) return std::nullopt;
  if (after[0] != "cgroup" && after[0] != "cgroup2") return std::nullopt;
  MountLine mount{.v2 = after[0] == "cgroup2",
                  .inner_root = Unescaped(before[3]),
                  .point = Unescaped(before[4])};
  for (const std::string_view option : Split(after[2], ',')) mount.options.emplace_back(option);
  return mount;
}

/// This process's group in a hierarchy, as /proc/self/cgroup has it: lines
/// "number:controllers:path", without controllers for v2. Empty: not listed.
std::string OwnGroup(std::string_view groups, const MountLine& mount) {
  for (const std::string_view line : Split(groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool same = mount.v2
                          ? controllers.empty()
                          : !controllers.empty() &&
                                std::ranges::find(mount.options, Split(controllers, ',').front()) !=
                                    mount.options.end();
    if (same) return std::string(line.substr(second + 1));
  }
  return {};
}

/// What is left of `group` below `inner_root`: "" for that group itself, else with a slash in
/// front. A group outside of what is mounted (another cgroup namespace) counts as the mounted one.
std::string BelowMount(std::string_view group, std::string_view inner_root) {
  if (inner_root == "/") inner_root = {};
  if (!group.starts_with(inner_root)) return {};
  group.remove_prefix(inner_root.size());
  const bool outside = group.starts_with("/..") || (!group.empty() && group.front() != '/');
  return outside || group == "/" ? std::string() : std::string(group);
}

}  // namespace

base::Error SystemError(std::string_view what, int number) {
  return {CodeOf(number), Format("{}: {}", what, std::generic_category().message(number)), {}};
}

base::Result<std::string> ReadSmallFile(const std::string& path, std::size_t most_bytes) {
  const posix::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.IsOpen()) return SystemError("open " + path, errno);
  std::string text;
  char buffer[16384];
  while (text.size() < most_bytes) {
    const ssize_t count =
        ::read(file.number(), buffer, std::min(sizeof buffer, most_bytes - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read " + path, errno);
    if (count == 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

base::Status WriteSmallFile(const std::string& path, std::string_view text) {
  const posix::Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.IsOpen()) return SystemError("open " + path, errno);
  // The kernel takes what is written to such a file in one piece or not at all.
  const ssize_t count = ::write(file.number(), text.data(), text.size());
  if (count < 0) return SystemError(Format("write \"{}\" to {}", text, path), errno);
  return {};
}

base::Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return SystemError("mkdir " + path, errno);
}

std::vector<std::string> FoldersIn(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat status {};
    if (::stat((path + "/" + entry->d_name).c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    const bool ends = end == text.size() || text[end] == ' ' || text[end] == '\n';
    if (starts && ends) return true;
  }
  return false;
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  text = base::Trim(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> KeyedNumber(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return WholeNumber(line.substr(key.size()));
    }
  }
  return std::nullopt;
}

std::vector<CgroupMount> CgroupMounts(const std::string& root) {
  std::vector<CgroupMount> mounts;
  const base::Result<std::string> lines =
      ReadSmallFile(root + "/proc/self/mountinfo", kMostMountBytes);
  if (!lines) return mounts;
  const std::string groups = ReadSmallFile(root + "/proc/self/cgroup").value_or("");
  for (const std::string_view text : Split(*lines, '\n')) {
    const std::optional<MountLine> line = ReadMountLine(text);
    if (!line) continue;
    CgroupMount mount{.v2 = line->v2, .top = root + line->point};
    if (!line->v2) mount.controllers = line->options;
    mount.own = mount.top + BelowMount(OwnGroup(groups, *line), line->inner_root);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace muster::driver
