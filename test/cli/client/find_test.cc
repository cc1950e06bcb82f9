// SPDX-License-Identifier: Apache-2.0
// Which server is meant, and what is in the file that names servers.
#include "cli/client/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/client/config.h"

namespace muster::cli::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kConfig = R"(current: lab
contexts:
  - name: lab
    server: https://lab.example:7070
    token: mst1_lab
    caCertificate: /etc/lab.pem
  - {name: home, server: "unix:/home/ana/m.sock"}
)";

class FindCandidatesTest : public testing::Test {
 protected:
  FindCandidatesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-find-XXXXXX").string();
    home_ = mkdtemp(pattern.data());
    environment_ = {.uid = 1000,
                    .user = "ana",
                    .home = home_,
                    .config_home = home_ + "/.config",
                    .state_home = home_ + "/.local/state"};
  }
  ~FindCandidatesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }

  void WriteConfig(std::string_view text, mode_t mode = 0600) {
    const std::string path = environment_.config_home + "/muster/config.yaml";
    std::filesystem::create_directories(environment_.config_home + "/muster");
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  }
  std::vector<Candidate> Find(const ServerOptions& options = {}) {
    auto found = FindCandidates(options, environment_);
    EXPECT_TRUE(found) << found.error().front().ToString();
    return found ? *found : std::vector<Candidate>{};
  }
  base::Errors Faults(const ServerOptions& options = {}) {
    const auto found = FindCandidates(options, environment_);
    EXPECT_FALSE(found);
    return found ? base::Errors{} : found.error();
  }

  std::string home_;
  Environment environment_;
};

TEST_F(FindCandidatesTest, TheMachinesServersComeLastAndOnesOwnFirst) {
  const auto found = Find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].target.address, "unix:" + home_ + "/.local/state/muster/muster.sock");
  EXPECT_EQ(found[1].target.address, "unix:/run/muster/muster.sock");
  EXPECT_EQ(found[0].from, "this machine");
  environment_.uid = 0;
  EXPECT_EQ(Find().size(), 1U);
}

TEST_F(FindCandidatesTest, EachWayOfSayingWinsOverTheOnesBehindIt) {
  WriteConfig(kConfig);
  EXPECT_EQ(Find().front().target.address, "https://lab.example:7070");
  EXPECT_EQ(Find().front().from, "context lab");
  EXPECT_EQ(Find().front().target.token, "mst1_lab");
  EXPECT_EQ(Find().front().target.ca_certificate, "/etc/lab.pem");
  environment_.server = "http://127.0.0.1:1";
  EXPECT_EQ(Find().front().target.address, "http://127.0.0.1:1");
  EXPECT_EQ(Find().front().from, "MUSTER_SERVER");
  EXPECT_EQ(Find({.context = "home"}).front().target.address, "unix:/home/ana/m.sock");
  EXPECT_EQ(Find({.server = "unix:x", .context = "home"}).front().target.address, "unix:x");
  EXPECT_EQ(Find({.server = "unix:x"}).size(), 1U);
}

TEST_F(FindCandidatesTest, ATokenOfTheEnvironmentWinsAndAnAddressFindsItsContext) {
  WriteConfig(kConfig);
  EXPECT_EQ(Find({.server = "https://lab.example:7070"}).front().target.token, "mst1_lab");
  EXPECT_EQ(Find({.server = "https://other.example"}).front().target.token, "");
  environment_.token = "mst1_env";
  EXPECT_EQ(Find().front().target.token, "mst1_env");
  EXPECT_EQ(Find({.server = "https://other.example"}).front().target.token, "mst1_env");
}

TEST_F(FindCandidatesTest, AContextThatIsNotThereIsAFault) {
  EXPECT_THAT(Faults({.context = "lab"}).front().message, HasSubstr("names no contexts"));
  WriteConfig(kConfig);
  const base::Error fault = Faults({.context = "hom"}).front();
  EXPECT_EQ(fault.where, "--context");
  EXPECT_THAT(fault.message, HasSubstr("did you mean \"home\"?"));
}

TEST_F(FindCandidatesTest, TokensThatOthersCanReadAreAFault) {
  WriteConfig(kConfig, 0644);
  EXPECT_THAT(Faults().front().message, HasSubstr("chmod 600"));
  WriteConfig("contexts: [{name: a, server: \"unix:b\"}]\n", 0644);
  EXPECT_EQ(Find().size(), 2U);
}

TEST(ClientConfig, TellsEveryFaultWithItsPlace) {
  const auto parsed = ParseClientConfig(
      "curent: lab\n"
      "contexts:\n"
      "  - {name: a, server: x}\n"
      "  - {name: a, sever: y}\n"
      "  - server: [z]\n",
      "config.yaml");
  ASSERT_FALSE(parsed);
  std::vector<std::string> faults;
  for (const base::Error& error : parsed.error()) faults.push_back(error.ToString());
  EXPECT_THAT(faults, ElementsAre(HasSubstr("config.yaml:1:1: curent: unknown key"),
                                  HasSubstr("config.yaml:4:5"), HasSubstr("config.yaml:4:12"),
                                  HasSubstr("config.yaml:4:15"), HasSubstr("config.yaml:5:5"),
                                  HasSubstr("config.yaml:5:13")))
      << testing::PrintToString(faults);
}

TEST(ClientConfig, CurrentMustNameAContext) {
  const auto parsed =
      ParseClientConfig("current: lba\ncontexts:\n  - {name: lab, server: x}\n", "config.yaml");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().front().where, "config.yaml:1:10");
  EXPECT_THAT(parsed.error().front().message, HasSubstr("lba"));
  const auto comments = ParseClientConfig("# nothing yet\n", "config.yaml");
  ASSERT_TRUE(comments) << comments.error().front().ToString();
  EXPECT_TRUE(comments->contexts.empty());
}

}  // namespace
}  // namespace muster::cli::test
