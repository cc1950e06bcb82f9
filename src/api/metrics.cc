// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/job_card.h"
#include "api/resources/site.h"
#include "base/check.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "server/names.h"

namespace muster::api {
namespace {

using base::Format;
using server::Counters;

using Label = std::pair<std::string_view, std::string_view>;

/// Escaped as the format wants it.
std::string LabelText(std::string_view value) {
  std::string out;
  for (const char c : base::ValidUtf8(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

std::int64_t LostDeviceUs(const server::Picture& picture) {
  std::int64_t lost = 0;
  for (const auto& [day, rows] : *picture.tables.usage) {
    for (const auto& [key, row] : *rows) lost += row.lost_us;
  }
  return lost;
}

/// Writes the samples of one family.
class Samples {
 public:
  Samples(const Metric& metric, std::string& out) : metric_(metric), out_(out) {}

  void Add(std::string_view value, std::initializer_list<Label> labels = {}) {
    Line("", value, labels);
  }
  template <std::integral T>
  void Add(T value, std::initializer_list<Label> labels = {}) {
    Line("", std::to_string(value), labels);
  }
  void Add(const server::Histogram& histogram, std::initializer_list<Label> labels = {}) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.buckets.size(); ++i) {
      below += histogram.buckets[i];
      const std::string bound = i < server::kHistogramBoundsMs.size()
                                    ? SecondsText(server::kHistogramBoundsMs[i] * 1000)
                                    : "+Inf";
      std::vector<Label> all(labels);
      all.emplace_back("le", bound);
      Line("_bucket", std::to_string(below), all);
    }
    Line("_sum", SecondsText(histogram.sum_us), labels);
    Line("_count", std::to_string(histogram.count), labels);
  }

 private:
  void Line(std::string_view suffix, std::string_view value, std::span<const Label> labels) {
    out_ += metric_.name;
    out_ += suffix;
    char open = '{';
    for (const auto& [name, text] : labels) {
      out_ += Format("{}{}=\"{}\"", std::exchange(open, ','), name, LabelText(text));
    }
    if (open == ',') out_ += '}';
    out_ += Format(" {}\n", value);
  }
  void Line(std::string_view suffix, std::string_view value, std::initializer_list<Label> labels) {
    Line(suffix, value, std::span<const Label>(labels.begin(), labels.size()));
  }

  const Metric& metric_;
  std::string& out_;
};

/// What the families are made of, gathered once.
struct Source {
  const server::Picture& picture;
  const Counters& counters;
  std::string_view version;
  JobCounts jobs;
};

struct Family {
  Metric metric;
  void (*write)(const Source& source, Samples& samples);
};

void WriteQueueDepth(const Source& source, Samples& samples) {
  for (std::uint32_t q = 0; q < source.jobs.by_queue.size(); ++q) {
    const std::string_view queue = source.picture.view.Queue(model::QueueId{q}).name;
    for (const JobState state : {JobState::kHeld, JobState::kWaiting}) {
      samples.Add(source.jobs.by_queue[q][static_cast<std::size_t>(state)],
                  {{"queue", queue}, {"reason", Name(state)}});
    }
  }
}

void WriteQueueGpus(const Source& source, Samples& samples) {
  for (std::uint32_t q = 0; q < source.picture.view.queue_count(); ++q) {
    const engine::QueueView queue = source.picture.view.Queue(model::QueueId{q});
    samples.Add(queue.devices, {{"queue", queue.name}});
  }
}

void WriteJobs(const Source& source, Samples& samples) {
  for (std::size_t i = 0; i < source.jobs.all.size(); ++i)
    samples.Add(source.jobs.all[i], {{"state", Name(static_cast<JobState>(i))}});
}

void WriteEnds(const Source& source, Samples& samples) {
  for (std::size_t i = 0; i < source.counters.ends.size(); ++i)
    samples.Add(source.counters.ends[i], {{"end", server::Name(static_cast<model::JobEnd>(i))}});
}

void WriteDevices(const Source& source, Samples& samples) {
  for (const std::string& model : ModelsOf(source.picture.view)) {
    const engine::Inventory counts = source.picture.view.Devices({.model = model});
    for (std::size_t i = 0; i < counts.size(); ++i) {
      samples.Add(counts[i],
                  {{"state", server::Name(static_cast<model::DeviceState>(i))}, {"model", model}});
    }
  }
}

void WriteNodes(const Source& source, Samples& samples) {
  const NodeCounts counts = CountNodes(source.picture.view);
  for (std::size_t i = 0; i < counts.size(); ++i)
    samples.Add(counts[i], {{"state", server::Name(static_cast<model::NodeState>(i))}});
}

void WriteWaits(const Source& source, Samples& samples) {
  for (const auto& [queue, histogram] : source.counters.wait)
    samples.Add(histogram, {{"queue", queue}});
}

void WriteReschedules(const Source& source, Samples& samples) {
  samples.Add(source.counters.requeues, {{"result", "requeued"}});
  samples.Add(source.counters.restarts, {{"result", "restarted"}});
}

#define MUSTER_SAMPLE(value) [](const Source& s, Samples& samples) { samples.Add(value); }

constexpr std::array<Family, 26> kFamilies = {{
    {{"muster_build_info", "gauge", "version", "Always 1; the version of the program."},
     [](const Source& s, Samples& samples) {
       samples.Add(1, {{"version", s.version}});
     }},
    {{"muster_ready", "gauge", "", "1 if the server can take requests."},
     MUSTER_SAMPLE(s.picture.trouble.empty() ? 1 : 0)},
    {{"muster_jobs", "gauge", "state", "Jobs that have not ended, by state."}, WriteJobs},
    {{"muster_job_ends_total", "counter", "end", "Jobs that ended, by how."}, WriteEnds},
    {{"muster_queue_depth", "gauge", "queue,reason", "Jobs that are not started, by why."},
     WriteQueueDepth},
    {{"muster_queue_gpus", "gauge", "queue", "GPUs that jobs of the queue hold."}, WriteQueueGpus},
    {{"muster_queue_wait_seconds", "histogram", "queue", "From submission to the first start."},
     WriteWaits},
    {{"muster_devices", "gauge", "state,model", "Devices by state and model."}, WriteDevices},
    {{"muster_nodes", "gauge", "state", "Nodes by state."}, WriteNodes},
    {{"muster_starts_paused", "gauge", "", "1 while no waiting job is started."},
     MUSTER_SAMPLE(s.picture.view.starts_paused() ? 1 : 0)},
    {{"muster_reschedules_total", "counter", "result",
      "Attempts that went back to the queue (requeued), and starts after a job's first "
      "(restarted)."},
     WriteReschedules},
    {{"muster_node_losses_total", "counter", "", "Attempts that ended because a node was lost."},
     MUSTER_SAMPLE(s.counters.node_losses)},
    {{"muster_lost_gpu_seconds_total", "counter", "",
      "GPU time of attempts that ended badly, since their last checkpoint."},
     MUSTER_SAMPLE(SecondsText(LostDeviceUs(s.picture)))},
    {{"muster_decide_seconds", "histogram", "", "Time of one scheduling pass."},
     MUSTER_SAMPLE(s.counters.decide)},
    {{"muster_loop_lag_seconds", "histogram", "", "Time of one turn of the event loop."},
     MUSTER_SAMPLE(s.counters.loop_lag)},
    {{"muster_input_backlog", "gauge", "", "Inputs that waited when the last batch was taken."},
     MUSTER_SAMPLE(s.counters.backlog)},
    {{"muster_inputs_rejected_total", "counter", "", "Requests refused because too many waited."},
     MUSTER_SAMPLE(s.counters.rejected_full)},
    {{"muster_journal_append_seconds", "histogram", "", "Time to make one batch durable."},
     MUSTER_SAMPLE(s.counters.append)},
    {{"muster_journal_append_failures_total", "counter", "", "Batches that could not be written."},
     MUSTER_SAMPLE(s.counters.append_failures)},
    {{"muster_journal_sequence", "gauge", "", "Number of the last record."},
     MUSTER_SAMPLE(s.picture.sequence)},
    {{"muster_batches_total", "counter", "", "Batches taken in."},
     MUSTER_SAMPLE(s.counters.batches)},
    {{"muster_facts_total", "counter", "", "Facts taken in."}, MUSTER_SAMPLE(s.counters.facts)},
    {{"muster_decisions_total", "counter", "", "Decisions taken."},
     MUSTER_SAMPLE(s.counters.decisions)},
    {{"muster_commands_total", "counter", "", "Requests that reached the server."},
     MUSTER_SAMPLE(s.counters.commands)},
    {{"muster_commands_refused_total", "counter", "", "Of them: refused."},
     MUSTER_SAMPLE(s.counters.refused)},
    {{"muster_last_record_timestamp_seconds", "gauge", "",
      "Time of the last record, in seconds since 1970."},
     MUSTER_SAMPLE(SecondsText(s.picture.at.us))},
}};

#undef MUSTER_SAMPLE

constexpr auto kMetrics = [] {
  std::array<Metric, kFamilies.size()> metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i] = kFamilies[i].metric;
  return metrics;
}();

}  // namespace

std::span<const Metric> Metrics() { return kMetrics; }

std::string MetricsText(const server::Picture& picture, std::string_view version) {
  static const Counters kNone;
  const Source source{.picture = picture,
                      .counters = picture.counters == nullptr ? kNone : *picture.counters,
                      .version = version,
                      .jobs = CountJobs(picture)};
  std::string out;
  for (const Family& family : kFamilies) {
    const Metric& metric = family.metric;
    out +=
        Format("# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help, metric.name, metric.type);
    Samples samples(metric, out);
    family.write(source, samples);
  }
  return out;
}

std::string MetricsReference() {
  std::string out =
      "# Metrics\n\nAt `/metrics`, in the text format of Prometheus. Counters begin at 0 when the "
      "server starts. No label holds a job or a user.\n\n| metric | type | labels | meaning "
      "|\n|---|---|---|---|\n";
  for (const Metric& metric : Metrics()) {
    const std::string labels(metric.labels);
    out += Format("| `{}` | {} | {} | {} |\n", metric.name, metric.type, labels, metric.help);
  }
  return out;
}

}  // namespace muster::api
