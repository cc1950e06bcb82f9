// SPDX-License-Identifier: Apache-2.0
// The folder of a server: made, locked, with its secret; and who is told that it is ready.
#include "cli/daemon/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/daemon/notify.h"
#include "cli/daemon/signals.h"

namespace muster::cli::test {
namespace {

using testing::HasSubstr;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "muster-folder-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~FolderTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  mode_t ModeOf(const std::string& path) const {
    struct stat there {};
    EXPECT_EQ(stat(path.c_str(), &there), 0) << path;
    return there.st_mode & 0777;
  }
  std::string path_;
};

TEST_F(FolderTest, IsMadeWithThoseAboveIt) {
  ASSERT_TRUE(MakeFolder(path_ + "/a/b/state", 0700));
  EXPECT_EQ(ModeOf(path_ + "/a/b/state"), 0700U);
  ASSERT_TRUE(MakeFolder(path_ + "/a/b/state", 0755)) << "one that is there is fine";
  EXPECT_EQ(ModeOf(path_ + "/a/b/state"), 0700U);
  std::ofstream(path_ + "/file") << "x";
  EXPECT_EQ(MakeFolder(path_ + "/file", 0700).error().code, base::ErrorCode::kInvalid);
  EXPECT_FALSE(MakeFolder(path_ + "/file/below", 0700));
}

TEST_F(FolderTest, TheSecretIsMadeOnceForItsOwnerAlone) {
  const auto first = ReadOrMakeSecret(path_);
  ASSERT_TRUE(first);
  EXPECT_GE(first->size(), 43U);
  EXPECT_EQ(ModeOf(path_ + "/secret"), 0600U);
  EXPECT_EQ(*ReadOrMakeSecret(path_), *first);
  chmod((path_ + "/secret").c_str(), 0640);
  EXPECT_THAT(ReadOrMakeSecret(path_).error().message, HasSubstr("others than its owner"));
  std::ofstream(path_ + "/secret") << "short\n";
  chmod((path_ + "/secret").c_str(), 0600);
  EXPECT_THAT(ReadOrMakeSecret(path_).error().message, HasSubstr("too short"));
}

// A lock of one's own process is never in its way, so another one has to ask.
TEST_F(FolderTest, ASecondServerIsRefusedAndToldWhoRuns) {
  EXPECT_EQ(FindServer(path_)->has_value(), false);
  EXPECT_EQ(FindServer(path_ + "/nowhere")->has_value(), false);
  {
    const auto lock = ServerLock::Take(path_);
    ASSERT_TRUE(lock);
    const pid_t holder = getpid();
    const pid_t child = fork();
    if (child == 0) {
      const auto found = FindServer(path_);
      const auto second = ServerLock::Take(path_);
      const bool right = found && *found == holder && !second &&
                         second.error().code == base::ErrorCode::kRefused &&
                         second.error().message.find(std::to_string(holder)) != std::string::npos;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(FindServer(path_)->has_value(), false) << "the file stays, the lock does not";
}

TEST_F(FolderTest, SystemdIsToldByOneDatagram) {
  const int receiver = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path_ + "/notify";
  std::memcpy(address.sun_path, name.data(), name.size());
  ASSERT_EQ(bind(receiver, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  setenv("NOTIFY_SOCKET", name.c_str(), 1);
  NotifySystemd("READY=1");
  unsetenv("NOTIFY_SOCKET");
  NotifySystemd("nobody listens");
  std::array<char, 64> buffer{};
  const ssize_t size = recv(receiver, buffer.data(), buffer.size(), MSG_DONTWAIT);
  EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))),
            "READY=1");
  EXPECT_LT(recv(receiver, buffer.data(), buffer.size(), MSG_DONTWAIT), 0);
  close(receiver);
}

TEST(Signals, AreTakenOneByOneAndNotInherited) {
  Signals signals;
  EXPECT_EQ(signals.Wait(0), 0);
  raise(SIGHUP);
  raise(SIGTERM);
  EXPECT_EQ(signals.Wait(1000), SIGHUP);
  EXPECT_EQ(signals.Wait(1000), SIGTERM);
  raise(SIGPIPE);
  EXPECT_EQ(signals.Wait(0), 0);
  // The shell ends itself by the signal only if it is neither blocked nor ignored in it.
  const int status = std::system("kill -TERM $$; exit 0");
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

}  // namespace
}  // namespace muster::cli::test
