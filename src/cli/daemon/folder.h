// SPDX-License-Identifier: Apache-2.0
// The folder in which a server keeps what it has, and the lock in it that says who runs there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::cli {

/// Makes the folder and those above it, itself with `mode`. One that is there is left as it is.
base::Status MakeFolder(const std::string& path, std::uint32_t mode);

/// The key of attempts' tokens: made once, readable for the server's account alone.
base::Result<std::string> ReadOrMakeSecret(const std::string& state_dir);

/// Held while a server runs; ends with the process, however it ends. The lock is the truth, not the
/// number in the file: a stale file says nothing.
class ServerLock {
 public:
  /// `kRefused` where another server has it; the message names its process.
  static base::Result<ServerLock> Take(const std::string& state_dir);
  ~ServerLock();
  ServerLock(ServerLock&& other) noexcept;
  ServerLock& operator=(ServerLock&& other) noexcept;

 private:
  explicit ServerLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

/// The process of the server that runs on this folder; none: no server does.
base::Result<std::optional<pid_t>> FindServer(const std::string& state_dir);

}  // namespace muster::cli
