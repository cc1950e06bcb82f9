// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "base/units.h"
#include "cli/sim_report.h"
#include "cli/text.h"
#include "sim/main_reason.h"

namespace muster::cli {
namespace {

using base::Format;

constexpr std::size_t kPictureColumns = 60;
constexpr int kLabelWidth = 13;

std::string Labelled(std::string_view label, std::string_view text) {
  return Format("{:<{}}{}\n", label, kLabelWidth, text);
}

std::string FatesText(const sim::Report& report) {
  std::string out = Format("{} submitted", WithCommas(report.jobs));
  const char* separator = ": ";
  for (int i = 0; i < sim::kFates; ++i) {
    const std::int64_t count = report.fates[static_cast<std::size_t>(i)];
    if (count == 0) continue;
    out += Format("{}{} {}", separator, WithCommas(count), sim::Name(static_cast<sim::Fate>(i)));
    separator = ", ";
  }
  return out;
}

std::string Pictures(const sim::Report& report) {
  if (report.usage.empty()) return {};
  std::vector<double> used;
  std::vector<double> waiting;
  for (const sim::UsageInterval& interval : report.usage) {
    const auto capacity = static_cast<double>(std::max<std::int64_t>(1, interval.capacity_milli));
    used.push_back(static_cast<double>(interval.allocated_milli) / capacity);
    waiting.push_back(static_cast<double>(interval.waiting_jobs));
  }
  const double most_waiting = *std::ranges::max_element(waiting);
  const auto span = static_cast<double>((report.usage.back().from - report.usage.front().from +
                                         report.usage.back().width)
                                            .value()) /
                    1e6;
  std::string out =
      Labelled(Format("{}s in use", report.unit), Sparkline(Resample(used, kPictureColumns), 1.0));
  out += Labelled("waiting", Sparkline(Resample(waiting, kPictureColumns), most_waiting));
  const auto columns = static_cast<double>(std::min(kPictureColumns, report.usage.size()));
  const std::string most =
      most_waiting < 10 ? Format("{:.1f}", most_waiting) : WithCommas(std::llround(most_waiting));
  out += Labelled("", Format("0 to {}, averages over {} a column; full height is 100 % in use, and "
                             "{} jobs waiting",
                             HumanSeconds(span), HumanSeconds(span / columns), most));
  return out;
}

std::vector<std::string> TimesRow(std::string name, std::int64_t jobs,
                                  const sim::Distribution& completion,
                                  const sim::Distribution& wait) {
  std::vector<std::string> row{std::move(name), WithCommas(jobs)};
  for (const sim::Distribution* times : {&completion, &wait}) {
    for (const double value : {times->mean, times->p50, times->p90, times->p99}) {
      row.push_back(times->count == 0 ? "-" : HumanSeconds(value));
    }
  }
  return row;
}

std::string TimesTable(const sim::Report& report) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({Format("{}s", report.unit), "jobs", "completion", "p50", "p90", "p99", "wait",
                  "p50", "p90", "p99"});
  for (const sim::SizeClass& size : report.sizes) {
    if (size.jobs == 0) continue;
    rows.push_back(TimesRow(std::string(size.name), size.jobs, size.completion_s, size.wait_s));
  }
  rows.push_back(TimesRow("all", report.jobs, report.completion_s, report.wait_s));
  return AlignedTable(rows);
}

/// Why a job never started; then nothing is a question of what is free.
std::string_view NeverReason(model::ReasonCode code) {
  return code == model::ReasonCode::kCapacity ? "more than the whole cluster has"
                                              : model::Text(code);
}

std::string NeverText(const sim::Report& report) {
  std::vector<std::size_t> codes;
  for (std::size_t i = 0; i < report.never_reasons.size(); ++i) {
    if (report.never_reasons[i] > 0) codes.push_back(i);
  }
  std::ranges::stable_sort(codes, std::greater{},
                           [&](std::size_t code) { return report.never_reasons[code]; });
  std::string out;
  for (const std::size_t code : codes) {
    out += Format("{}{} {}", out.empty() ? "" : ", ", WithCommas(report.never_reasons[code]),
                  NeverReason(static_cast<model::ReasonCode>(code)));
  }
  const std::int64_t never = report.fates[static_cast<std::size_t>(sim::Fate::kNever)];
  if (report.never_explained < never)
    out += Format(" (of the first {})", WithCommas(report.never_explained));
  return out;
}

std::string SlowdownText(const sim::Report& report) {
  if (report.bound_jobs == 0) return Format("{:.3f} x over all jobs", report.slowdown_all);
  return Format("{:.3f} x over {} communication-bound jobs, {:.3f} x over all",
                report.slowdown_bound, WithCommas(report.bound_jobs), report.slowdown_all);
}

std::string ComparedText(const sim::ComparedMetric& metric, double value) {
  if (metric.unit == "s") return HumanSeconds(value);
  if (metric.unit == "%") return Format("{:.1f} %", value);
  if (metric.unit == "x") return Format("{:.3f} x", value);
  if (metric.unit == "hours") return Format("{} h", WithCommas(std::llround(value)));
  return WithCommas(std::llround(value));
}

/// "-12.3 %", with its interval where there is one.
std::string DifferenceText(const sim::ComparedMetric& metric, const sim::ComparedValue& value) {
  const double first = metric.values.front().mean;
  if (metric.unit == "%") return Format("{:+.1f} points", value.difference);
  if (first == 0) return value.difference == 0 ? "=" : Format("{:+.1f}", value.difference);
  const std::string change = Format("{:+.1f} %", 100 * value.difference / first);
  if (!value.relative) return change;
  return Format("{} [{:+.1f}, {:+.1f}]", change, 100 * value.relative->low,
                100 * value.relative->high);
}

/// Whether what was in use differs by more than 5 %.
bool HoursDiffer(const sim::Comparison& comparison) {
  const auto hours = std::ranges::find(comparison.metrics, "unit_hours", &sim::ComparedMetric::key);
  return hours != comparison.metrics.end() &&
         std::ranges::any_of(hours->values, [&](const sim::ComparedValue& value) {
           return std::abs(value.difference) > 0.05 * hours->values.front().mean;
         });
}

}  // namespace

std::string ReportText(const sim::Report& report, const RunLabels& labels, bool colour) {
  std::string out = Bold(Format("{} on {}, policy {}, seed {}", report.source, labels.cluster,
                                labels.policy, labels.seed),
                         colour) +
                    "\n\n";
  out += Labelled("jobs", FatesText(report));
  out += Labelled("", Format("{} waited, {} at once at most", WithCommas(report.queued),
                             WithCommas(report.peak_waiting)));
  out += Labelled("makespan", HumanSeconds(report.makespan_s));
  out += Labelled("utilisation", Format("{} {}  ({} {}-hours)", Bar(report.utilisation, 20),
                                        HumanPercent(report.utilisation),
                                        WithCommas(std::llround(report.unit_hours)), report.unit));
  out += Pictures(report);
  out += '\n' + TimesTable(report) + '\n';
  out += Labelled("slowdown", SlowdownText(report));
  if (report.restarts > 0) {
    out += Labelled("restarts", Format("{}, {:.1f} {}-hours lost", WithCommas(report.restarts),
                                       report.lost_hours, report.unit));
  }
  if (report.fates[static_cast<std::size_t>(sim::Fate::kNever)] > 0) {
    out += Labelled("never", NeverText(report));
  }
  out += Labelled("decisions", Format("{} in {} passes, hash {:016x}", WithCommas(report.decisions),
                                      WithCommas(report.passes), report.decision_hash));
  for (const std::string& note : report.notes) out += Labelled("note", note);
  return out;
}

std::string ComparisonText(const sim::Comparison& comparison, const std::string& source,
                           const std::string& cluster, bool colour) {
  std::string out = Bold(Format("{} on {}, {} seed{}", source, cluster, comparison.seeds,
                                comparison.seeds == 1 ? "" : "s"),
                         colour) +
                    "\n\n";
  std::vector<std::vector<std::string>> rows{{""}};
  for (std::size_t i = 0; i < comparison.names.size(); ++i) {
    rows.front().push_back(comparison.names[i]);
    if (i > 0) rows.front().push_back("against " + comparison.names.front());
  }
  for (const sim::ComparedMetric& metric : comparison.metrics) {
    const bool nothing =
        std::ranges::all_of(metric.values, [](const auto& v) { return v.mean == 0; });
    if (metric.may_be_left_out && nothing) continue;
    std::vector<std::string>& row = rows.emplace_back();
    row.emplace_back(metric.text);
    for (std::size_t i = 0; i < metric.values.size(); ++i) {
      const sim::ComparedValue& value = metric.values[i];
      std::string text = ComparedText(metric, value.mean);
      if (value.deviation) text += " ± " + ComparedText(metric, *value.deviation);
      row.push_back(std::move(text));
      if (i > 0) row.push_back(DifferenceText(metric, value));
    }
  }
  out += AlignedTable(rows);
  out += Format("\n[low, high]: 95 % interval of the mean over {} jobs (paired bootstrap)\n",
                WithCommas(comparison.paired_jobs));
  if (comparison.seeds > 1) out += "±: standard deviation over the seeds\n";
  if (comparison.same_decisions) out += "All took the same decisions at the same times.\n";
  if (HoursDiffer(comparison)) {
    out += Format(
        "{0}-hours differ though the jobs are the same: a job runs longer where it is placed worse "
        "(slowdown),\nand does work again after a loss.\n",
        comparison.unit);
  }
  return out;
}

std::string ExplanationText(std::string_view job, const engine::Explanation& why) {
  constexpr std::string_view kOutcomes[] = {"", "not now: ", "never: ", "search ended: "};
  if (!why.known) return Format("job {}: not submitted\n", job);
  if (!why.waiting) return Format("job {}: {}\n", job, model::Text(why.binding.code));
  const bool never = why.outcome == model::Outcome::kNever;
  const model::ReasonCode reason = sim::MainReason(why);
  std::string out = Format("job {}: {}{}", job, kOutcomes[static_cast<std::size_t>(why.outcome)],
                           never ? NeverReason(reason) : model::Text(reason));
  const bool in_domain = !why.level.empty() && why.level != "any";
  if (never && why.wanted > 0) {
    out += in_domain ? Format("; {} replicas wanted in one {}", why.wanted, why.level)
                     : Format("; {} replicas wanted", why.wanted);
  } else if (in_domain) {
    out += Format("; {} replicas wanted in one {}, {} has room for {}", why.wanted, why.level,
                  why.best_domain, why.have);
  } else if (why.wanted > 0) {
    out += Format("; {} replicas wanted, room for {}", why.wanted, why.have);
  }
  out += '\n';
  for (const model::Reason& cause : why.nodes) {
    out += Format("  {:>6} nodes: {}\n", WithCommas(cause.count), model::Text(cause.code));
  }
  if (why.position > 0 && !never)
    out += Format("  place {} in its queue\n", WithCommas(why.position));
  return out;
}

}  // namespace muster::cli
