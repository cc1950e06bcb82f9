// SPDX-License-Identifier: Apache-2.0
#include "test/cli/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::cli::test {
namespace {

namespace fs = std::filesystem;

/// One for each process: the test runner starts a process a test, several at once.
class TestFolder {
 public:
  TestFolder()
      : path_(fs::temp_directory_path() / ("muster-cli-test-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const fs::path& Here() {
  static const TestFolder folder;
  return folder.path();
}

std::string ReadPath(const fs::path& path) {
  const std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Output Muster(const std::string& arguments) {
  const std::string command = "cd '" + Here().string() + "' && '" MUSTER_BINARY "' " + arguments +
                              " > .out 2> .err < /dev/null";
  const int status = std::system(command.c_str());
  Output output;
  if (WIFEXITED(status)) output.code = WEXITSTATUS(status);
  output.out = ReadPath(Here() / ".out");
  output.err = ReadPath(Here() / ".err");
  return output;
}

void Write(const std::string& name, std::string_view text) {
  fs::create_directories((Here() / name).parent_path());
  std::ofstream(Here() / name, std::ios::binary) << text;
}

std::string Folder() { return Here().string(); }

std::string Read(const std::string& name) { return ReadPath(Here() / name); }

void ExpectGolden(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(MUSTER_SOURCE_DIR) / "test/cli/golden" / name;
  const char* update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, ReadPath(path)) << "UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace muster::cli::test
