// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::format {

/// The faults of one file that is read line by line. A wrong file is mostly wrong in the same way
/// on every line, so that the first twenty tell as much as all.
class LineFaults {
 public:
  static constexpr std::size_t kMostFaults = 20;

  explicit LineFaults(std::string_view file) : file_(file) {}

  /// `line` 0: the whole file; `column` empty: the whole line.
  void Add(std::int64_t line, std::string_view column, std::string_view message);

  std::size_t count() const { return errors_.size(); }
  bool IsEmpty() const { return errors_.empty(); }
  /// One fault more than is shown was found: stop reading.
  bool IsFull() const { return more_; }
  base::Errors Take() &&;

 private:
  std::string file_;
  base::Errors errors_;
  bool more_ = false;
};

}  // namespace muster::format
