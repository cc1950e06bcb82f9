// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::journal {

/// What SQLite says when a call fails.
struct SqliteFault {
  int code = 0;          ///< extended result code
  int system_error = 0;  ///< errno of the system call behind it; 0: none
  std::string text;      ///< SQLite's own message
};

/// The fault as an error of ours, about the file `path`: no space, files or memory ->
/// `kExhausted`; damaged -> `kIo` with what to do; may not be read or written -> `kNotAllowed`;
/// not there -> `kNotFound`; another program has it -> `kUnavailable`; all else -> `kIo`.
base::Error Explain(const SqliteFault& fault, std::string_view path);

/// The same for a system call that failed with `system_error` while `doing` ("create").
base::Error ExplainSystem(int system_error, std::string_view doing, std::string_view path);

/// `what` ("record 5", "the list of snapshots") of the journal `path` is damaged, and how it shows.
base::Error Damaged(std::string_view path, std::string_view what, std::string_view how);

}  // namespace muster::journal
