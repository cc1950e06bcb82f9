// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <CLI/CLI.hpp>

namespace muster::cli {

/// The check without its own words in the help; the option's text says what it takes.
inline CLI::Validator Quietly(CLI::Validator check) { return std::move(check.description("")); }

}  // namespace muster::cli
