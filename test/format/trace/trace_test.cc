// SPDX-License-Identifier: Apache-2.0
// What all formats share: recognition, options, order, and the handling of odd files.
#include "format/trace/trace.h"

#include "base/strings.h"
#include "test/format/trace/trace_testing.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Sample {
  std::string_view format;
  std::string_view text;
};

constexpr Sample kSamples[] = {
    {"muster", "submit,duration,gpu\n0,60,1\n"},
    {"swf", "; a log\n1 0 -1 60 4 -1 -1 4 -1 -1 1 1 1 -1 1 -1 -1 -1\n"},
    {"philly",
     "timestamp,duration,num_gpus,gpu_time,cluster\n2020-01-01 00:00:00,60.0,1,60.0,vc1\n"},
    {"helios",
     "job_id,user,tenant,class,submit_time,num_chips,chip_type,num_nodes,duration_s,"
     "walltime_limit_s,final_status\n7,ann,vc1,x,1000000,1,,1,60.0,60.0,COMPLETED\n"},
    {"muri",
     "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
     "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
     "0,1,0,100,net,8,60000,0,600,1,2,0.5,1\n"},
    {"acme",
     "job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,"
     "gpu_workers,ps,gpu_per_worker,cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,"
     "profiled_network\n0,0.0,120,0.5,0.25,1,0,1.0,12.5,15.0,0.5,500\n"},
};

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out += text;
}

TEST(TraceTest, EveryFormatHasASampleHereAndOnlyItsOwnReaderTakesIt) {
  ASSERT_EQ(TraceFormats().size(), std::size(kSamples));
  for (std::size_t i = 0; i < std::size(kSamples); ++i) {
    EXPECT_EQ(TraceFormats()[i].name, kSamples[i].format);
    EXPECT_FALSE(TraceFormats()[i].summary.empty());
    for (const TraceFormat& format : TraceFormats()) {
      EXPECT_EQ(format.looks_like(kSamples[i].text), format.name == kSamples[i].format)
          << kSamples[i].format << " as " << format.name;
    }
  }
}

TEST(TraceTest, EverySampleIsOneMinuteAndNamesItsFile) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.format);
    const model::Workload workload = MustRead(sample.text);
    ASSERT_EQ(workload.jobs.size(), 1U);
    EXPECT_EQ(workload.source, "t.csv");
    EXPECT_EQ(workload.jobs[0].duration, base::Minutes(1));
  }
}

TEST(TraceTest, LineEndsAndTheLastOneDoNotMatter) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.format);
    const model::Workload plain = MustRead(sample.text);
    EXPECT_EQ(MustRead(Replaced(sample.text, "\n", "\r\n")).jobs, plain.jobs);
    EXPECT_EQ(MustRead(sample.text.substr(0, sample.text.size() - 1)).jobs, plain.jobs);
    EXPECT_EQ(MustRead(Replaced(sample.text, "\n", "\n\n  \n")).jobs, plain.jobs);
    EXPECT_EQ(MustRead("\xEF\xBB\xBF" + std::string(sample.text)).jobs, plain.jobs);
  }
}

TEST(TraceTest, ZeroDurationsAreKept) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.format);
    const bool iterations = sample.format == "acme";
    const std::string text = iterations                ? Replaced(sample.text, "120", "0")
                             : sample.format == "muri" ? Replaced(sample.text, "60000", "0")
                                                       : Replaced(sample.text, "60", "0");
    const model::Workload workload = MustRead(text);
    ASSERT_EQ(workload.jobs.size(), 1U);
    EXPECT_TRUE(workload.jobs[0].duration.IsZero());
  }
}

TEST(TraceTest, HeaderOnlyIsAFault) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.format);
    const std::string_view header = sample.text.substr(0, sample.text.find('\n') + 1);
    EXPECT_THAT(FaultsOf(header), ElementsAre("t.csv: no jobs"));
  }
}

TEST(TraceTest, EmptyFile) {
  const std::string fault = "t.csv: the file is empty; a trace has at least a header";
  EXPECT_THAT(FaultsOf(""), ElementsAre(fault));
  EXPECT_THAT(FaultsOf(" \r\n\n"), ElementsAre(fault));
  EXPECT_THAT(FaultsOf("", {.format = "swf"}), ElementsAre(fault));
  EXPECT_THAT(FaultsOf("", {.format = "muster"}), ElementsAre(fault));
}

TEST(TraceTest, UnknownFormats) {
  EXPECT_THAT(FaultsOf("when,long\n1,2\n"),
              ElementsAre("t.csv: the first line does not tell the format; name one of muster, "
                          "swf, philly, helios, muri, acme"));
  EXPECT_THAT(FaultsOf("", {.format = "phily"}),
              ElementsAre("unknown trace format \"phily\"; did you mean philly? The formats are "
                          "muster, swf, philly, helios, muri, acme"));
  EXPECT_THAT(FaultsOf("", {.format = "gavel"}),
              ElementsAre("unknown trace format \"gavel\". The formats are muster, swf, philly, "
                          "helios, muri, acme"));
}

TEST(TraceTest, ANamedFormatIsNotGuessed) {
  EXPECT_THAT(FaultsOf("timestamp,duration\n", {.format = "philly"}),
              ElementsAre("t.csv:1: num_gpus: the header has no such column, and it is needed"));
}

TEST(TraceTest, WrongOptions) {
  EXPECT_THAT(FaultsOf("", {.gpus_per_node = 0, .cpus_per_node = -1, .limit = -1}),
              ElementsAre("trace options: 0 GPUs per node; give 1 to 64",
                          "trace options: -1 CPUs per node; give 0 to 65536",
                          "trace options: a limit of -1 jobs; give 0 or more"));
  EXPECT_THAT(FaultsOf("", {.from = base::Hours(2), .until = base::Hours(1)}),
              ElementsAre("trace options: the window ends at 1h, not after its begin 2h"));
}

constexpr std::string_view kUnsorted =
    "submit,duration,gpu,name,queue\n"
    "30,1,1,c,red\n10,1,1,a,blue\n20,1,1,b1,red\n20,1,1,b2,blue\n";

TEST(TraceTest, SortsBySubmitTimeAndKeepsFileOrderOfEqualTimes) {
  const model::Workload workload = MustRead(kUnsorted);
  EXPECT_THAT(NamesOf(workload), ElementsAre("a", "b1", "b2", "c"));
  EXPECT_THAT(workload.notes, ElementsAre("jobs were not in submit order; sorted"));
}

TEST(TraceTest, WithoutSortingDisorderIsAFault) {
  EXPECT_THAT(
      FaultsOf(kUnsorted, {.sort = false}),
      ElementsAre(
          "t.csv: job \"a\", number 2, was submitted before the one above it; sort the trace"));
}

TEST(TraceTest, QueuesAreChosenByName) {
  const model::Workload workload = MustRead(kUnsorted, {.queues = {"red"}});
  EXPECT_THAT(NamesOf(workload), ElementsAre("b1", "c"));
  EXPECT_THAT(workload.notes, ElementsAre("jobs were not in submit order; sorted",
                                          "2 of 4 jobs are of the wanted queues"));
  EXPECT_EQ(workload.jobs[0].queue, "red");
  EXPECT_THAT(FaultsOf(kUnsorted, {.queues = {"red", "rad"}}),
              ElementsAre("t.csv: no job is of queue \"rad\"; the queues are blue, red"));
}

TEST(TraceTest, QueuesCanBeForgotten) {
  const model::Workload workload = MustRead(kUnsorted, {.queues = {"red"}, .one_queue = true});
  for (const model::TraceJob& job : workload.jobs) EXPECT_EQ(job.queue, "");
  EXPECT_EQ(workload.jobs.size(), 2U);
}

TEST(TraceTest, TheWindowBecomesTheTrace) {
  const model::Workload workload =
      MustRead(kUnsorted, {.from = base::Seconds(20), .until = base::Seconds(30)});
  EXPECT_THAT(NamesOf(workload), ElementsAre("b1", "b2"));
  EXPECT_EQ(workload.jobs[0].submit.us, 0);
  EXPECT_EQ(workload.notes.back(), "2 of 4 jobs are in the time window");
}

TEST(TraceTest, TheLimitCountsBySubmitTime) {
  const model::Workload workload = MustRead(kUnsorted, {.limit = 2});
  EXPECT_THAT(NamesOf(workload), ElementsAre("a", "b1"));
  EXPECT_EQ(workload.notes.back(), "the first 2 of 4 jobs");
  EXPECT_EQ(MustRead(kUnsorted, {.limit = 4}).jobs.size(), 4U);
}

TEST(TraceTest, StopsAfterTwentyFaults) {
  std::string text = "submit,duration,gpu\n";
  for (int i = 0; i < 20; ++i) text += "0,nan,1\n";
  const std::vector<std::string> twenty = FaultsOf(text);
  ASSERT_EQ(twenty.size(), 20U);
  EXPECT_EQ(twenty.back(),
            "t.csv:21: duration: \"nan\" is not a duration (like 90s, 10m, 1h30m or 2d)");
  const std::vector<std::string> more = FaultsOf(text + "0,nan,1\n0,nan,1\n");
  ASSERT_EQ(more.size(), 21U);
  EXPECT_EQ(more.back(), "t.csv: and more; reading stopped after 20 faults");
}

TEST(TraceTest, QuotedValues) {
  const model::Workload workload = MustRead(
      "submit,duration,gpu,name,user\n"
      "0,1,1,\"a, b\",\"say \"\"hi\"\"\"\n"
      "0,1,1, \"two\nlines\" ,\"\"\n"
      "0,1,1,it\"s,x y\n");
  ASSERT_EQ(workload.jobs.size(), 3U);
  EXPECT_EQ(workload.jobs[0].name, "a, b");
  EXPECT_EQ(workload.jobs[0].user, "say \"hi\"");
  EXPECT_EQ(workload.jobs[1].name, "two\nlines");
  EXPECT_EQ(workload.jobs[1].user, "");
  EXPECT_EQ(workload.jobs[2].name, "it\"s");
}

TEST(TraceTest, WrongCsv) {
  const std::string head = "# a comment\nsubmit,duration,gpu,name\n";
  ExpectFaults({
      {"open quote",
       head + "0,1,1,\"x\n0,1,1,y\n",
       {"t.csv:3: a value opens with a quote that is never closed; add the second quote"}},
      {"text after quote",
       head + "0,1,1,\"x\ny\"z\n",
       {"t.csv:4: text follows a closing quote; write a quote inside a value as \"\""}},
      {"too few and too many",
       head + "0,1,1\n0,1,1,a,b\n",
       {"t.csv:3: 3 values, but the header has 4 columns",
        "t.csv:4: 5 values, but the header has 4 columns"}},
      {"column twice",
       "submit,duration,gpu,gpu\n",
       {"t.csv:1: gpu: the header has this column twice"}},
      {"line after a value of two lines",
       head + "0,1,1,\"x\ny\"\n0,x,1,a\n",
       {"t.csv:5: duration: \"x\" is not a duration (like 90s, 10m, 1h30m or 2d)"}},
  });
}

}  // namespace
}  // namespace muster::format
