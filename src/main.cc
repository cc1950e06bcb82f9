// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <span>
#include <system_error>

#include "cli/verbs.h"

namespace {

/// Where standard input, output or error is closed, the first file that is opened would take its
/// number, and what was meant for a person would go into it.
void TakeStandardNumbers() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // For reading, so that a write fails as it would have.
    if (open("/dev/null", O_RDONLY) != number) return;
  }
}

/// What a program that reads our output must know: whether it got all of it.
bool FlushOutput() {
  errno = 0;
  std::cout.flush();
  if (std::cout) return true;
  const int error_number = errno;
  std::cerr << "muster: cannot write to standard output";
  if (error_number != 0) std::cerr << ": " << std::generic_category().message(error_number);
  std::cerr << '\n';
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  TakeStandardNumbers();
  std::ios::sync_with_stdio(false);
  // https://no-color.org: any value but the empty one.
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour = no_color == nullptr || *no_color == '\0';
  muster::cli::Streams streams{.out = std::cout,
                               .err = std::cerr,
                               .out_is_terminal = colour && isatty(STDOUT_FILENO) == 1,
                               .err_is_terminal = isatty(STDERR_FILENO) == 1};
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  const auto code = muster::cli::RunCommandLine(arguments.subspan(argc > 0 ? 1 : 0), streams);
  return FlushOutput() ? static_cast<int>(code) : static_cast<int>(muster::cli::ExitCode::kFailed);
}
