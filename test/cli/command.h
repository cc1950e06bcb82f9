// SPDX-License-Identifier: Apache-2.0
// Runs the real program, as a shell would.
#pragma once

#include <string>
#include <string_view>

namespace muster::cli::test {

struct Output {
  int code = -1;
  std::string out;
  std::string err;
};

/// `muster ARGUMENTS` in a folder of its own, which is made on first use and removed at the end.
/// `arguments` go through the shell.
Output Muster(const std::string& arguments);

/// Writes a file into that folder.
void Write(const std::string& name, std::string_view text);
std::string Read(const std::string& name);

/// That folder.
std::string Folder();

/// Compares with test/cli/golden/NAME; with UPDATE_GOLDEN=1 in the environment rewrites it.
void ExpectGolden(const std::string& name, const std::string& text);

}  // namespace muster::cli::test
