// SPDX-License-Identifier: Apache-2.0
// What a journal asks of the system's files besides SQLite: where the file is, who else has it, and
// whole files under their name or none.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "posix/descriptor.h"

namespace muster::journal {

/// The absolute name of the file `path`, links followed, so that one file has one lock and a later
/// change of the working folder does not matter. The file itself need not be there, its folder
/// must (`kNotFound`). `kInvalid`: it is a folder, or no plain file.
base::Result<std::string> ResolveFile(const std::string& path);

/// Makes an empty file that only its owner may read, unless there is a file already. A crash may
/// leave it empty.
base::Status CreateIfMissing(const std::string& path);

/// The right to a journal, held until destroyed or until the process ends, however it ends. A file
/// of its own (`PATH-lock`) carries it, and the number of the process that writes.
class LockFile {
 public:
  enum class Mode {
    kWriter,  ///< alone
    kReader,  ///< with other readers; where the folder cannot be written and holds no lock file, no
              ///< writer can be there and nothing is locked
  };
  /// `kUnavailable`: another has it; the message names the journal as `shown_path`.
  static base::Result<LockFile> Take(const std::string& path, const std::string& shown_path,
                                     Mode mode);

 private:
  explicit LockFile(posix::Descriptor file) : file_(std::move(file)) {}
  posix::Descriptor file_;
};

/// Gives the file `from`, synced first, the name `to` in the same folder, which no file may have
/// yet (`kInvalid`).
base::Status Publish(const std::string& from, const std::string& to);

}  // namespace muster::journal
