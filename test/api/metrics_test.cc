// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/strings.h"
#include "test/api/api_site.h"

namespace muster::api {
namespace {

using base::Format;
using testing::HasSubstr;
using testing::Not;

std::string Scrape(ApiSite& api) {
  const HttpResponse response = api.Call({.target = "/metrics"});
  EXPECT_EQ(response.status, 200);
  return response.body;
}

TEST(Metrics, ShowWhatIsGoingOn) {
  ApiSite api;
  const model::JobId job = api.Submit(server::Job(2, 8));
  api.Submit(server::Job(9, 8));
  api.Run(job);
  const std::string text = Scrape(api);
  for (const char* line : {
           "muster_ready 1\n",
           "muster_jobs{state=\"running\"} 1\n",
           "muster_jobs{state=\"waiting\"} 1\n",
           "muster_queue_depth{queue=\"default\",reason=\"waiting\"} 1\n",
           "muster_queue_depth{queue=\"default\",reason=\"held\"} 0\n",
           "muster_queue_gpus{queue=\"default\"} 16\n",
           "muster_devices{state=\"allocated\",model=\"H100\"} 16\n",
           "muster_devices{state=\"idle\",model=\"H100\"} 16\n",
           "muster_nodes{state=\"ready\"} 4\n",
           "muster_starts_paused 0\n",
           "muster_queue_wait_seconds_count{queue=\"default\"} 1\n",
           "muster_queue_wait_seconds_bucket{queue=\"default\",le=\"+Inf\"} 1\n",
           "muster_job_ends_total{end=\"failed\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, HasSubstr("muster_lost_gpu_seconds_total 0\n"));
  api.site.clock.now = api.site.clock.now + base::Hours(1);
  api.End(job, {.kind = driver::RankExit::Kind::kExited, .code = 1});
  const std::string after = Scrape(api);
  EXPECT_THAT(after, HasSubstr("muster_job_ends_total{end=\"failed\"} 1\n"));
  EXPECT_THAT(after, HasSubstr("muster_lost_gpu_seconds_total 57600")) << "16 GPUs for an hour";
}

TEST(Metrics, HistogramsAddUp) {
  server::Picture picture = *ApiSite().Look();
  server::Counters counters;
  counters.decide.Add(base::Microseconds(500));
  counters.decide.Add(base::Microseconds(50'000));
  counters.decide.Add(base::Hours(100));
  picture.counters = std::make_shared<const server::Counters>(counters);
  const std::string text = MetricsText(picture, "v");
  for (const char* line :
       {"muster_decide_seconds_bucket{le=\"0.001\"} 1\n",
        "muster_decide_seconds_bucket{le=\"0.01\"} 1\n",
        "muster_decide_seconds_bucket{le=\"0.1\"} 2\n",
        "muster_decide_seconds_bucket{le=\"86400\"} 2\n",
        "muster_decide_seconds_bucket{le=\"+Inf\"} 3\n", "muster_decide_seconds_sum 360000.0505\n",
        "muster_decide_seconds_count 3\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Metrics, LabelValuesAreEscaped) {
  ApiSite api([](server::Site& site) { site.driver.nodes[0].devices[0].model = "a\"b\\c\nd"; });
  EXPECT_THAT(Scrape(api), HasSubstr("{state=\"idle\",model=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Metrics, NoLabelHoldsAJobOrAUser) {
  ApiSite api;
  api.Submit(server::Job(1, 8, "my-secret-name"), "zacharias");
  const std::string text = Scrape(api);
  EXPECT_THAT(text, Not(HasSubstr("my-secret-name")));
  EXPECT_THAT(text, Not(HasSubstr("zacharias")));
  for (const Metric& metric : Metrics()) {
    for (const std::string_view label : base::Split(metric.labels, ','))
      EXPECT_TRUE(label != "job" && label != "user") << metric.name;
  }
}

/// The name of the family that a sample belongs to.
std::string FamilyOf(std::string name, std::string_view type) {
  if (type != "histogram") return name;
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

TEST(Metrics, EveryFamilyIsDescribedOnceAndEverySampleIsOfItsFamily) {
  ApiSite api;
  api.Run(api.Submit(server::Job(1, 8)));
  std::size_t next = 0;
  std::set<std::string> samples;
  const std::string text = Scrape(api);
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with("# HELP ")) {
      ASSERT_LT(next, Metrics().size());
      const Metric& metric = Metrics()[next++];
      EXPECT_EQ(line, Format("# HELP {} {}", metric.name, metric.help));
      continue;
    }
    const Metric& metric = Metrics()[next - 1];
    if (line.starts_with("# TYPE ")) {
      EXPECT_EQ(line, Format("# TYPE {} {}", metric.name, metric.type));
      continue;
    }
    const std::size_t end = line.find_first_of("{ ");
    EXPECT_EQ(FamilyOf(std::string(line.substr(0, end)), metric.type), metric.name);
    EXPECT_TRUE(samples.insert(std::string(line.substr(0, line.rfind(' ')))).second) << line;
    if (metric.type == "counter") {
      EXPECT_TRUE(metric.name.ends_with("_total")) << metric.name;
    }
  }
  EXPECT_EQ(next, Metrics().size());
}

/// deploy/alerts/metrics.txt is what test/tools/alerts_test.py holds the alert rules against.
TEST(Metrics, TheListForTheAlertsIsUpToDate) {
  std::string list;
  for (const Metric& metric : Metrics())
    list += Format("{} {} {}\n", metric.name, metric.type, metric.labels);
  const std::string path = std::string(MUSTER_SOURCE_DIR) + "/deploy/alerts/metrics.txt";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << list;
  std::ifstream file(path);
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_EQ(kept.str(), list) << "run with UPDATE_GOLDEN=1";
}

TEST(Metrics, TheReferenceHasThemAll) {
  const std::string text = MetricsReference();
  for (const Metric& metric : Metrics())
    EXPECT_THAT(text, HasSubstr(Format("| `{}` |", metric.name)));
}

}  // namespace
}  // namespace muster::api
