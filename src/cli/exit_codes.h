// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace muster::cli {

/// What the program tells its caller. Part of the interface: scripts depend on the numbers.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,       ///< the thing asked for failed: a bad file, a fault found by `validate`
  kUsage = 2,        ///< the command line is wrong
  kRefused = 3,      ///< by policy or quota
  kNotFound = 4,     ///< a file, job or node of that name does not exist
  kUnreachable = 5,  ///< no server answered
  kNotAllowed = 6,   ///< the caller may not do this
};

inline ExitCode ExitCodeFor(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kNotFound:
      return ExitCode::kNotFound;
    case base::ErrorCode::kRefused:
      return ExitCode::kRefused;
    case base::ErrorCode::kNotAllowed:
      return ExitCode::kNotAllowed;
    case base::ErrorCode::kUnavailable:
      return ExitCode::kUnreachable;
    case base::ErrorCode::kInvalid:
    case base::ErrorCode::kExhausted:
    case base::ErrorCode::kIo:
      break;
  }
  return ExitCode::kFailed;
}

}  // namespace muster::cli
