// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace muster::posix {

/// An open file descriptor, closed with this object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Descriptor() { Reset(); }

  int number() const { return number_; }
  bool IsOpen() const { return number_ >= 0; }
  /// Closes it, and takes another.
  void Reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }
  /// Gives it away; the caller closes it.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace muster::posix
