// SPDX-License-Identifier: Apache-2.0
// One file for whoever is to help. What the server keeps to itself (secrets of tokens, output of
// jobs) never leaves it; environments and commands' secrets are taken out here.
#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/connection.h"
#include "cli/client/fields.h"
#include "cli/client/present.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "cli/tar.h"
#include "cli/verbs/all.h"
#include "cli/version.h"
#include "format/file.h"
#include "format/json.h"

namespace muster::cli {
namespace {

using base::Format;
using format::Value;

constexpr std::size_t kMostItems = 2000;
constexpr std::size_t kMostJobs = 100;
constexpr std::size_t kMostLogBytes = std::size_t{1} << 20;

struct Options {
  ClientOptions client;
  std::string output;
  std::string state_dir;
};

/// Takes out what may be secret, wherever it is in a document.
void Redact(Value& value) {
  std::erase_if(value.entries, [](const format::Entry& entry) {
    return entry.key == "env" || entry.key == "secretEnv" || entry.key == "secret";
  });
  for (format::Entry& entry : value.entries) Redact(entry.value);
  for (Value& item : value.items) Redact(item);
}

class Bundle {
 public:
  explicit Bundle(Connection& server) : server_(server) {}

  void Add(std::string name, std::string text) {
    files_.push_back({"muster-support/" + std::move(name), std::move(text)});
  }
  /// A document, or the fault in its place: a bundle is made when things are broken.
  void AddAnswer(const std::string& name, base::Checked<Value> answer) {
    if (!answer) return Add(name + ".error", answer.error().front().ToString() + "\n");
    Redact(*answer);
    Add(name + ".json", format::WriteJson(*answer));
  }
  void AddList(const std::string& name, std::string_view path, std::string_view list) {
    AddAnswer(name, server_.GetAll(path, {}, list, kMostItems));
  }
  void AddJobs() {
    auto jobs = server_.GetAll("/v1/jobs", {}, "jobs", kMostItems);
    std::size_t shown = 0;
    if (jobs) {
      for (const Value& job : ItemsAt(*jobs, "jobs")) {
        if (++shown > kMostJobs) break;
        const std::string id = TextAt(job, "id");
        AddAnswer(Format("jobs/{}", id), server_.Get("/v1/jobs/" + id));
        AddAnswer(Format("jobs/{}.why", id), server_.Get(Format("/v1/jobs/{}/why", id)));
        AddAnswer(Format("jobs/{}.events", id), server_.Get(Format("/v1/jobs/{}/events", id)));
      }
    }
    AddAnswer("jobs", std::move(jobs));
  }
  void AddMetrics() {
    const auto metrics = server_.GetRaw("/metrics");
    Add("metrics.txt", metrics ? metrics->body : metrics.error().front().ToString() + "\n");
  }
  const std::vector<TarFile>& files() const { return files_; }

 private:
  Connection& server_;
  std::vector<TarFile> files_;
};

/// The end of what a server in the background has said; empty: there is nothing to read here.
std::string ServerLog(const std::string& state_dir) {
  const auto text = format::ReadFile(state_dir + "/server.log");
  if (!text) return "";
  return text->substr(text->size() - std::min(text->size(), kMostLogBytes));
}

std::string MachineText() {
  utsname names{};
  uname(&names);
  return Format("{}\n{} {} {} {}\n", VersionLine(), names.sysname, names.release, names.version,
                names.machine);
}

ExitCode Run(Options options, Streams& streams) {
  const base::Instant now = LookOf(streams).now;
  if (options.output.empty()) {
    std::string stamp = LocalTime(now);
    std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
    std::ranges::replace(stamp, ' ', '-');
    options.output = Format("muster-support-{}.tar", stamp);
  }
  if (options.state_dir.empty()) options.state_dir = DefaultStateDir(ReadEnvironment());
  return WithServer(options.client, streams, [&](Connection& server) {
    Bundle bundle(server);
    bundle.Add("client.txt", MachineText());
    for (const char* name : {"status", "policy", "queues", "topology", "inventory", "usage"})
      bundle.AddAnswer(name, server.Get(Format("/v1/{}", name)));
    bundle.AddList("nodes", "/v1/nodes", "nodes");
    bundle.AddList("audit", "/v1/audit", "entries");
    bundle.AddJobs();
    bundle.AddMetrics();
    if (std::string log = ServerLog(options.state_dir); !log.empty())
      bundle.Add("server.log", std::move(log));
    const auto written =
        format::WriteFile(options.output, MakeTar(bundle.files(), now.us / 1'000'000));
    if (!written) return Fail(written.error(), streams);
    streams.out << Format(
        "{}: {} files; job names, users and commands are in them, environments "
        "and secrets are not\n",
        base::Printable(options.output), bundle.files().size());
    return ExitCode::kDone;
  });
}

}  // namespace

void AddSupportBundle(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Text("--output,-o", options->output, "FILE",
                 "the archive (tar); default: muster-support-TIME.tar");
  arguments.Text("--state-dir", options->state_dir, "DIR",
                 "where the server's log is, if it runs in the background");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
