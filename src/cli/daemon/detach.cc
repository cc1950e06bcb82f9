// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/detach.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ostream>
#include <string_view>
#include <system_error>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/inputs.h"

namespace muster::cli {
namespace {

/// In the log it ends the part that the caller is told; no line of text holds it.
constexpr char kReady = '\0';

/// Copies what the other process says until it is ready (true) or gone.
bool CopyUntilReady(int from, std::ostream& to) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t end = text.find(kReady);
    to << text.substr(0, end) << std::flush;
    if (end != std::string_view::npos) return true;
  }
}

/// The process that becomes the server: its output goes to the pipe and, from `ready` on, to the
/// log alone.
ExitCode BecomeServer(int log, int pipe_end, Streams& streams,
                      const std::function<ExitCode(const std::function<void()>& ready)>& body) {
  setsid();
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(pipe_end, STDERR_FILENO);
  const ExitCode code = body([&] {
    streams.err << kReady << std::flush;
    dup2(log, STDERR_FILENO);
    close(pipe_end);
  });
  streams.err << std::flush;
  return code;
}

}  // namespace

ExitCode RunDetached(const std::string& log_path, Streams& streams,
                     const std::function<ExitCode(const std::function<void()>& ready)>& body) {
  const auto fail = [&](std::string_view what) {
    return Fail(
        base::Error{base::ErrorCode::kIo,
                    base::Format("cannot {}: {}", what, std::generic_category().message(errno)),
                    base::Printable(log_path)},
        streams);
  };
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return fail("open the log");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail("make a pipe");
  streams.out << std::flush;
  streams.err << std::flush;
  const pid_t child = fork();
  if (child < 0) return fail("start a process");
  if (child == 0) {
    close(ends[0]);
    // Nothing of the caller's is to be cleaned up twice.
    _exit(static_cast<int>(BecomeServer(log, ends[1], streams, body)));
  }
  close(ends[1]);
  close(log);
  const bool ready = CopyUntilReady(ends[0], streams.err);
  close(ends[0]);
  if (ready) {
    streams.out << child << '\n';
    return ExitCode::kDone;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::kFailed;
}

}  // namespace muster::cli
