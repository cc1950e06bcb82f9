// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <span>

#include "cli/verbs.h"

int main(int argc, char** argv) {
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
  std::cout.flush();
  return std::cout ? static_cast<int>(code) : static_cast<int>(muster::cli::ExitCode::kFailed);
}
