// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace muster::base {

/// What kind of fault; the command line maps it to an exit code.
enum class ErrorCode {
  kInvalid,      ///< the input is wrong; the message says what, where and which value
  kNotFound,     ///< a named thing does not exist
  kRefused,      ///< a policy or limit says no
  kExhausted,    ///< the system is out of something (disk, memory, descriptors)
  kIo,           ///< reading or writing failed
  kNotAllowed,   ///< the caller may not do this
  kUnavailable,  ///< whoever should answer cannot right now; trying again later may help
};

/// One fault. `message` says what was wrong, with which value, and what to do. `where` is a place
/// in the input (`job.yaml:12:7`, `trace.csv:99: num_gpus`), or empty.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::string where;

  friend bool operator==(const Error&, const Error&) = default;
  /// `where: message`.
  std::string ToString() const { return where.empty() ? message : where + ": " + message; }
};

/// A value, or the fault that kept it from being one.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)  // NOLINT(google-explicit-constructor): `return Error{...}` reads best
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

/// Success without a value.
using Status = Result<void>;

/// All faults of one document, in order of appearance. Empty means none.
using Errors = std::vector<Error>;

/// A value, or every fault found on the way to it.
template <class T>
class [[nodiscard]] Checked : public tl::expected<T, Errors> {
 public:
  using tl::expected<T, Errors>::expected;
  Checked(Errors errors)  // NOLINT(google-explicit-constructor)
      : tl::expected<T, Errors>(tl::unexpect, std::move(errors)) {}
  Checked(Error error)  // NOLINT(google-explicit-constructor)
      : tl::expected<T, Errors>(tl::unexpect, Errors{std::move(error)}) {}
};

}  // namespace muster::base
