// SPDX-License-Identifier: Apache-2.0
#include "test/driver/local_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/strings.h"
#include "driver/local/events.h"

namespace muster::driver {
namespace {

constexpr int kDeadlineMs =
    static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kDeadline).count());

}  // namespace

TestFolder::TestFolder() {
  std::string pattern = "/tmp/muster-driver-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
  chmod(path_.c_str(), 0777);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Lines::Lines(const std::string& path) : path_(path) {
  EXPECT_EQ(mkfifo(path.c_str(), 0666), 0);
  chmod(path.c_str(), 0666);
  pipe_.Reset(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

std::string Lines::Next() {
  while (true) {
    const std::size_t end = rest_.find('\n');
    if (end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    pollfd watched{.fd = pipe_.number(), .events = POLLIN, .revents = 0};
    if (poll(&watched, 1, kDeadlineMs) <= 0) {
      ADD_FAILURE() << "nobody wrote to " << path_;
      return "";
    }
    char room[4096];
    const ssize_t got = read(pipe_.number(), room, sizeof(room));
    if (got > 0) rest_.append(room, static_cast<std::size_t>(got));
  }
}

ProcessEnd::ProcessEnd(pid_t pid) : handle_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

bool ProcessEnd::Wait() const {
  if (!handle_.IsOpen()) return true;
  pollfd watched{.fd = handle_.number(), .events = POLLIN, .revents = 0};
  return poll(&watched, 1, kDeadlineMs) == 1;
}

Sink Seen::sink() {
  return [this](const Observation& observation) {
    const std::lock_guard lock(mutex_);
    Take(observation);
    changed_.notify_all();
  };
}

void Seen::Take(const Observation& observation) {
  if (const auto* node = std::get_if<NodeFound>(&observation)) nodes_.push_back(*node);
  if (const auto* node = std::get_if<NodeMissing>(&observation)) missing_.push_back(node->node);
  if (const auto* started = std::get_if<RanksStarted>(&observation)) {
    for (std::int32_t i = 0; i < started->ranks.count; ++i) {
      started_[{started->gang, started->ranks.first + i}] = true;
    }
  }
  if (const auto* ended = std::get_if<RankEnded>(&observation)) {
    ends_[{ended->gang, ended->rank}] = ended->exit;
    ++ends_told_;
  }
}

bool Seen::WaitFor(const std::function<bool(const Seen&)>& holds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kDeadline, [&] { return holds(*this); });
}

std::optional<RankExit> Seen::Exit(GangId gang, std::int32_t rank) const {
  const auto end = ends_.find({gang, rank});
  if (end == ends_.end()) return std::nullopt;
  return end->second;
}

bool Seen::Started(GangId gang, std::int32_t rank) const { return started_.contains({gang, rank}); }

LocalDriverTest::LocalDriverTest() {
  options.state_dir = folder / "state";
  options.virtual_layout = VirtualLayout{.nodes = 4, .devices = 2};
  options.cgroups.reset();
  options.allow_root = true;
}

LocalDriverTest::~LocalDriverTest() {
  if (driver == nullptr) return;
  // Nothing of a test outlives it: a driver that expects nothing kills everything.
  Reopen();
  driver->Adopt({});
}

void LocalDriverTest::Open() {
  seen = std::make_unique<Seen>();
  driver = std::make_unique<LocalDriver>(options);
  const base::Status opened = driver->Open(seen->sink());
  ASSERT_TRUE(opened) << opened.error().ToString();
}

void LocalDriverTest::Reopen() {
  driver.reset();
  Open();
}

std::vector<std::string> LocalDriverTest::Shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

Launch LocalDriverTest::MakeLaunch(std::uint32_t job,
                                   std::vector<std::vector<std::string>> commands) const {
  Launch launch{.gang = {{job}, {1}},
                .job_name = base::Format("job-{}", job),
                .owner = Self(),
                .api = "unix:/nowhere",
                .token = "a-token"};
  for (std::size_t rank = 0; rank < commands.size(); ++rank) {
    Group group{.name = base::Format("task-{}", rank)};
    group.command.command = std::move(commands[rank]);
    group.command.workdir = folder.path();
    launch.groups.push_back(std::move(group));
    launch.replicas.push_back({.group = static_cast<std::int32_t>(rank),
                               .node = base::Format("virtual-{}", rank % 4),
                               .devices = 0b11});
  }
  return launch;
}

Launch LocalDriverTest::Script(std::uint32_t job, const std::string& script) const {
  return MakeLaunch(job, {Shell(script)});
}

RankExit LocalDriverTest::WaitForExit(GangId gang, std::int32_t rank) {
  EXPECT_TRUE(seen->WaitFor([&](const Seen& now) { return now.Exit(gang, rank).has_value(); }))
      << "rank " << rank << " of job " << gang.job.value << " did not end";
  return seen->Exit(gang, rank).value_or(RankExit{.code = -1});
}

bool LocalDriverTest::WaitForStart(GangId gang, std::int32_t rank) {
  return seen->WaitFor([&](const Seen& now) { return now.Started(gang, rank); });
}

RankExit LocalDriverTest::RunToEnd(const Launch& launch) {
  driver->Give(launch);
  return WaitForExit(launch.gang);
}

std::string LocalDriverTest::Log(GangId gang, std::int32_t rank) const {
  std::string text;
  while (true) {
    const base::Result<LogChunk> chunk = driver->ReadLog(
        {.job = gang.job, .attempt = gang.attempt, .rank = rank, .offset = text.size()});
    if (!chunk || chunk->bytes.empty()) return text;
    text += chunk->bytes;
  }
}

std::string LocalDriverTest::GangFolderPath(GangId gang) const {
  return base::Format("{}/gangs/{}-{}", options.state_dir, gang.job.value, gang.attempt.value);
}

pid_t LocalDriverTest::SupervisorOf(GangId gang, std::size_t node) const {
  EventReader events(base::Format("{}/{}.events", GangFolderPath(gang), node));
  const auto read = events.ReadNew();
  if (!read || read->empty()) return 0;
  return static_cast<pid_t>(read->front().pid);
}

void PrintTo(const RankExit& exit, std::ostream* out) {
  *out << "kind " << static_cast<int>(exit.kind) << ", code " << exit.code << ", text '"
       << exit.text << "'";
}

Identity Nobody() {
  const passwd* entry = getpwnam("nobody");
  if (entry == nullptr) return {};
  return {.uid = entry->pw_uid, .gid = entry->pw_gid, .user = "nobody"};
}

Identity Self() {
  const passwd* entry = getpwuid(geteuid());
  return {.uid = geteuid(), .gid = getegid(), .user = entry != nullptr ? entry->pw_name : ""};
}

bool IsRoot() { return geteuid() == 0; }

}  // namespace muster::driver
