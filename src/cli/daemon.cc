// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>

#include "api/http_server.h"
#include "api/token.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "cli/daemon/detach.h"
#include "cli/daemon/folder.h"
#include "cli/daemon/identities.h"
#include "cli/daemon/notify.h"
#include "cli/daemon/report.h"
#include "cli/daemon/signals.h"
#include "cli/inputs.h"
#include "cli/version.h"
#include "driver/local/local_driver.h"
#include "engine/engine.h"
#include "format/file.h"
#include "format/policy_document.h"
#include "journal/sqlite/sqlite_journal.h"
#include "server/loop.h"
#include "server/server.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

/// How often the state of the journal is looked at, to say when it fails and when it works again.
constexpr std::int64_t kLookEveryMs = 2000;

struct LoadedPolicy {
  model::Policy policy;
  std::string text;
};

/// The policy in a file, checked as the API checks one; none without a file.
base::Checked<std::optional<LoadedPolicy>> ReadPolicy(const std::string& file) {
  if (file.empty()) return std::optional<LoadedPolicy>{};
  auto text = format::ReadFile(file);
  if (!text) return text.error();
  const auto rules = [](const model::Policy& policy) {
    return engine::CheckPolicy(model::WithDefaults(policy));
  };
  auto policy = format::ParsePolicy(*text, file, rules);
  if (!policy) return policy.error();
  return LoadedPolicy{model::WithDefaults(*std::move(policy)), *std::move(text)};
}

base::Result<driver::PortRange> ParsePorts(const std::string& text) {
  if (text.empty()) return driver::PortRange{};
  const auto parts = base::Split(text, '-');
  const auto first = base::ParseCount(parts.front());
  const auto last = base::ParseCount(parts.back());
  if (parts.size() != 2 || !first || !last || *first < 1 || *last > 65535 || *first > *last) {
    return Error{ErrorCode::kInvalid,
                 Format("{} is no range of ports, such as 20000-29999", base::Quote(text)),
                 "--ports"};
  }
  return driver::PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error || path.empty() ? path : absolute.lexically_normal().string();
}

/// Everything that a server is made of, joined. Built by `Open` from the bottom up.
class Daemon {
 public:
  Daemon(const DaemonOptions& options, const Environment& environment, Streams& streams)
      : options_(options), environment_(environment), streams_(streams) {
    if (options_.state_dir.empty()) options_.state_dir = DefaultStateDir(environment);
    // Tasks, which run elsewhere, are told where the socket is.
    options_.state_dir = Absolute(options_.state_dir);
    options_.socket = options_.socket.empty() ? SocketOf(environment, options_.state_dir)
                                              : Absolute(options_.socket);
  }

  base::Errors Open();
  void Run();
  const DaemonOptions& options() const { return options_; }

 private:
  base::Status MakeFolders() const;
  base::Status OpenJournal();
  base::Status MakeDriver();
  base::Status OpenServer(std::optional<LoadedPolicy> policy);
  base::Status Listen();
  void FollowLevels(const std::vector<model::Level>& levels);
  void ReloadPolicy();
  server::Request PolicyRequest(LoadedPolicy policy, std::string from) const;
  void Say(std::string_view line) { streams_.err << "muster: " << line << '\n' << std::flush; }

  DaemonOptions options_;
  const Environment& environment_;
  Streams& streams_;
  std::optional<ServerLock> lock_;
  std::string secret_;
  std::optional<driver::VirtualLayout> layout_;
  server::SystemClock clock_;
  std::unique_ptr<journal::SqliteJournal> journal_;
  std::unique_ptr<driver::LocalDriver> driver_;
  std::unique_ptr<server::Server> server_;
  std::optional<server::Loop> loop_;
  std::thread loop_thread_;
  base::Status closed_;
  std::optional<Identities> identities_;
  std::unique_ptr<api::HttpServer> http_;
};

base::Status Daemon::MakeFolders() const {
  if (options_.state_dir.empty()) {
    return Error{ErrorCode::kInvalid,
                 "no HOME and no XDG_STATE_HOME; name a folder for the server's state",
                 "--state-dir"};
  }
  if (auto made = MakeFolder(options_.state_dir, 0700); !made) return made;
  const std::size_t slash = options_.socket.rfind('/');
  if (slash == 0 || slash == std::string::npos) return {};
  return MakeFolder(options_.socket.substr(0, slash), 0755);
}

base::Status Daemon::OpenJournal() {
  auto journal = journal::SqliteJournal::Open({.path = options_.state_dir + "/journal.db"});
  if (!journal) return journal.error();
  journal_ = *std::move(journal);
  return {};
}

base::Status Daemon::MakeDriver() {
  const auto ports = ParsePorts(options_.ports);
  if (!ports) return ports.error();
  if (!options_.virtual_layout.empty()) {
    const auto layout = driver::ParseVirtual(options_.virtual_layout);
    if (!layout) return Error{layout.error().code, layout.error().message, "--virtual"};
    layout_ = *layout;
  }
  driver_ = std::make_unique<driver::LocalDriver>(
      driver::LocalDriverOptions{.state_dir = options_.state_dir + "/driver",
                                 .virtual_layout = layout_,
                                 .ports = *ports,
                                 .allow_root = options_.allow_root});
  return {};
}

base::Status Daemon::OpenServer(std::optional<LoadedPolicy> policy) {
  server::ServerOptions options;
  const std::vector<model::Level> levels =
      layout_ ? driver::VirtualLevels(*layout_) : std::vector<model::Level>{};
  if (policy) {
    options.initial = {.policy = std::move(policy->policy), .policy_text = std::move(policy->text)};
    if (options.initial.policy.topology.levels.empty())
      options.initial.policy.topology.levels = levels;
  } else {
    options.initial.policy = model::WithDefaults({});
    options.initial.policy.topology.levels = levels;
  }
  options.rules = {
      .is_root = environment_.uid == 0, .uid = environment_.uid, .allow_root = options_.allow_root};
  options.build = Version();
  options.api = "unix:" + options_.socket;
  options.attempt_token = [this](driver::GangId gang) { return api::AttemptToken(secret_, gang); };
  auto server = server::Server::Open({*journal_, *driver_, clock_}, std::move(options));
  if (!server) return server.error();
  server_ = *std::move(server);
  // What was found must be known before anybody asks; nobody else steps it yet.
  while (server_->Step().more) continue;
  if (options_.policy.empty()) FollowLevels(levels);
  return {};
}

server::Request Daemon::PolicyRequest(LoadedPolicy policy, std::string from) const {
  return {.caller = {.account = {.uid = environment_.uid, .user = environment_.user},
                     .role = server::Role::kAdmin,
                     .from = std::move(from)},
          .command = server::ActivatePolicy{std::move(policy.policy), std::move(policy.text)}};
}

/// The default policy has the levels of the layout, also when that is another one than last time.
void Daemon::FollowLevels(const std::vector<model::Level>& levels) {
  const server::PicturePtr picture = server_->Look();
  const auto& text = picture->tables.policy_text;
  const bool is_default = text == nullptr || text->empty();
  model::Policy policy = picture->view.policy();
  if (!is_default || policy.topology.levels == levels) return;
  policy.topology.levels = levels;
  server_->Post(PolicyRequest({std::move(policy), ""}, "--virtual"),
                [](const base::Result<server::Reply>&) {});
  while (server_->Step().more) continue;
}

base::Status Daemon::Listen() {
  identities_.emplace(*server_, clock_,
                      Identities::Options{.own_uid = environment_.uid, .secret = secret_});
  api::HttpOptions options{.socket_path = options_.socket,
                           .socket_mode = environment_.uid == 0 ? 0666U : 0600U,
                           .listen = options_.listen,
                           .certificate = options_.certificate,
                           .key = options_.key,
                           .host_names = options_.host_names};
  options.authenticate = [this](std::string_view token) { return identities_->OfToken(token); };
  options.identify_peer = [this](const api::Peer& peer) { return identities_->OfPeer(peer); };
  auto http = api::HttpServer::Start(*server_, std::move(options));
  if (!http) return http.error();
  http_ = *std::move(http);
  return {};
}

base::Errors Daemon::Open() {
  auto policy = ReadPolicy(options_.policy);
  if (!policy) return policy.error();
  if (auto done = MakeDriver(); !done) return {done.error()};
  if (auto done = MakeFolders(); !done) return {done.error()};
  auto lock = ServerLock::Take(options_.state_dir);
  if (!lock) return {lock.error()};
  lock_ = *std::move(lock);
  auto secret = ReadOrMakeSecret(options_.state_dir);
  if (!secret) return {secret.error()};
  secret_ = *std::move(secret);
  if (auto done = OpenJournal(); !done) return {done.error()};
  Say(Format("{} on {}", VersionLine().substr(7), base::Printable(options_.state_dir)));
  if (auto done = OpenServer(*std::move(policy)); !done) return {done.error()};
  if (auto done = Listen(); !done) {
    // Without this the next start would have to replay what this one took in.
    if (const auto closed = server_->Close(); !closed) return {done.error(), closed.error()};
    return {done.error()};
  }
  loop_.emplace(*server_, clock_);
  loop_thread_ = std::thread([this] {
    loop_->Run();
    closed_ = server_->Close();
  });
  for (const std::string& line : StartLines(*server_->Look())) Say(line);
  const std::string tcp =
      options_.listen.empty()
          ? ""
          : Format(" and {}://{}", options_.certificate.empty() ? "http" : "https",
                   options_.listen.ends_with(":0") ? Format("127.0.0.1:{}", http_->port())
                                                   : options_.listen);
  Say(Format("listening on unix:{}{}", base::Printable(options_.socket), tcp));
  if (!options_.hints) return {};
  // Only where the commands would not find it by themselves.
  if (options_.socket != SocketOf(environment_, DefaultStateDir(environment_))) {
    Say(Format("to reach it: export MUSTER_SERVER=unix:{}", base::Printable(options_.socket)));
  }
  Say(options_.detach ? "ready" : "ready; Ctrl-C stops the server, not its jobs");
  return {};
}

void Daemon::Run() {
  Signals signals;
  NotifySystemd("READY=1");
  std::string trouble;
  int signal = 0;
  while (signal != SIGTERM && signal != SIGINT) {
    signal = signals.Wait(kLookEveryMs);
    if (signal == SIGHUP) ReloadPolicy();
    const std::string now = server_->Look()->trouble;
    if (now == trouble) continue;
    Say(now.empty() ? "the journal works again" : "nothing can be made durable: " + now);
    trouble = now;
  }
  NotifySystemd("STOPPING=1");
  const std::size_t running = CountRunning(*server_->Look());
  loop_->Stop();
  loop_thread_.join();
  http_->Stop();
  if (!closed_) Say("closed with a fault: " + closed_.error().ToString());
  Say(running == 0
          ? std::string("stopped")
          : Format("stopped; {} running job{} on, and the next start takes {} over", running,
                   running == 1 ? " goes" : "s go", running == 1 ? "it" : "them"));
}

void Daemon::ReloadPolicy() {
  if (options_.policy.empty()) return Say("SIGHUP: there is no --policy file to read again");
  auto policy = ReadPolicy(options_.policy);
  if (!policy) {
    for (const Error& error : policy.error()) Say(error.ToString());
    return Say("the policy stays as it was");
  }
  if (layout_ && (*policy)->policy.topology.levels.empty())
    (*policy)->policy.topology.levels = driver::VirtualLevels(*layout_);
  // The answer may come after this process has begun to end.
  auto answer = std::make_shared<std::promise<base::Result<server::Reply>>>();
  auto reply = answer->get_future();
  server_->Post(
      PolicyRequest(**std::move(policy), "SIGHUP"),
      [answer](base::Result<server::Reply> given) { answer->set_value(std::move(given)); });
  if (reply.wait_for(std::chrono::seconds(30)) != std::future_status::ready)
    return Say("SIGHUP: no answer to the new policy yet");
  const base::Result<server::Reply> given = reply.get();
  Say(given ? Format("SIGHUP: the policy of {} is active", base::Printable(options_.policy))
            : "SIGHUP: " + given.error().ToString());
}

/// Whoever starts a server cares whether it runs, not which of the codes for callers fits.
ExitCode StartFault(const base::Errors& errors, Streams& streams) {
  const ExitCode code = Fail(errors, streams);
  return code == ExitCode::kUsage ? code : ExitCode::kFailed;
}

}  // namespace

ExitCode RunDaemon(const DaemonOptions& options, const Environment& environment, Streams& streams) {
  const auto body = [&](const std::function<void()>& ready) {
    Daemon daemon(options, environment, streams);
    if (const base::Errors errors = daemon.Open(); !errors.empty())
      return StartFault(errors, streams);
    ready();
    daemon.Run();
    return ExitCode::kDone;
  };
  if (!options.detach) return body([] {});
  const std::string state_dir =
      options.state_dir.empty() ? DefaultStateDir(environment) : options.state_dir;
  if (!state_dir.empty()) {
    if (const auto made = MakeFolder(state_dir, 0700); !made)
      return StartFault({made.error()}, streams);
  }
  return RunDetached(state_dir + "/server.log", streams, body);
}

}  // namespace muster::cli
