// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <memory>
#include <ostream>

#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/daemon/signals.h"
#include "cli/inputs.h"
#include "cli/render/top.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

/// Nodes and jobs that are asked for: more than any terminal shows.
constexpr std::size_t kMost = 500;
constexpr int kRefreshMs = 1000;

/// The terminal's second screen, without a cursor, keys coming one by one; as it was before at the
/// end of the scope. Ctrl-C comes as a key too, so that there is an end of the scope.
class Screen {
 public:
  explicit Screen(std::ostream& out) : out_(out) {
    takes_keys_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0;
    if (takes_keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  ~Screen() {
    out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
    if (takes_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(std::string_view frame) {
    // Each line is cleared to its end, then all below: nothing flickers, nothing is left over.
    out_ << "\x1b[H";
    for (const char c : frame) {
      if (c == '\n') out_ << "\x1b[K";
      out_ << c;
    }
    out_ << "\x1b[J" << std::flush;
  }

  /// Waits for the next frame; true: whoever looks has seen enough.
  bool WaitForQuit() {
    pollfd keys{.fd = takes_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    const int ready = poll(&keys, 1, kRefreshMs);
    if (signals_.Wait(0) != 0) return true;
    if (ready <= 0) return false;
    constexpr char kCtrlC = 3;
    char key = 0;
    return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == kCtrlC;
  }

 private:
  std::ostream& out_;
  Signals signals_;  ///< so that who is told to end still leaves the terminal in order
  bool takes_keys_ = false;
  termios before_{};
};

struct Options {
  ClientOptions client;
  bool once = false;
};

base::Checked<TopData> Ask(Connection& server) {
  auto status = server.Get("/v1/status");
  if (!status) return status.error();
  auto nodes = server.GetAll("/v1/nodes", {}, "nodes", kMost);
  if (!nodes) return nodes.error();
  auto jobs = ListJobs(server, {.limit = kMost});
  if (!jobs) return jobs.error();
  return TopData{*std::move(status), *std::move(nodes), *std::move(jobs)};
}

std::size_t TerminalLines() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 24U;
}

ExitCode Watch(Connection& server, Streams& streams) {
  base::Errors errors;
  {
    Screen screen(streams.out);
    do {
      const auto data = Ask(server);
      if (data) {
        screen.Show(RenderTop(*data, LookOf(streams), TerminalLines() - 1));
      } else if (data.error().front().code == base::ErrorCode::kUnavailable) {
        screen.Show("no answer: " + data.error().front().message + "\ntrying again\n");
      } else {
        errors = data.error();
      }
    } while (errors.empty() && streams.out && !screen.WaitForQuit());
  }
  return errors.empty() ? ExitCode::kDone : Fail(errors, streams);
}

ExitCode Run(const Options& options, Streams& streams) {
  return WithServer(options.client, streams, [&](Connection& server) {
    if (isatty(STDOUT_FILENO) == 1 && !options.once) return Watch(server, streams);
    const auto data = Ask(server);
    if (!data) return Fail(data.error(), streams);
    streams.out << RenderTop(*data, LookOf(streams), 0);
    return ExitCode::kDone;
  });
}

}  // namespace

void AddTop(CLI::App& app, Context& context) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Flag("--once", options->once, "one picture, and no more; so it is without a terminal");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options](Streams& streams) { return Run(*options, streams); });
}

}  // namespace muster::cli
