// SPDX-License-Identifier: Apache-2.0
// The live server: from a request on a socket to its answer, which is on the disk by then.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/live_server.h"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::duration<double, std::milli>;

const api::Client::Headers kJson = {{"Content-Type", "application/json"}};

double Percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double ResidentMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}

/// What one fsync of a small append costs on this disk, at the same time of day.
double FsyncP99Ms(const DiskFolder& folder) {
  const int file = open((folder.path() + "/fsync").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  std::vector<double> took;
  const std::string block(4096, 'x');
  for (int i = 0; i < 500; ++i) {
    const auto began = Clock::now();
    if (write(file, block.data(), block.size()) < 0) break;
    fdatasync(file);
    took.push_back(Millis(Clock::now() - began).count());
  }
  close(file);
  return Percentile(took, 0.99);
}

/// Submits until `total` are acknowledged, each connection its next as soon as the last is
/// answered.
double SubmitClosedLoop(LiveServer& live, int connections, int total, const std::string& body) {
  std::atomic<int> next = 0;
  std::atomic<int> acknowledged = 0;
  const auto began = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < connections; ++i) {
    threads.emplace_back([&] {
      const auto client = live.Connect();
      while (next++ < total) {
        const auto answer = client->Call("POST", "/v1/jobs", body, kJson);
        if (answer && answer->status == 201) ++acknowledged;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return acknowledged / std::chrono::duration<double>(Clock::now() - began).count();
}

void SubmitClosed(benchmark::State& state) {
  const auto connections = static_cast<int>(state.range(0));
  const DiskFolder folder;
  LiveServer live(folder);
  double per_second = 0;
  for (auto _ : state) per_second = SubmitClosedLoop(live, connections, 20'000, JobBody());
  state.counters["submits_per_s"] = per_second;
}
BENCHMARK(SubmitClosed)
    ->Name("Submit/closed_loop/jobs:20000/connections")
    ->Arg(32)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Sends at fixed times whatever the answers do, so that a stall shows in all that come after it.
void SubmitOpen(benchmark::State& state) {
  constexpr int kConnections = 64;
  const auto rate = static_cast<int>(state.range(0));
  const int total = rate * 20;
  const DiskFolder folder;
  const double fsync_ms = FsyncP99Ms(folder);
  LiveServer live(folder);
  const std::string body = JobBody();
  std::vector<std::vector<double>> took(kConnections);
  std::atomic<int> failed = 0;
  for (auto _ : state) {
    const auto began = Clock::now();
    std::vector<std::thread> threads;
    for (int c = 0; c < kConnections; ++c) {
      threads.emplace_back([&, c] {
        const auto client = live.Connect();
        for (int i = c; i < total; i += kConnections) {
          const auto due = began + std::chrono::microseconds(std::int64_t{1'000'000} * i / rate);
          std::this_thread::sleep_until(due);
          const auto answer = client->Call("POST", "/v1/jobs", body, kJson);
          if (!answer || answer->status != 201) ++failed;
          took[static_cast<std::size_t>(c)].push_back(Millis(Clock::now() - due).count());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<double> all;
  for (const auto& each : took) all.insert(all.end(), each.begin(), each.end());
  const double p99_ms = Percentile(all, 0.99);
  state.counters["p50_ms"] = Percentile(all, 0.5);
  state.counters["p99_ms"] = p99_ms;
  state.counters["fsync_p99_ms"] = fsync_ms;
  state.counters["over_fsync_ms"] = p99_ms - fsync_ms;
  state.counters["failed"] = failed.load();
}
BENCHMARK(SubmitOpen)
    ->Name("Submit/open_loop/seconds:20/rate")
    ->Arg(1000)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// 100,000 jobs of 100 users, posted straight to the server.
void Fill(server::Server& server, int jobs) {
  std::atomic<int> answered = 0;
  model::JobSpec spec{.name = "bench"};
  spec.request.groups = {{.name = "worker", .replicas = 8, .min_replicas = 8}};
  spec.request.groups.front().shape.gpu = base::MilliGpu::Of(8000);
  spec.commands = {{.command = {"python3", "train.py", "--config", "configs/large.yaml"},
                    .env = {{"NCCL_DEBUG", "WARN"}, {"OMP_NUM_THREADS", "8"}}}};
  constexpr int kOfOne = 1000;
  for (int first = 0; first < jobs; first += kOfOne) {
    const server::Caller caller{
        .account = {1000, 1000, "user-" + std::to_string(first / kOfOne % 100)},
        .role = server::Role::kUser,
        .from = "bench"};
    server.Post({caller, server::SubmitJobs{std::vector<model::JobSpec>(kOfOne, spec), ""}},
                [&](const base::Result<server::Reply>& reply) {
                  MUSTER_CHECK(reply.has_value());
                  answered += kOfOne;
                  answered.notify_one();
                });
  }
  for (int now = answered; now < jobs; now = answered) answered.wait(now);
}

void Restart(benchmark::State& state) {
  const auto jobs = static_cast<int>(state.range(0));
  const DiskFolder folder;
  const double before_mb = ResidentMegabytes();
  double full_mb = 0;
  {
    LiveServer live(folder);
    Fill(live.server(), jobs);
    full_mb = ResidentMegabytes();
    std::filesystem::copy(folder.path() + "/journal.db", folder.path() + "/killed.db");
    std::filesystem::copy(folder.path() + "/journal.db-wal", folder.path() + "/killed.db-wal");
  }
  // What is measured is a start on what kill -9 leaves, not after a clean end.
  std::filesystem::rename(folder.path() + "/killed.db", folder.path() + "/journal.db");
  std::filesystem::rename(folder.path() + "/killed.db-wal", folder.path() + "/journal.db-wal");
  double seconds = 0;
  for (auto _ : state) {
    const auto began = Clock::now();
    LiveServer live(folder);
    const auto answer = live.Connect()->Call("GET", "/v1/jobs?limit=1");
    MUSTER_CHECK(answer && answer->status == 200);
    seconds = std::chrono::duration<double>(Clock::now() - began).count();
    MUSTER_CHECK(live.server().Look()->view.job_count() == static_cast<std::uint32_t>(jobs) + 1);
  }
  state.counters["seconds"] = seconds;
  state.counters["resident_MB"] = full_mb;
  state.counters["bytes_per_job"] = (full_mb - before_mb) * 1024 * 1024 / jobs;
}
BENCHMARK(Restart)
    ->Name("Restart/after_kill/pending_jobs")
    ->Arg(100'000)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::bench
