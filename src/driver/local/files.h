// SPDX-License-Identifier: Apache-2.0
// Small files and folders of the driver's own, for its account alone. Symbolic links are never
// followed at the last part of a path.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "posix/descriptor.h"

namespace muster::driver {

/// "No space left on device".
std::string ErrnoText(int error_number);

/// "cannot WHAT 'PATH': TEXT", with the code that fits `error_number`.
base::Error FileError(std::string_view what, std::string_view path, int error_number);

/// All of a regular file of at most `limit` bytes.
base::Result<std::vector<std::uint8_t>> ReadOwnFile(const std::string& path, std::size_t limit);

/// Writes the file whole or not at all, on disk with its name before it returns.
base::Status WriteDurably(const std::string& path, std::span<const std::uint8_t> bytes);

/// Makes the folder and those above it that are missing.
base::Status MakeFolders(const std::string& path);

/// Has the names in a folder on disk before it returns.
base::Status SyncFolder(const std::string& path);

/// Names in a folder, sorted; none where it cannot be read.
std::vector<std::string> NamesIn(const std::string& path);

/// Opens a folder for `openat`.
base::Result<posix::Descriptor> OpenFolder(const std::string& path);

/// All of the bytes, over short writes and interruptions: how many, less only after an error
/// (`errno`).
std::size_t WriteAll(int descriptor, std::string_view bytes);

/// The kernel's name of this run of the machine, or empty.
std::string BootId();

}  // namespace muster::driver
