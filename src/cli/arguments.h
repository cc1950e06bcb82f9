// SPDX-License-Identifier: Apache-2.0
// How a verb declares what it takes, without the parser's own header, which is slow to compile. A
// value is written to the variable that was given; it must live as long as the command line, which
// a `std::shared_ptr` caught by the action does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs.h"

namespace muster::cli {

class Arguments {
 public:
  Arguments(CLI::App& app, Context& context) : app_(&app), context_(&context) {}

  /// A command below this one.
  Arguments Command(const char* name, const char* summary) const;

  /// An option of `names` ("--output,-o") that takes a `type` ("FILE"), or nothing.
  void Flag(const char* names, bool& value, const char* meaning) const;
  void Text(const char* names, std::string& value, const char* type, const char* meaning) const;
  /// May be given several times.
  void Texts(const char* names, std::vector<std::string>& values, const char* type,
             const char* meaning) const;
  struct Range {
    std::int64_t min = 0;
    std::int64_t max = INT64_MAX;
  };
  void Number(const char* names, std::optional<std::int64_t>& value, Range range,
              const char* meaning) const;
  /// One of a few words; `value` is the default.
  void Choice(const char* names, std::string& value, const std::vector<std::string>& words,
              const char* type, const char* meaning) const;
  /// `--format`; the first is the default.
  void Format(std::string& format, const std::vector<std::string>& formats) const;

  enum class Need : std::uint8_t { kOptional, kRequired };
  /// What stands without a dash.
  void Word(const char* name, std::string& value, Need need, const char* meaning) const;
  void Words(const char* name, std::vector<std::string>& values, Need need,
             const char* meaning) const;

  /// Puts the options declared after it under a heading of their own in the help.
  void SetGroup(const char* heading) { group_ = heading; }

  /// What the command does.
  void OnRun(std::function<ExitCode(Streams&)> run) const;
  Context& context() const { return *context_; }

 private:
  CLI::App* app_;
  Context* context_;
  const char* group_ = "Options";
};

}  // namespace muster::cli
