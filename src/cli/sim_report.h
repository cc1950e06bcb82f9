// SPDX-License-Identifier: Apache-2.0
// Simulation results as text for people, as documents and as CSV.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/document.h"
#include "model/workload.h"
#include "sim/compare.h"
#include "sim/report.h"
#include "sim/simulator.h"

namespace muster::cli {

/// What was run, for headings: how people name the cluster and the policy.
struct RunLabels {
  std::string cluster;
  std::string policy;
  std::uint64_t seed = 0;
};

std::string ReportText(const sim::Report& report, const RunLabels& labels, bool colour);
/// `apiVersion: muster/v1`, `kind: SimulationReport`.
format::Value ReportDocument(const sim::Report& report, const RunLabels& labels);
/// One row a job: name, submit_s, start_s, end_s, wait_s, fate, restarts, slowdown, size.
std::string JobsCsv(const model::Workload& workload, const sim::SimulationResult& result);

std::string ComparisonText(const sim::Comparison& comparison, const std::string& source,
                           const std::string& cluster, bool colour);
/// `apiVersion: muster/v1`, `kind: SimulationComparison`.
format::Value ComparisonDocument(const sim::Comparison& comparison, const std::string& source,
                                 const std::string& cluster);
/// One row a metric and contender.
std::string ComparisonCsv(const sim::Comparison& comparison);

/// Why jobs waited, one item a job, with the names of `model::Name` for outcomes and reasons.
format::Value ExplainedValue(const model::Workload& workload, const sim::SimulationResult& result);
/// The fields of these documents: docs/reference/reports.md.
std::string ReportsMarkdown();
/// Why a job waited, in one or two lines.
std::string ExplanationText(std::string_view job, const engine::Explanation& why);

}  // namespace muster::cli
