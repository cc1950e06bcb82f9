// SPDX-License-Identifier: Apache-2.0
#include "sim/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/archive.h"
#include "base/hash.h"
#include "sim/fixed_log.h"

namespace muster::sim {
namespace {

TEST(FixedLog, AgreesWithTheMathLibrary) {
  for (const std::uint64_t x :
       {1ULL, 2ULL, 3ULL, 7ULL, 1000ULL, 123'456'789ULL, 4'628'226'000'000ULL}) {
    EXPECT_NEAR(static_cast<double>(Log2(x)) / 65536, std::log2(static_cast<double>(x)), 2e-5) << x;
    EXPECT_NEAR(static_cast<double>(Exp2(Log2(x))), static_cast<double>(x),
                1 + 2e-5 * static_cast<double>(x));
  }
}

double Seconds(base::Duration span) { return static_cast<double>(span.value()) / 1e6; }

std::int64_t Gpus(const model::TraceJob& job) { return job.gpu.value() / 1000 * job.replicas; }

double Quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

std::vector<double> Durations(const model::Workload& workload) {
  std::vector<double> out;
  for (const model::TraceJob& job : workload.jobs) out.push_back(Seconds(job.duration));
  return out;
}

// Published for the whole file: 93 % ask for one GPU; run times p50 1,144, p75 2,932, p90 11,265,
// mean 13,136 s. The rows that the quantiles are from have p50 1,035, p75 3,458, p90 11,297, mean
// 11,981 s.
TEST(Generate, PhillyHasThePublishedStatistics) {
  const auto workload =
      Generate(*FindProfile("philly"), {.jobs = 80'000, .seed = 1, .cluster_gpus = 2488});
  const auto seconds = Durations(workload);
  EXPECT_NEAR(Quantile(seconds, 0.5), 1035, 0.10 * 1035);
  EXPECT_NEAR(Quantile(seconds, 0.75), 2932, 0.20 * 2932);
  EXPECT_NEAR(Quantile(seconds, 0.9), 11'265, 0.15 * 11'265);
  double sum = 0;
  for (const double value : seconds) sum += value;
  EXPECT_NEAR(sum / 80'000, 13'136, 0.20 * 13'136);
  const auto of_one =
      std::ranges::count_if(workload.jobs, [](const auto& job) { return Gpus(job) == 1; });
  EXPECT_NEAR(static_cast<double>(of_one) / 80'000, 0.93, 0.01);
  EXPECT_LE(std::ranges::max(workload.jobs, {}, &Gpus).replicas, 16);
}

// 401 of 1,452 jobs of 128 GPUs, 330 of 8; median 80 s, p90 1,572 s, p99 151,679 s.
TEST(Generate, HeliosHasThePublishedStatistics) {
  const auto workload =
      Generate(*FindProfile("helios"), {.jobs = 50'000, .seed = 2, .cluster_gpus = 160});
  const auto seconds = Durations(workload);
  EXPECT_NEAR(Quantile(seconds, 0.5), 80, 16);
  EXPECT_NEAR(Quantile(seconds, 0.9), 1572, 0.35 * 1572);
  EXPECT_NEAR(Quantile(seconds, 0.99), 151'679, 0.2 * 151'679);
  std::map<std::int64_t, int> sizes;
  for (const auto& job : workload.jobs) ++sizes[Gpus(job)];
  EXPECT_NEAR(sizes[128] / 50'000.0, 401.0 / 1452, 0.01);
  EXPECT_NEAR(sizes[8] / 50'000.0, 330.0 / 1452, 0.01);
  EXPECT_EQ(sizes.rbegin()->first, 144);
}

// 240 completed jobs: median 340 s, p90 59,901 s, at most 625,740 s and 1,024 GPUs.
TEST(Generate, KalosHasThePublishedStatistics) {
  const auto workload =
      Generate(*FindProfile("kalos"), {.jobs = 20'000, .seed = 3, .cluster_gpus = 2400});
  const auto seconds = Durations(workload);
  EXPECT_NEAR(Quantile(seconds, 0.5), 340, 0.25 * 340);
  EXPECT_NEAR(Quantile(seconds, 0.9), 59'901, 0.3 * 59'901);
  EXPECT_LE(std::ranges::max(seconds), 625'740.1);
  EXPECT_EQ(Gpus(std::ranges::max(workload.jobs, {}, &Gpus)), 1024);
}

TEST(Generate, MeetsTheLoadThatWasAskedFor) {
  const GenerateOptions options{
      .jobs = 20'000, .seed = 4, .cluster_gpus = 512, .load_permille = 1200};
  const auto workload = Generate(*FindProfile("demo"), options);
  double gpu_seconds = 0;
  for (const auto& job : workload.jobs)
    gpu_seconds += static_cast<double>(Gpus(job)) * Seconds(job.duration);
  const double span = Seconds(workload.jobs.back().submit - workload.jobs.front().submit);
  EXPECT_NEAR(gpu_seconds / span / 512, 1.2, 0.05);
}

TEST(Generate, ArrivalsFollowTheHoursAndComeInBursts) {
  const Profile& profile = *FindProfile("helios");
  const auto workload = Generate(profile, {.jobs = 50'000, .seed = 5, .cluster_gpus = 160});
  ASSERT_TRUE(std::ranges::is_sorted(workload.jobs, {}, &model::TraceJob::submit));
  std::array<double, 24> hours{};
  int sharing = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto& job = workload.jobs[i];
    hours[static_cast<std::size_t>(job.submit.us / 3'600'000'000 % 24)] += 1;
    const bool as_before = i > 0 && workload.jobs[i - 1].submit == job.submit;
    const bool as_after = i + 1 < workload.jobs.size() && workload.jobs[i + 1].submit == job.submit;
    if (as_before || as_after) ++sharing;
  }
  EXPECT_NEAR(hours[10] / hours[3], 110.0 / 20, 1.0);
  EXPECT_NEAR(sharing / 50'000.0, 0.355, 0.05);  // published for Saturn
}

TEST(Generate, JobsAreWellFormedAndFitTheCluster) {
  for (const Profile& profile : Profiles()) {
    const GenerateOptions options{
        .jobs = 2000, .seed = 6, .cluster_gpus = 64, .gpus_per_node = 4, .estimates = true};
    const auto workload = Generate(profile, options);
    ASSERT_EQ(workload.jobs.size(), 2000U) << profile.name;
    std::set<std::string> names;
    for (const auto& job : workload.jobs) {
      names.insert(job.name);
      EXPECT_LE(Gpus(job), 64);
      EXPECT_LE(job.gpu.value(), 4000);
      EXPECT_GT(job.duration, base::Duration{});
      EXPECT_GT(job.estimate, base::Duration{});
    }
    EXPECT_EQ(names.size(), 2000U);
  }
}

// The span was cast to 64 bits unchecked: negative times, hours before the first.
TEST(Generate, RefusesALoadThatWouldTakeCenturies) {
  const Profile& profile = *FindProfile("philly");
  const auto refused =
      TryGenerate(profile, {.jobs = 100'000, .cluster_gpus = 1, .load_permille = 10});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--load");
  EXPECT_EQ(refused.error().message,
            "100000 jobs at a load of 0.01 on 1 GPUs would arrive over more than 100 years; give "
            "fewer jobs, a higher load or more GPUs");
  const auto taken = TryGenerate(profile, {.jobs = 2000, .cluster_gpus = 1, .load_permille = 100});
  ASSERT_TRUE(taken);
  for (const auto& job : taken->jobs) {
    EXPECT_GE(job.submit, base::Instant{});
    EXPECT_LE(job.submit, base::Instant{} + kLongestSpan);
  }
  EXPECT_GT(taken->jobs.back().submit, base::Instant{} + base::Hours(24 * 30));
}

/// Of every field that the generator fills; the same with every compiler and level of optimisation.
std::uint64_t HashOf(const model::Workload& workload) {
  base::Writer writer;
  for (const auto& job : workload.jobs) {
    writer(job.name, job.user, job.submit, job.duration, job.estimate, job.replicas, job.gpu,
           job.end);
  }
  base::StreamHash hash;
  hash.Add(writer.bytes());
  return hash.Value();
}

TEST(Generate, TheSameSeedGivesTheSameJobsEverywhere) {
  const GenerateOptions options{.jobs = 1000, .seed = 1, .cluster_gpus = 64, .estimates = true};
  const auto hash = HashOf(Generate(*FindProfile("demo"), options));
  EXPECT_EQ(hash, HashOf(Generate(*FindProfile("demo"), options)));
  EXPECT_EQ(hash, 12950055916567774057ULL);
}

}  // namespace
}  // namespace muster::sim
