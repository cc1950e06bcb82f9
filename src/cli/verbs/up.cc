// SPDX-License-Identifier: Apache-2.0
// `up`, for a person at a terminal, and `serve`, for systemd: the same server.
#include <memory>

#include "cli/arguments.h"
#include "cli/daemon.h"
#include "cli/environment.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

void AddServerOptions(Arguments& arguments, DaemonOptions& options) {
  arguments.SetGroup("Where");
  arguments.Text("--state-dir", options.state_dir, "DIR",
                 "journal, logs, socket; default: /var/lib/muster for root, else "
                 "~/.local/state/muster");
  arguments.Text("--socket", options.socket, "FILE",
                 "Unix socket; default: /run/muster/muster.sock for root, else muster.sock in the "
                 "state folder");
  arguments.Text("--listen", options.listen, "ADDRESS",
                 "also listen on TCP, such as 127.0.0.1:7070; beyond this machine it needs a "
                 "certificate");
  arguments.Text("--tls-cert", options.certificate, "FILE", "certificate chain (PEM)");
  arguments.Text("--tls-key", options.key, "FILE", "its key (PEM)");
  arguments.Texts("--host-name", options.host_names, "NAME",
                  "a name by which a proxy on this machine calls the server");
  arguments.SetGroup("What");
  arguments.Text("--policy", options.policy, "FILE",
                 "policy file, read again at SIGHUP; default: the one that was active last");
  arguments.Text("--virtual", options.virtual_layout, "LAYOUT",
                 "made-up nodes in place of this machine: 4x8, or 16x8:leaf=4,spine=8; jobs are "
                 "real processes, GPUs only numbers");
  arguments.Text("--ports", options.ports, "RANGE",
                 "ports that jobs meet on; default: 20000-29999");
  arguments.Flag("--allow-root", options.allow_root, "jobs of root may run");
}

}  // namespace

void AddUp(CLI::App& app, Context& context) {
  Arguments arguments(app, context);
  const auto options = std::make_shared<DaemonOptions>();
  AddServerOptions(arguments, *options);
  arguments.Flag("--detach,-d", options->detach,
                 "run in the background; prints the process number once it is ready");
  arguments.OnRun(
      [options](Streams& streams) { return RunDaemon(*options, ReadEnvironment(), streams); });
}

void AddServe(CLI::App& app, Context& context) {
  Arguments arguments(app, context);
  const auto options = std::make_shared<DaemonOptions>();
  options->hints = false;
  AddServerOptions(arguments, *options);
  arguments.OnRun([options](Streams& streams) {
    if (options->state_dir.empty()) options->state_dir = "/var/lib/muster";
    return RunDaemon(*options, ReadEnvironment(), streams);
  });
}

}  // namespace muster::cli
