// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Not for logs or databases.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::format {

/// Most bytes that `ReadFile` returns, after decompression.
inline constexpr std::size_t kMaxFileSize = std::size_t{4} << 30;

/// The whole file; one that begins with gzip's magic bytes is decompressed (several members follow
/// each other, as `cat a.gz b.gz` makes them, and zeros after the last one are padding). An empty
/// file or archive, a directory, a damaged or truncated
/// archive and more than `limit` bytes are errors that name the path.
base::Result<std::string> ReadFile(const std::string& path, std::size_t limit = kMaxFileSize);

/// Writes the file whole or not at all: to a temporary beside it, to the disk, then into the place
/// of `path`, or of what `path` is a symbolic link to. After an error `path` is as it was. A file
/// that must not be written to is left alone. (A pipe or device is written to directly.)
base::Status WriteFile(const std::string& path, std::string_view text);

}  // namespace muster::format
