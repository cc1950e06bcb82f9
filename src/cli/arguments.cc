// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/units.h"
#include "cli/inputs.h"
#include "cli/validators.h"

namespace muster::cli {
namespace {

/// A whole number in the range. The library's own check goes through floating point.
CLI::Validator NumberIn(Arguments::Range range) {
  return CLI::Validator(
      [range](const std::string& text) -> std::string {
        const auto number = base::ParseCount(text);
        if (!number) return number.error().message;
        if (*number >= range.min && *number <= range.max) return "";
        return range.max == INT64_MAX
                   ? base::Format("{} is less than {}", text, range.min)
                   : base::Format("{} is not from {} to {}", text, range.min, range.max);
      },
      "");
}

std::string UpperCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

Arguments Arguments::Command(const char* name, const char* summary) const {
  return {*app_->add_subcommand(name, summary), *context_};
}

void Arguments::Flag(const char* names, bool& value, const char* meaning) const {
  app_->add_flag(names, value, meaning)->group(group_);
}

void Arguments::Text(const char* names, std::string& value, const char* type,
                     const char* meaning) const {
  app_->add_option(names, value, meaning)->type_name(type)->group(group_);
}

void Arguments::Texts(const char* names, std::vector<std::string>& values, const char* type,
                      const char* meaning) const {
  // One word each time: else it would swallow the words that follow.
  app_->add_option(names, values, meaning)->type_name(type)->expected(1)->take_all()->group(group_);
}

void Arguments::Number(const char* names, std::optional<std::int64_t>& value, Range range,
                       const char* meaning) const {
  app_->add_option(names, value, meaning)
      ->check(Quietly(NumberIn(range)))
      ->type_name("N")
      ->group(group_);
}

void Arguments::Choice(const char* names, std::string& value, const std::vector<std::string>& words,
                       const char* type, const char* meaning) const {
  CLI::Option* option = app_->add_option(names, value, meaning)
                            ->check(Quietly(CLI::IsMember(words)))
                            ->type_name(type)
                            ->group(group_);
  if (!value.empty()) option->capture_default_str();
}

void Arguments::Format(std::string& format, const std::vector<std::string>& formats) const {
  AddFormatOption(*app_, format, formats);
}

void Arguments::Word(const char* name, std::string& value, Need need, const char* meaning) const {
  app_->add_option(name, value, meaning)
      ->type_name(UpperCase(name))
      ->required(need == Need::kRequired);
}

void Arguments::Words(const char* name, std::vector<std::string>& values, Need need,
                      const char* meaning) const {
  app_->add_option(name, values, meaning)
      ->type_name(UpperCase(name))
      ->required(need == Need::kRequired);
}

void Arguments::OnRun(std::function<ExitCode(Streams&)> run) const {
  cli::OnRun(*app_, *context_, std::move(run));
}

}  // namespace muster::cli
