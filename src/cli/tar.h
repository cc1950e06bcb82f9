// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

struct TarFile {
  std::string name;  ///< at most 99 bytes
  std::string text;
};

/// An archive (POSIX ustar) of plain files that only their owner may read.
std::string MakeTar(const std::vector<TarFile>& files, std::int64_t modified_seconds);

}  // namespace muster::cli
