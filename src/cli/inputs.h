// SPDX-License-Identifier: Apache-2.0
// What a simulation takes in, from options to values. Each struct is filled by the options that its
// `Add...Options` declares, and turned into a value by its `Load...`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/verbs.h"
#include "format/document.h"
#include "model/cluster.h"
#include "model/cluster_event.h"
#include "model/policy.h"
#include "model/workload.h"
#include "sim/simulator.h"

namespace muster::cli {

/// A cluster from a file, or the shape of one on the command line.
struct ClusterOptions {
  std::string file;      ///< cluster document
  std::string topology;  ///< Slurm's topology.conf
  std::string nodes;     ///< "302", "321x2,231x8"
  std::int32_t gpus_per_node = 8;
  std::string cpus_per_node;           ///< empty: 16 for each GPU
  std::string memory_per_node;         ///< empty: 128 GiB for each GPU
  std::string levels;                  ///< "spine=256,leaf=32"
  std::vector<std::string> bandwidth;  ///< "leaf=0.95"
};
void AddClusterOptions(CLI::App& app, ClusterOptions& options);
/// A cluster, and what its reader left out or assumed, for the report.
struct LoadedCluster : model::Cluster {
  std::vector<std::string> notes;
};
base::Checked<LoadedCluster> LoadCluster(const ClusterOptions& options);
/// "venus (40 nodes, 320 GPUs)".
std::string ClusterLabel(const model::Cluster& cluster);
std::int64_t TotalGpus(const model::Cluster& cluster);
/// GPUs of the largest node; 0 without any.
std::int32_t LargestNode(const model::Cluster& cluster);

struct TraceInput {
  std::string file;
  std::string format;
  std::vector<std::string> queues;
  bool one_queue = false;
  std::string from;
  std::string until;
  std::optional<std::int64_t> limit;
  bool time_limits = false;
  bool copied_estimates = false;
};
void AddTraceOptions(CLI::App& app, TraceInput& input);
/// `gpus_per_node`: how a flat GPU count becomes replicas.
base::Checked<model::Workload> LoadTrace(const TraceInput& input, std::int32_t gpus_per_node);

/// A policy file, and keys of it that are set on the command line ("placement.strategy=random"); as
/// it runs on `cluster`, or by itself where none is given.
base::Checked<model::Policy> LoadPolicy(const std::string& file,
                                        const std::vector<std::string>& settings,
                                        const model::Cluster* cluster);
/// "default", "strict.yaml", "strict.yaml with placement.strategy=random".
std::string PolicyLabel(const std::string& file, const std::vector<std::string>& settings);
void AddSettingOption(CLI::App& app, std::vector<std::string>& settings);

/// A CSV with the columns at, node and event: "2h,node-17,down". Empty path: none.
base::Checked<model::ClusterEvents> LoadEvents(const std::string& file);

/// What a run assumes about all jobs of a trace.
struct RunOptions {
  std::uint64_t seed = 1;
  std::string events;
  std::string until;
  std::string checkpoint_every;
  std::string stop_grace;
  std::string restart_cost;
  std::int64_t uplinks = 0;
  bool full_check = false;
  bool progress = false;
};
void AddRunOptions(CLI::App& app, RunOptions& options);
base::Checked<sim::SimulationOptions> LoadRunOptions(const RunOptions& options);

/// Shows how far a simulation is: one line that changes on a terminal, else, if `wanted`, a line
/// every few seconds.
class ProgressLine {
 public:
  ProgressLine(Streams& streams, bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What is being run, for the beginning of the line.
  void SetTitle(std::string title) { title_ = std::move(title); }
  std::function<void(const sim::Progress&)> Callback();

 private:
  void Show(const sim::Progress& progress);

  Streams& streams_;
  bool wanted_ = false;
  bool shown_ = false;
  std::string title_;
  std::chrono::steady_clock::time_point last_;
};

/// Writes `text` to a file, or to standard output where `path` is empty.
ExitCode WriteOutput(const std::string& path, std::string_view text, Streams& streams);

/// Declares `--format` with the names that `formats` lists, the first being the default.
void AddFormatOption(CLI::App& app, std::string& format, const std::vector<std::string>& formats);
void AddOutputOption(CLI::App& app, std::string& path);

/// Prints every fault to `err`, and what the caller is told.
ExitCode Fail(const base::Errors& errors, Streams& streams);
ExitCode Fail(const base::Error& error, Streams& streams);

/// An amount given to `option` as text; the error names the option. An empty text gives 0.
base::Result<base::Duration> ParseDurationOption(const std::string& text, std::string_view option);

}  // namespace muster::cli
