// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <thread>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/daemon/folder.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

/// A server ends within seconds: answers go out, a snapshot is written.
constexpr auto kPatience = std::chrono::seconds(60);

ExitCode Run(const std::string& given, Streams& streams) {
  const std::string state_dir = given.empty() ? DefaultStateDir(ReadEnvironment()) : given;
  const auto server = FindServer(state_dir);
  if (!server) return Fail(server.error(), streams);
  if (!*server) {
    return Fail(
        Error{ErrorCode::kNotFound, Format("no server runs on {}", base::Printable(state_dir)), ""},
        streams);
  }
  const pid_t process = **server;
  if (kill(process, SIGTERM) != 0) {
    return Fail(
        Error{ErrorCode::kNotAllowed, Format("process {} is not yours to stop", process), ""},
        streams);
  }
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - began < kPatience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto now = FindServer(state_dir);
    if (!now) return Fail(now.error(), streams);
    if (!*now || **now != process) {
      streams.out << Format("server stopped (process {}); its jobs go on\n", process);
      return ExitCode::kDone;
    }
  }
  return Fail(Error{ErrorCode::kIo,
                    Format("the server (process {}) was told to stop and still runs", process), ""},
              streams);
}

}  // namespace

void AddDown(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto state_dir = std::make_shared<std::string>();
  arguments.Text("--state-dir", *state_dir, "DIR", "the folder that was given to `muster up`");
  arguments.OnRun([state_dir](Streams& streams) { return Run(*state_dir, streams); });
}

}  // namespace muster::cli
