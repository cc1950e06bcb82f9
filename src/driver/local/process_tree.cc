// SPDX-License-Identifier: Apache-2.0
#include "driver/local/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

/// Looks for new processes before those that were found are killed. Each look stops all that it
/// sees, so only a flood of forks needs more than two or three.
constexpr int kMostLooks = 64;
constexpr int kMostSweeps = 50;
constexpr std::size_t kMostEnvironBytes = std::size_t{8} << 20;

/// Up to `room.size()` bytes from the start of a file of /proc.
std::string_view ReadStart(const std::string& path, std::span<char> room) {
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.IsOpen()) return {};
  const ssize_t got = read(file.number(), room.data(), room.size());
  return got > 0 ? std::string_view(room.data(), static_cast<std::size_t>(got))
                 : std::string_view();
}

std::string ReadWhole(const std::string& path) {
  std::string all;
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> room{};
  ssize_t got = 0;
  while (file.IsOpen() && all.size() < kMostEnvironBytes &&
         (got = read(file.number(), room.data(), room.size())) > 0) {
    all.append(room.data(), static_cast<std::size_t>(got));
  }
  return all;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> all;
  const auto close_folder = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder(opendir("/proc"), close_folder);
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) all.push_back(pid);
  }
  return all;
}

/// Sends `signal` to each; how many there were that were not dead yet.
std::size_t SignalAll(const std::vector<ProcessFacts>& processes, int signal) {
  std::size_t alive = 0;
  for (const ProcessFacts& process : processes) {
    if (!process.IsDead() && SignalProcess(process, signal)) ++alive;
  }
  return alive;
}

std::size_t KillFound(const std::function<std::vector<ProcessFacts>()>& find) {
  std::unordered_map<pid_t, std::uint64_t> stopped;  // number -> start
  for (int look = 0; look < kMostLooks; ++look) {
    bool is_new = false;
    for (const ProcessFacts& process : find()) {
      const auto [entry, added] = stopped.try_emplace(process.pid, process.start);
      if (process.IsDead() || (!added && entry->second == process.start)) continue;
      entry->second = process.start;
      is_new = true;
      SignalProcess(process, SIGSTOP);
    }
    if (!is_new) break;
  }
  return SignalAll(find(), SIGKILL);
}

}  // namespace

std::optional<ProcessFacts> ReadProcess(pid_t pid) {
  std::array<char, 1024> room{};
  const std::string_view text = ReadStart(base::Format("/proc/{}/stat", pid), room);
  // The name stands in brackets and may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> fields =
      base::Split(base::Trim(text.substr(name_end + 1)), ' ');
  constexpr std::size_t kParent = 1;
  constexpr std::size_t kStart = 19;
  if (fields.size() <= kStart || fields[0].empty()) return std::nullopt;
  ProcessFacts facts{.pid = pid, .state = fields[0][0]};
  const auto parse = [](std::string_view field, auto& number) {
    return std::from_chars(field.data(), field.data() + field.size(), number).ec == std::errc();
  };
  if (!parse(fields[kParent], facts.parent) || !parse(fields[kStart], facts.start)) {
    return std::nullopt;
  }
  return facts;
}

std::vector<ProcessFacts> Descendants(pid_t root, std::span<const pid_t> except) {
  std::unordered_map<pid_t, std::vector<ProcessFacts>> children;
  for (const pid_t pid : AllProcesses()) {
    if (const std::optional<ProcessFacts> facts = ReadProcess(pid)) {
      children[facts->parent].push_back(*facts);
    }
  }
  std::vector<ProcessFacts> found;
  std::vector<pid_t> open_ends{root};
  // A number that was given anew while we read could close a circle.
  std::unordered_set<pid_t> seen{root};
  while (!open_ends.empty()) {
    const pid_t parent = open_ends.back();
    open_ends.pop_back();
    for (const ProcessFacts& child : children[parent]) {
      if (std::find(except.begin(), except.end(), child.pid) != except.end()) continue;
      if (!seen.insert(child.pid).second) continue;
      found.push_back(child);
      open_ends.push_back(child.pid);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const ProcessFacts& a, const ProcessFacts& b) { return a.pid < b.pid; });
  return found;
}

std::vector<ProcessFacts> ProcessesWithVariable(std::string_view assignment) {
  std::vector<ProcessFacts> found;
  const std::string wanted = '\0' + std::string(assignment) + '\0';
  for (const pid_t pid : AllProcesses()) {
    // Before the look, so that the facts cannot be those of a later process.
    const std::optional<ProcessFacts> facts = ReadProcess(pid);
    if (!facts || facts->IsDead()) continue;
    const std::string all = '\0' + ReadWhole(base::Format("/proc/{}/environ", pid)) + '\0';
    if (all.find(wanted) != std::string::npos) found.push_back(*facts);
  }
  return found;
}

bool SignalProcess(const ProcessFacts& process, int signal) {
  const posix::Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle.IsOpen()) return false;
  const std::optional<ProcessFacts> now = ReadProcess(process.pid);
  if (!now || now->start != process.start) return false;
  return syscall(SYS_pidfd_send_signal, handle.number(), signal, nullptr, 0) == 0 || errno == EPERM;
}

std::size_t KillDescendants(pid_t root, std::span<const pid_t> except) {
  return KillFound([&] { return Descendants(root, except); });
}

bool KillByVariable(std::string_view assignment) {
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    if (KillFound([&] { return ProcessesWithVariable(assignment); }) == 0) return true;
  }
  return false;
}

}  // namespace muster::driver
