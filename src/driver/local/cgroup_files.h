// SPDX-License-Identifier: Apache-2.0
// What cgroups are made of: small files, and mounted hierarchies. For the code of cgroups and of
// discovery only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::driver {

/// An error of the operating system: "open /x: Permission denied", with the code that fits `number`
/// (an errno).
base::Error SystemError(std::string_view what, int number);

/// All of a file, at most the first `most_bytes`. `kNotFound`, `kNotAllowed`, `kIo`.
base::Result<std::string> ReadSmallFile(const std::string& path,
                                        std::size_t most_bytes = std::size_t{1} << 20);
/// Replaces what is in a file that is there. Errors as of `SystemError`.
base::Status WriteSmallFile(const std::string& path, std::string_view text);
/// Makes a folder; one that is there is fine. Errors as of `SystemError`.
base::Status MakeFolder(const std::string& path);
/// Names of the folders in a folder, sorted; empty when it cannot be read.
std::vector<std::string> FoldersIn(const std::string& path);

/// Whether `word` is one of the words of `text`, which blanks and line ends part.
bool HasWord(std::string_view text, std::string_view word);
/// The number behind `key` in lines of "key number".
std::optional<std::int64_t> KeyedNumber(std::string_view text, std::string_view key);
/// A whole number in base 10 with nothing else around but blanks.
std::optional<std::int64_t> WholeNumber(std::string_view text);

/// A mounted hierarchy of cgroups.
struct CgroupMount {
  bool v2 = false;
  std::vector<std::string> controllers;  ///< of v1; a v2 hierarchy lists its own in a file
  std::string top;  ///< where it is mounted: the outermost group that can be seen
  std::string own;  ///< the folder of this process's group in it: `top` or below
};

/// From /proc/self/mountinfo and /proc/self/cgroup; `root` goes before every path. Empty when there
/// are none or they cannot be read.
std::vector<CgroupMount> CgroupMounts(const std::string& root);

}  // namespace muster::driver
