// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

namespace muster::cli {

/// The check without its own words in the help; the option's text says what it takes.
inline CLI::Validator Quietly(CLI::Validator check) { return std::move(check.description("")); }

/// A number from 0 to 2^64 - 1. The library takes -1 for the largest one, and what is larger too.
inline CLI::Validator SeedNumber() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        if (read.ec == std::errc{} && read.ptr == end) return "";
        return text + " is not a whole number from 0 to 18446744073709551615";
      },
      "");
}

}  // namespace muster::cli
