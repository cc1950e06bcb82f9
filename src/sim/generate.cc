// SPDX-License-Identifier: Apache-2.0
#include "sim/generate.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "base/units.h"
#include "sim/fixed_log.h"
#include "sim/scaled.h"

namespace muster::sim {
namespace {

constexpr std::int64_t kHourUs = 3'600'000'000;
constexpr std::int64_t kHoursPerDay = 24;

/// Index of a row drawn by `weight_of(row)`; the weights' sum must be positive.
template <class Rows, class WeightOf>
std::size_t DrawRow(const Rows& rows, WeightOf weight_of, base::Rng& rng) {
  std::int64_t total = 0;
  for (const auto& row : rows) total += weight_of(row);
  auto rest = static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(total)));
  std::size_t i = 0;
  while (rest >= weight_of(rows[i])) rest -= weight_of(rows[i++]);
  return i;
}

/// Simulated hours with more and with fewer arrivals: maps a uniform draw to a moment of [0, span).
class Clock {
 public:
  Clock(const std::array<std::int32_t, 24>& hours, std::int64_t span_us) : hours_(hours) {
    for (std::int64_t hour = 0; hour < kHoursPerDay; ++hour) day_ += Weight(hour) * kHourUs;
    total_ = span_us / (kHoursPerDay * kHourUs) * day_;
    std::int64_t rest_us = span_us % (kHoursPerDay * kHourUs);
    for (std::int64_t hour = 0; rest_us > 0; ++hour, rest_us -= kHourUs) {
      total_ += Weight(hour) * std::min(rest_us, kHourUs);
    }
  }
  base::Instant Draw(base::Rng& rng) const {
    const auto drawn = static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(total_)));
    std::int64_t hour = drawn / day_ * kHoursPerDay;
    std::int64_t rest = drawn % day_;
    for (; rest >= Weight(hour % kHoursPerDay) * kHourUs; ++hour)
      rest -= Weight(hour % kHoursPerDay) * kHourUs;
    const std::int64_t at_us = hour * kHourUs + rest / Weight(hour % kHoursPerDay);
    return {at_us / 1'000'000 * 1'000'000};  // traces tell whole seconds
  }

 private:
  std::int64_t Weight(std::int64_t hour) const { return hours_[static_cast<std::size_t>(hour)]; }

  const std::array<std::int32_t, 24>& hours_;
  std::int64_t day_ = 0;
  std::int64_t total_ = 0;
};

/// What users type: the next of these above a guess that is as wrong as on Philly (the noise model
/// of QSSF: 10 % of the jobs within 10 %, 40 % within 50 %, 20 % within 100 %, 20 % within 10
/// times, 10 % within 100 times).
base::Duration DrawEstimate(base::Duration duration, base::Rng& rng) {
  struct Error {
    std::int32_t weight, least_permille, most_permille;
  };
  constexpr Error kErrors[] = {
      {10, 0, 100}, {40, 100, 500}, {20, 500, 1000}, {20, 1000, 10'000}, {10, 10'000, 100'000}};
  constexpr std::int64_t kRoundMinutes[] = {5,   10,   30,   60,   120,    240,    480,
                                            720, 1440, 2880, 4320, 10'080, 20'160, 43'200};
  const Error& error = kErrors[DrawRow(
      kErrors, [](const Error& row) { return row.weight; }, rng)];
  const auto width = static_cast<std::uint64_t>(error.most_permille - error.least_permille + 1);
  const std::int64_t permille = error.least_permille + static_cast<std::int64_t>(rng.Below(width));
  const bool over = rng.Below(2) == 0;
  const std::int64_t guess = over ? Scaled(duration.value(), 1000 + permille, 1000)
                                  : Scaled(duration.value(), 1000, 1000 + permille);
  for (const std::int64_t minutes : kRoundMinutes) {
    if (base::Minutes(minutes).value() >= guess) return base::Minutes(minutes);
  }
  return base::Minutes(kRoundMinutes[std::size(kRoundMinutes) - 1]);
}

/// Equal replicas, each at most a node: the largest size that divides the job.
std::int32_t ReplicaGpus(std::int32_t gpus, std::int32_t per_node) {
  std::int32_t size = std::min(gpus, per_node);
  while (gpus % size != 0) --size;
  return size;
}

model::TraceEnd DrawEnd(const Profile& profile, base::Rng& rng) {
  const auto drawn = static_cast<std::int32_t>(rng.Below(1000));
  if (drawn < profile.failed_permille) return model::TraceEnd::kFailed;
  if (drawn < profile.failed_permille + profile.cancelled_permille)
    return model::TraceEnd::kCancelled;
  return model::TraceEnd::kCompleted;
}

/// Jobs of a profile that fit the cluster, one after the other, bursts included; without times of
/// submission.
class Drawer {
 public:
  Drawer(const Profile& profile, const GenerateOptions& options)
      : profile_(profile), options_(options) {
    for (const ProfileRow& row : profile.rows) {
      for (const SizeWeight& size : row.sizes) {
        if (size.gpus <= options.cluster_gpus) choices_.push_back({&row, size});
      }
    }
    MUSTER_CHECK(!choices_.empty());
  }

  std::size_t DrawBurst(base::Rng& rng) const {
    return static_cast<std::size_t>(
        profile_
            .bursts[DrawRow(
                profile_.bursts, [](const BurstWeight& row) { return row.weight; }, rng)]
            .jobs);
  }
  /// The job that a burst repeats: who, how large.
  model::TraceJob DrawKind(base::Rng& rng) {
    const Choice& choice = choices_[DrawRow(
        choices_, [](const Choice& row) { return row.size.weight; }, rng)];
    row_ = choice.row;
    model::TraceJob job;
    // Few users submit most: user k with weight 1/k.
    std::vector<std::int64_t> weights(static_cast<std::size_t>(profile_.users));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = 1'000'000 / static_cast<std::int64_t>(i + 1);
    job.user = base::Format("user-{:02}",
                            1 + DrawRow(
                                    weights, [](std::int64_t weight) { return weight; }, rng));
    const std::int32_t per_replica = ReplicaGpus(choice.size.gpus, options_.gpus_per_node);
    job.replicas = choice.size.gpus / per_replica;
    job.gpu = base::MilliGpu::Of(1000) * per_replica;
    job.comm_fraction = base::Permille::Of(choice.row->comm_permille);
    return job;
  }
  /// Another job of that kind.
  model::TraceJob DrawJob(model::TraceJob job, base::Rng& rng) const {
    job.duration = DrawDuration(row_->seconds, rng);
    if (options_.estimates) job.estimate = DrawEstimate(job.duration, rng);
    job.end = DrawEnd(profile_, rng);
    return job;
  }

 private:
  struct Choice {
    const ProfileRow* row;
    SizeWeight size;
  };
  const Profile& profile_;
  const GenerateOptions& options_;
  std::vector<Choice> choices_;
  const ProfileRow* row_ = nullptr;
};

}  // namespace

base::Duration DrawDuration(const DurationQuantiles& seconds, base::Rng& rng) {
  constexpr std::int64_t kSteps = 1'000'000;
  const auto drawn = static_cast<std::int64_t>(rng.Below(kSteps));
  std::size_t i = 1;
  while (drawn >= std::int64_t{kQuantilePermille[i]} * 1000) ++i;
  const std::int64_t from = std::int64_t{kQuantilePermille[i - 1]} * 1000;
  const std::int64_t to = std::int64_t{kQuantilePermille[i]} * 1000;
  const auto log_us = [&](std::size_t at) {
    return Log2(static_cast<std::uint64_t>(seconds[at]) * 1'000'000);
  };
  const std::int64_t log =
      log_us(i - 1) + (log_us(i) - log_us(i - 1)) * (drawn - from) / (to - from);
  const auto us = static_cast<std::int64_t>(Exp2(log));
  return base::Microseconds(std::max<std::int64_t>(1000, us / 1000 * 1000));  // whole milliseconds
}

base::Result<model::Workload> TryGenerate(const Profile& profile, const GenerateOptions& options) {
  MUSTER_CHECK(options.cluster_gpus > 0 && options.load_permille > 0 && options.gpus_per_node > 0);
  base::Rng rng(options.seed);
  Drawer drawer(profile, options);
  model::Workload workload;
  workload.source =
      base::Format("generated: {}, {} jobs, seed {}", profile.name, options.jobs, options.seed);
  std::vector<std::size_t> burst_sizes;
  Wide gpu_us = 0;
  const auto wanted = static_cast<std::size_t>(options.jobs);
  while (workload.jobs.size() < wanted) {
    const std::size_t burst = std::min(drawer.DrawBurst(rng), wanted - workload.jobs.size());
    const model::TraceJob kind = drawer.DrawKind(rng);
    burst_sizes.push_back(burst);
    for (std::size_t i = 0; i < burst; ++i) {
      const model::TraceJob& job = workload.jobs.emplace_back(drawer.DrawJob(kind, rng));
      gpu_us += Wide{job.gpu.value()} * job.replicas * job.duration.value() / 1000;
    }
  }
  const Wide span_us = gpu_us * 1000 / (Wide{options.cluster_gpus} * options.load_permille);
  if (span_us > kLongestSpan.value()) {
    return base::Error{
        base::ErrorCode::kInvalid,
        base::Format("{} jobs at a load of {} on {} GPUs would arrive over more than 100 years; "
                     "give fewer jobs, a higher load or more GPUs",
                     options.jobs, base::FormatFraction(base::Permille::Of(options.load_permille)),
                     options.cluster_gpus),
        "--load"};
  }
  const Clock clock(profile.hours,
                    std::max<std::int64_t>(1'000'000, static_cast<std::int64_t>(span_us)));
  std::size_t next = 0;
  for (const std::size_t burst : burst_sizes) {
    const base::Instant at = clock.Draw(rng);
    for (std::size_t i = 0; i < burst; ++i) workload.jobs[next++].submit = at;
  }
  std::ranges::stable_sort(workload.jobs, {}, &model::TraceJob::submit);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.jobs[i].name = base::Format("{}-{:05}", profile.name, i + 1);
  }
  return workload;
}

model::Workload Generate(const Profile& profile, const GenerateOptions& options) {
  auto workload = TryGenerate(profile, options);
  MUSTER_CHECK(workload.has_value());
  return *std::move(workload);
}

}  // namespace muster::sim
