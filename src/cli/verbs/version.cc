// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <ostream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/verbs/all.h"

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "unknown"  // tools that look at one file; a test sees it
#endif

namespace muster::cli {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

#ifdef NDEBUG
constexpr std::string_view kChecks = "release";
#else
constexpr std::string_view kChecks = "debug";
#endif

}  // namespace

std::string_view Version() { return MUSTER_VERSION; }
std::string VersionLine() {
  return base::Format("muster {} ({}, {})", MUSTER_VERSION, kChecks, kCompiler);
}

void AddVersion(CLI::App& app, Context& context) {
  OnRun(app, context, [](Streams& streams) {
    streams.out << VersionLine() << '\n';
    return ExitCode::kDone;
  });
}

}  // namespace muster::cli
