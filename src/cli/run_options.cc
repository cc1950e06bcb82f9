// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "cli/validators.h"
#include "format/file.h"

namespace muster::cli {

void AddRunOptions(CLI::App& app, RunOptions& options) {
  constexpr const char* kGroup = "Run";
  app.add_option("--seed", options.seed, "of strategies that draw lots")
      ->check(SeedNumber())
      ->capture_default_str()
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--events", options.events,
                 "nodes that fail, return, come or go: rows of at,node,event")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--until", options.until, "stop at this simulated time")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option(
         "--checkpoint-every", options.checkpoint_every,
         "every job checkpoints this often; without, a lost attempt starts from the beginning")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--stop-grace", options.stop_grace,
                 "every job checkpoints within this time when told to stop")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--restart-cost", options.restart_cost, "from a restart to the first new step")
      ->type_name("DURATION")
      ->group(kGroup);
  app.add_option("--uplinks", options.uplinks,
                 "parallel up-links of a network domain, shared by the gangs that cross it; 0: no "
                 "contention")
      ->capture_default_str()
      ->check(Quietly(CLI::Range(0, 4096)))
      ->type_name("N")
      ->group(kGroup);
  app.add_flag("--check-full", options.full_check,
               "recompute the whole ledger after every pass (slow)")
      ->group(kGroup);
  app.add_flag("--progress", options.progress,
               "show progress although standard error is no terminal")
      ->group(kGroup);
}

base::Checked<sim::SimulationOptions> LoadRunOptions(const RunOptions& options) {
  sim::SimulationOptions out;
  out.seed = options.seed;
  out.slowdown.uplinks = options.uplinks;
  out.check = options.full_check ? engine::CheckLevel::kFull : engine::CheckLevel::kTouched;
  base::Errors errors;
  const auto read = [&](const std::string& text, std::string_view option) {
    const auto parsed = ParseDurationOption(text, option);
    if (!parsed) errors.push_back(parsed.error());
    return parsed.value_or(base::Duration{});
  };
  out.defaults.checkpoint_every = read(options.checkpoint_every, "--checkpoint-every");
  out.defaults.stop_grace = read(options.stop_grace, "--stop-grace");
  out.defaults.restart_cost = read(options.restart_cost, "--restart-cost");
  const base::Duration until = read(options.until, "--until");
  if (!options.until.empty()) out.until = base::Instant{} + until;
  if (!errors.empty()) return errors;
  auto events = LoadEvents(options.events);
  if (!events) return events.error();
  out.events = std::move(*events);
  return out;
}

ProgressLine::ProgressLine(Streams& streams, bool wanted)
    : streams_(streams),
      wanted_(wanted || streams.err_is_terminal),
      last_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() {
  if (shown_ && streams_.err_is_terminal) streams_.err << "\r\x1b[K" << std::flush;
}

std::function<void(const sim::Progress&)> ProgressLine::Callback() {
  if (!wanted_) return {};
  return [this](const sim::Progress& progress) { Show(progress); };
}

void ProgressLine::Show(const sim::Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::milliseconds pause(streams_.err_is_terminal ? 200 : 3000);
  if (now - last_ < pause) return;
  last_ = now;
  const double part = static_cast<double>(progress.jobs_done) /
                      static_cast<double>(std::max<std::int64_t>(1, progress.jobs_total));
  const std::string line = base::Format(
      "{} {} {:>6}  {} of {} jobs, {} waiting, simulated {}", title_, Bar(part, 20),
      HumanPercent(part), WithCommas(progress.jobs_done), WithCommas(progress.jobs_total),
      WithCommas(progress.waiting), HumanSeconds(static_cast<double>(progress.now.us) / 1e6));
  if (streams_.err_is_terminal) {
    streams_.err << "\r\x1b[K" << line << std::flush;
    shown_ = true;
  } else {
    streams_.err << line << '\n' << std::flush;
  }
}

ExitCode WriteOutput(const std::string& path, std::string_view text, Streams& streams) {
  if (path.empty()) {
    streams.out << text;
    return ExitCode::kDone;
  }
  if (const auto status = format::WriteFile(path, text); !status)
    return Fail(status.error(), streams);
  return ExitCode::kDone;
}

void AddFormatOption(CLI::App& app, std::string& format, const std::vector<std::string>& formats) {
  format = formats.front();
  app.add_option("--format", format, base::Join(formats, ", "))
      ->check(Quietly(CLI::IsMember(formats)))
      ->capture_default_str()
      ->type_name("FORMAT");
}

void AddOutputOption(CLI::App& app, std::string& path) {
  const auto set = [&path](const std::string& text) { path = text == "-" ? "" : text; };
  app.add_option_function<std::string>(
         "--output,-o", set, "write to this file instead of standard output, which is also -")
      ->type_name("FILE");
}

}  // namespace muster::cli
