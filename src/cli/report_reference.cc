// SPDX-License-Identifier: Apache-2.0
// docs/reference/reports.md. A test compares the fields with those of real reports.
#include <span>
#include <string_view>

#include "base/strings.h"
#include "cli/sim_report.h"

namespace muster::cli {
namespace {

struct Field {
  std::string_view path;  ///< `[]` each item of a list, `*` any name
  std::string_view meaning;
};

constexpr Field kReport[] = {
    {"apiVersion", "`muster/v1`"},
    {"kind", "`SimulationReport`"},
    {"workload", "where the jobs came from"},
    {"cluster", "name and size of the cluster"},
    {"policy", "policy file and settings"},
    {"seed", "seed of the run"},
    {"unit", "what is counted: `GPU`, or `CPU` on a cluster without GPUs"},
    {"capacity", "units of all nodes of the cluster"},
    {"jobs", "jobs of the workload"},
    {"fates.completed", "jobs that ended well"},
    {"fates.failed", "jobs that failed, as the trace says"},
    {"fates.cancelled", "jobs that their user ended, as the trace says"},
    {"fates.timedOut", "jobs ended by their time limit"},
    {"fates.unfinished", "jobs that had started, but were not over at the end of the run"},
    {"fates.waiting", "jobs that waited when the run was stopped (`--until`)"},
    {"fates.toCome", "jobs not submitted yet when the run was stopped"},
    {"fates.never", "jobs that never started, though the run went on to its end"},
    {"fates.rejected", "jobs whose request is malformed; they have no size"},
    {"queued", "jobs that started, and waited before it"},
    {"peakWaiting", "most jobs that waited at one time"},
    {"makespanSeconds", "first submission to last end"},
    {"utilisation", "units in use over units up, 0 to 1"},
    {"unitHours", "unit-hours in use"},
    {"lostHours", "of these, for work done again and for starting again, at the size held"},
    {"restarts", "starts after the first, over all jobs"},
    {"slowdown", "mean slowdown by placement, of jobs that started; 1 = none"},
    {"slowdownBound", "the same of communication-bound jobs"},
    {"boundJobs", "how many of these there are"},
    {"completionSeconds.count", "jobs that ran and are over: submission to end"},
    {"completionSeconds.mean", "mean"},
    {"completionSeconds.p50", "median, by nearest rank as all percentiles"},
    {"completionSeconds.p90", "90th percentile"},
    {"completionSeconds.p99", "99th percentile"},
    {"completionSeconds.max", "maximum"},
    {"waitSeconds.count", "jobs that started: time in the queue over all attempts"},
    {"waitSeconds.mean", "mean"},
    {"waitSeconds.p50", "median"},
    {"waitSeconds.p90", "90th percentile"},
    {"waitSeconds.p99", "99th percentile"},
    {"waitSeconds.max", "maximum"},
    {"sizes[].size", "units that these jobs ask for: `1`, `2-8`..."},
    {"sizes[].jobs", "how many there are"},
    {"sizes[].hoursAsked", "size x run time of the trace"},
    {"sizes[].completionSeconds.*", "as above, of these jobs"},
    {"sizes[].waitSeconds.*", "as above, of these jobs"},
    {"neverReasons.*",
     "jobs that never started, by the name of the reason; at most 1,000 are asked"},
    {"events", "arrivals, ends, stops and node events"},
    {"passes", "scheduling passes"},
    {"workUnits", "work of all passes, about one looked-at domain or node each"},
    {"decisions", "decisions of the engine"},
    {"decisionHash", "hash of all decisions with their times: equal runs have equal hashes"},
    {"usage[].fromSeconds", "start of an interval, from the start of the trace"},
    {"usage[].seconds", "its width; intervals are at most 120"},
    {"usage[].allocated", "mean units in use"},
    {"usage[].capacity", "mean units up"},
    {"usage[].waiting", "mean jobs that waited"},
    {"notes[]", "what was adapted or left out, for people"},
    {"explained[].job", "with `--explain`: name of the job"},
    {"explained[].submitted", "it had been submitted before the run ended"},
    {"explained[].waiting", "it waited after the pass at its arrival"},
    {"explained[].outcome", "of a job that waited: `not-now`, `never` or `search-ended`"},
    {"explained[].reason", "name of the first reason that kept it, or of what became of it"},
    {"explained[].group", "index of the task group that the reason is about"},
    {"explained[].level", "topology level that it is about"},
    {"explained[].bestDomain", "domain of that level with most room"},
    {"explained[].wanted", "replicas wanted there"},
    {"explained[].have", "replicas that fitted there; not for `never`"},
    {"explained[].nodes[].reason", "why nodes had no room for one replica; most nodes first"},
    {"explained[].nodes[].count", "on how many nodes"},
    {"explained[].position", "place in the order of its queue, from 1"},
};

constexpr Field kComparison[] = {
    {"apiVersion", "`muster/v1`"},
    {"kind", "`SimulationComparison`"},
    {"workload", "where the jobs came from"},
    {"cluster", "name and size of the cluster"},
    {"seeds", "runs of each contender"},
    {"pairedJobs", "jobs that are over in every run: the sample of the intervals"},
    {"sameDecisions", "all contenders took the same decisions at the same times"},
    {"contenders[]", "names, in the order of the values below"},
    {"metrics[].metric", "name of the metric, with its unit: `completion_mean_s`"},
    {"metrics[].values[].mean", "mean over the seeds; one value a contender"},
    {"metrics[].values[].deviation", "standard deviation over the seeds, if there are several"},
    {"metrics[].values[].difference", "to the first contender"},
    {"metrics[].values[].low",
     "lower end of a 95 % interval of the difference, by bootstrap over "
     "jobs; for means over jobs"},
    {"metrics[].values[].high", "upper end"},
    {"metrics[].values[].relativeLow",
     "lower end of the difference as a part of the first's mean, both over the same resampled "
     "jobs"},
    {"metrics[].values[].relativeHigh", "upper end"},
};

void AppendFields(std::span<const Field> fields, std::string& out) {
  out += "| field | meaning |\n|---|---|\n";
  for (const Field& field : fields)
    out += base::Format("| `{}` | {} |\n", field.path, field.meaning);
}

}  // namespace

std::string ReportsMarkdown() {
  std::string out =
      "<!-- Written by `muster reference reports`. -->\n# Reports\n\n"
      "`--format json` and `--format yaml` give the documents below. Times are seconds; fields "
      "that "
      "do not apply are left out.\n\n## muster sim run\n\n";
  AppendFields(kReport, out);
  out +=
      "\n`--format csv` gives one row a job: "
      "`name,size,submit_s,start_s,end_s,wait_s,fate,restarts,"
      "slowdown`. A time is empty where there is none.\n\n## muster sim compare\n\n";
  AppendFields(kComparison, out);
  out +=
      "\n`--format csv` gives one row a metric and contender: `metric,contender,mean,deviation,"
      "difference,low,high`.\n";
  return out;
}

}  // namespace muster::cli
