// SPDX-License-Identifier: Apache-2.0
#include "cli/client/jobs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <ostream>
#include <thread>

#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/client/fields.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using format::Value;

constexpr std::string_view kEndedStates = "completed,failed,cancelled,timed-out";
constexpr std::size_t kReasonsAsked = 10;
constexpr auto kPollEvery = std::chrono::milliseconds(500);
/// How long a server may be away while somebody waits for a job.
constexpr auto kPatience = std::chrono::minutes(10);

/// 0: waits; 1: is on its way or runs; 2: has ended.
int Part(const Value& job) {
  const std::string state = TextAt(job, "state");
  if (state == "waiting" || state == "held") return 0;
  return HasEnded(state) ? 2 : 1;
}

/// Values of priority classes, as far as the server tells them.
std::map<std::string, std::int64_t, std::less<>> ClassValues(Connection& server) {
  std::map<std::string, std::int64_t, std::less<>> values;
  const auto policy = server.Get("/v1/policy");
  if (!policy) return values;
  if (const Value* classes = ValueAt(*policy, "document.priorityClasses")) {
    for (const format::Entry& entry : classes->entries)
      values[entry.key] = NumberAt(entry.value, "value");
  }
  return values;
}

void Sort(Connection& server, std::vector<Value>& jobs) {
  std::ranges::stable_sort(jobs, {}, &Part);
  const auto end = std::ranges::find_if(jobs, [](const Value& job) { return Part(job) != 0; });
  const bool one_class = std::all_of(jobs.begin(), end, [&](const Value& job) {
    return TextAt(job, "priorityClass") == TextAt(jobs.front(), "priorityClass");
  });
  if (one_class) return;
  const auto values = ClassValues(server);
  std::stable_sort(jobs.begin(), end, [&](const Value& a, const Value& b) {
    const auto value = [&](const Value& job) {
      const auto found = values.find(TextAt(job, "priorityClass"));
      return found == values.end() ? 0 : found->second;
    };
    return value(a) > value(b);
  });
}

}  // namespace

bool HasEnded(std::string_view state) {
  const auto ends = base::Split(kEndedStates, ',');
  return std::ranges::find(ends, state) != ends.end();
}

base::Checked<Value> ListJobs(Connection& server, const JobFilter& filter) {
  Query query = {{"state", filter.state.empty() ? "active" : filter.state},
                 {"user", filter.user},
                 {"queue", filter.queue},
                 {"name", filter.name},
                 {"label", filter.label}};
  query.emplace_back("order", "oldest");
  auto list = server.GetAll("/v1/jobs", query, "jobs", filter.limit);
  if (!list) return list;
  std::vector<Value>& jobs = list->entries.front().value.items;
  Sort(server, jobs);
  if (filter.ended == 0 || !filter.state.empty()) return list;
  query.front().second = kEndedStates;
  query.back().second = "newest";
  auto ended = server.GetAll("/v1/jobs", query, "jobs", filter.ended);
  if (!ended) return ended;
  std::vector<Value>& last = ended->entries.front().value.items;
  jobs.insert(jobs.end(), last.begin(), last.end());
  return list;
}

void AddReasons(Connection& server, Value& list) {
  std::size_t asked = 0;
  for (Value& job : list.entries.front().value.items) {
    if (asked == kReasonsAsked) return;
    if (TextAt(job, "state") != "waiting" || job.Find("reason") != nullptr) continue;
    ++asked;
    const auto why = server.Get(Format("/v1/jobs/{}/why", TextAt(job, "id")));
    if (!why) continue;
    if (const Value* reason = why->Find("reason")) job.Add("reason", *reason);
  }
}

base::Checked<Value> WaitForEnd(Connection& server, std::string_view job) {
  auto away_since = std::chrono::steady_clock::time_point::max();
  while (true) {
    auto document = server.Get(Format("/v1/jobs/{}", job));
    const auto now = std::chrono::steady_clock::now();
    if (document) {
      if (HasEnded(TextAt(*document, "state"))) return document;
      away_since = std::chrono::steady_clock::time_point::max();
    } else {
      away_since = std::min(away_since, now);
      const bool away = document.error().front().code == ErrorCode::kUnavailable;
      if (!away || now - away_since > kPatience) return document;
    }
    std::this_thread::sleep_for(kPollEvery);
  }
}

ExitCode ReportEnd(const Value& job, Streams& streams) {
  const std::string state = TextAt(job, "state");
  const std::vector<Value>& attempts = ItemsAt(job, "attempts");
  const std::string failure = attempts.empty() ? "" : ShownAt(attempts.back(), "failure.text");
  streams.err << Format("job {} {}{}\n", ShownAt(job, "id"), base::Printable(state),
                        failure.empty() ? "" : ": " + failure);
  return state == "completed" ? ExitCode::kDone : ExitCode::kFailed;
}

base::Result<std::string> ParseJobNumber(const std::string& text) {
  const auto number = base::ParseCount(text);
  if (number && *number >= 1 && *number < UINT32_MAX) return Format("{}", *number);
  return Error{ErrorCode::kInvalid, Format("{} is no number of a job", base::Quote(text)), "--job"};
}

}  // namespace muster::cli
