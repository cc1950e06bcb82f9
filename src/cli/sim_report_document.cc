// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "base/units.h"
#include "cli/sim_report.h"
#include "format/trace/csv.h"
#include "sim/main_reason.h"

namespace muster::cli {
namespace {

using base::Format;
using format::Map;
using format::Plain;
using format::Text;
using format::Value;

Value Number(std::int64_t number) { return Plain(Format("{}", number)); }
/// Six digits after the point: microseconds of a time in seconds.
Value Decimal(double number) { return Plain(Format("{:.6f}", number)); }
Value Milli(std::int64_t milli) { return Plain(base::FormatCpu(base::MilliCpu::Of(milli))); }

Value Document(std::string_view kind) {
  return Map({{"apiVersion", Text("muster/v1"), {}}, {"kind", Text(std::string(kind)), {}}});
}

Value DistributionValue(const sim::Distribution& values) {
  Value out = Map();
  out.Add("count", Number(values.count));
  out.Add("mean", Decimal(values.mean));
  out.Add("p50", Decimal(values.p50));
  out.Add("p90", Decimal(values.p90));
  out.Add("p99", Decimal(values.p99));
  out.Add("max", Decimal(values.max));
  return out;
}

Value SizesValue(const sim::Report& report) {
  Value out = format::List();
  for (const sim::SizeClass& size : report.sizes) {
    Value row = Map();
    row.Add("size", Text(std::string(size.name)));
    row.Add("jobs", Number(size.jobs));
    row.Add("hoursAsked", Decimal(size.unit_hours));
    row.Add("completionSeconds", DistributionValue(size.completion_s));
    row.Add("waitSeconds", DistributionValue(size.wait_s));
    out.items.push_back(std::move(row));
  }
  return out;
}

Value UsageValue(const sim::Report& report) {
  Value out = format::List();
  for (const sim::UsageInterval& interval : report.usage) {
    Value row = Map();
    row.Add("fromSeconds", Decimal(static_cast<double>(interval.from.us) / 1e6));
    row.Add("seconds", Decimal(static_cast<double>(interval.width.value()) / 1e6));
    row.Add("allocated", Milli(interval.allocated_milli));
    row.Add("capacity", Milli(interval.capacity_milli));
    row.Add("waiting", Number(interval.waiting_jobs));
    out.items.push_back(std::move(row));
  }
  return out;
}

Value FatesValue(const sim::Report& report) {
  constexpr std::string_view kKeys[sim::kFates] = {"completed", "failed",     "cancelled",
                                                   "timedOut",  "unfinished", "waiting",
                                                   "toCome",    "never",      "rejected"};
  Value out = Map();
  for (std::size_t i = 0; i < report.fates.size(); ++i) {
    out.Add(std::string(kKeys[i]), Number(report.fates[i]));
  }
  return out;
}

Value NeverValue(const sim::Report& report) {
  Value out = Map();
  for (std::size_t i = 0; i < report.never_reasons.size(); ++i) {
    if (report.never_reasons[i] == 0) continue;
    out.Add(std::string(model::Name(static_cast<model::ReasonCode>(i))),
            Number(report.never_reasons[i]));
  }
  return out;
}

Value ReasonValue(const model::Reason& reason) {
  Value out = Map();
  out.Add("reason", Text(std::string(model::Name(reason.code))));
  out.Add("count", Number(reason.count));
  return out;
}

Value ExplanationValue(std::string_view job, const engine::Explanation& why) {
  Value out = Map();
  out.Add("job", Text(std::string(job)));
  out.Add("submitted", Plain(why.known ? "true" : "false"));
  if (!why.known) return out;
  out.Add("waiting", Plain(why.waiting ? "true" : "false"));
  if (why.waiting) out.Add("outcome", Text(std::string(model::Name(why.outcome))));
  out.Add("reason", Text(std::string(model::Name(sim::MainReason(why)))));
  if (!why.waiting) return out;
  if (why.group >= 0) out.Add("group", Number(why.group));
  if (!why.level.empty()) out.Add("level", Text(why.level));
  if (!why.best_domain.empty()) out.Add("bestDomain", Text(why.best_domain));
  if (why.wanted > 0) {
    out.Add("wanted", Number(why.wanted));
    if (why.outcome != model::Outcome::kNever) out.Add("have", Number(why.have));
  }
  Value nodes = format::List();
  for (const model::Reason& reason : why.nodes) nodes.items.push_back(ReasonValue(reason));
  out.Add("nodes", std::move(nodes));
  if (why.position > 0 && why.outcome != model::Outcome::kNever)
    out.Add("position", Number(why.position));
  return out;
}

double Seconds(base::Instant at) { return static_cast<double>(at.us) / 1e6; }

}  // namespace

Value ReportDocument(const sim::Report& report, const RunLabels& labels) {
  Value out = Document("SimulationReport");
  out.Add("workload", Text(report.source));
  out.Add("cluster", Text(labels.cluster));
  out.Add("policy", Text(labels.policy));
  out.Add("seed", Plain(Format("{}", labels.seed)));
  out.Add("unit", Text(std::string(report.unit)));
  out.Add("capacity", Decimal(report.capacity));
  out.Add("jobs", Number(report.jobs));
  out.Add("fates", FatesValue(report));
  out.Add("queued", Number(report.queued));
  out.Add("peakWaiting", Number(report.peak_waiting));
  out.Add("makespanSeconds", Decimal(report.makespan_s));
  out.Add("utilisation", Decimal(report.utilisation));
  out.Add("unitHours", Decimal(report.unit_hours));
  out.Add("lostHours", Decimal(report.lost_hours));
  out.Add("restarts", Number(report.restarts));
  out.Add("slowdown", Decimal(report.slowdown_all));
  out.Add("slowdownBound", Decimal(report.slowdown_bound));
  out.Add("boundJobs", Number(report.bound_jobs));
  out.Add("completionSeconds", DistributionValue(report.completion_s));
  out.Add("waitSeconds", DistributionValue(report.wait_s));
  out.Add("sizes", SizesValue(report));
  out.Add("neverReasons", NeverValue(report));
  out.Add("events", Number(report.events));
  out.Add("passes", Number(report.passes));
  out.Add("workUnits", Number(report.work_units));
  out.Add("decisions", Number(report.decisions));
  out.Add("decisionHash", Text(Format("{:016x}", report.decision_hash)));
  out.Add("usage", UsageValue(report));
  Value notes = format::List();
  for (const std::string& note : report.notes) notes.items.push_back(Text(note));
  out.Add("notes", std::move(notes));
  return out;
}

Value ExplainedValue(const model::Workload& workload, const sim::SimulationResult& result) {
  Value out = format::List();
  for (const sim::Explained& each : result.explained) {
    out.items.push_back(ExplanationValue(workload.jobs[each.job].name, each.explanation));
  }
  return out;
}

std::string JobsCsv(const model::Workload& workload, const sim::SimulationResult& result) {
  std::string out = "name,size,submit_s,start_s,end_s,wait_s,fate,restarts,slowdown\n";
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const model::TraceJob& trace = workload.jobs[i];
    const sim::JobResult& job = result.jobs[i];
    const auto optional_time = [](bool there, double seconds) {
      return there ? Format("{:.6f}", seconds) : std::string();
    };
    out += Format("{},{},{:.6f},{},{},{},{},{},{:.6f}\n", format::CsvValue(trace.name),
                  base::FormatCpu(base::MilliCpu::Of(job.size_milli)), Seconds(trace.submit),
                  optional_time(job.started, Seconds(job.first_start)),
                  optional_time(sim::IsOver(job), Seconds(job.end)),
                  optional_time(job.started, sim::WaitSeconds(job)), sim::Name(job.fate),
                  job.restarts, static_cast<double>(job.slowdown_ppm) / 1e6);
  }
  return out;
}

Value ComparisonDocument(const sim::Comparison& comparison, const std::string& source,
                         const std::string& cluster) {
  Value out = Document("SimulationComparison");
  out.Add("workload", Text(source));
  out.Add("cluster", Text(cluster));
  out.Add("seeds", Number(comparison.seeds));
  out.Add("pairedJobs", Number(comparison.paired_jobs));
  out.Add("sameDecisions", Plain(comparison.same_decisions ? "true" : "false"));
  Value names = format::List();
  for (const std::string& name : comparison.names) names.items.push_back(Text(name));
  out.Add("contenders", std::move(names));
  Value metrics = format::List();
  for (const sim::ComparedMetric& metric : comparison.metrics) {
    Value row = Map();
    row.Add("metric", Text(std::string(metric.key)));
    Value values = format::List();
    for (const sim::ComparedValue& value : metric.values) {
      Value cell = Map();
      cell.Add("mean", Decimal(value.mean));
      if (value.deviation) cell.Add("deviation", Decimal(*value.deviation));
      cell.Add("difference", Decimal(value.difference));
      if (value.interval) {
        cell.Add("low", Decimal(value.interval->low));
        cell.Add("high", Decimal(value.interval->high));
        cell.Add("relativeLow", Decimal(value.relative->low));
        cell.Add("relativeHigh", Decimal(value.relative->high));
      }
      values.items.push_back(std::move(cell));
    }
    row.Add("values", std::move(values));
    metrics.items.push_back(std::move(row));
  }
  out.Add("metrics", std::move(metrics));
  return out;
}

std::string ComparisonCsv(const sim::Comparison& comparison) {
  std::string out = "metric,contender,mean,deviation,difference,low,high\n";
  const auto optional = [](bool there, double value) {
    return there ? Format("{:.6f}", value) : std::string();
  };
  for (const sim::ComparedMetric& metric : comparison.metrics) {
    for (std::size_t i = 0; i < metric.values.size(); ++i) {
      const sim::ComparedValue& value = metric.values[i];
      const sim::Interval interval = value.interval.value_or(sim::Interval{});
      out += Format("{},{},{:.6f},{},{:.6f},{},{}\n", metric.key,
                    format::CsvValue(comparison.names[i]), value.mean,
                    optional(value.deviation.has_value(), value.deviation.value_or(0)),
                    value.difference, optional(value.interval.has_value(), interval.low),
                    optional(value.interval.has_value(), interval.high));
    }
  }
  return out;
}

}  // namespace muster::cli
