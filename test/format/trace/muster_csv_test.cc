// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "format/file.h"
#include "test/format/trace/trace_testing.h"

namespace muster::format {
namespace {

using ::testing::ElementsAre;

TEST(MusterTraceTest, EveryColumn) {
  const model::Workload workload = MustRead(
      "end,wait,time_limit,estimate,comm_fraction,required,model,memory,cpu,gpu,min_replicas,"
      "replicas,class,queue,user,name,duration,submit\n"
      "failed,5m,2d,1h30m,20%,leaf,H100,1.5Ti,96,8,2,4,high,research/vision,ann,train,1.5h,0.25\n");
  ASSERT_EQ(workload.jobs.size(), 1U);
  const model::TraceJob expected{
      .name = "train",
      .user = "ann",
      .queue = "research/vision",
      .priority_class = "high",
      .submit = base::Instant{250'000},
      .duration = base::Minutes(90),
      .estimate = base::Minutes(90),
      .time_limit = base::Hours(48),
      .replicas = 4,
      .min_replicas = 2,
      .gpu = base::MilliGpu::Of(8000),
      .cpu = base::MilliCpu::Of(96'000),
      .memory = base::Bytes::Of(3LL << 39),
      .model = "H100",
      .required = "leaf",
      .comm_fraction = base::Permille::Of(200),
      .wait = base::Minutes(5),
      .has_wait = true,
      .end = model::TraceEnd::kFailed,
  };
  EXPECT_EQ(workload.jobs[0], expected);
}

TEST(MusterTraceTest, DefaultsOfOptionalColumns) {
  const model::Workload workload =
      MustRead("submit,duration,gpu,replicas,cpu\n0,60,2,,\n1s,1m,,,2\n");
  ASSERT_EQ(workload.jobs.size(), 2U);
  const model::TraceJob expected{
      .name = "1", .duration = base::Minutes(1), .gpu = base::MilliGpu::Of(2000)};
  EXPECT_EQ(workload.jobs[0], expected);
  EXPECT_EQ(workload.jobs[1].name, "2");
  EXPECT_EQ(workload.jobs[1].submit.us, 1'000'000);
  EXPECT_EQ(workload.jobs[1].cpu.value(), 2000);
}

TEST(MusterTraceTest, TheExampleInTheDocumentationReads) {
  const auto page = ReadFile(MUSTER_SOURCE_DIR "/docs/formats/trace.md");
  ASSERT_TRUE(page.has_value());
  constexpr std::string_view kFence = "```csv\n";
  const std::size_t start = page->find(kFence) + kFence.size();
  const model::Workload workload = MustRead(page->substr(start, page->find("```", start) - start));
  EXPECT_THAT(NamesOf(workload), ElementsAre("llama-7b", "resnet", "notebook", "tokenize"));
  EXPECT_TRUE(workload.notes.empty());
}

struct StepCase {
  std::string_view name;
  std::string_view values;  // comp, overlap, comm
  std::int64_t permille;
};

TEST(MusterTraceTest, StepPartsBecomeTheExposedFraction) {
  const StepCase cases[] = {
      {"no overlap", "800ms,0,200ms", 200}, {"half hidden", "800ms,50%,400ms", 200},
      {"all hidden", "1,1,1", 0},           {"all communication", "0,0,1", 1000},
      {"rounds to nearest", "2,0,1", 333},  {"rounds up", "1,0,2", 667},
      {"a step of no time", "0,0,0", 0},    {"largest times", "36500d,0,36500d", 500},
  };
  for (const StepCase& c : cases) {
    SCOPED_TRACE(c.name);
    const model::Workload workload =
        MustRead("submit,duration,gpu,comp,overlap,comm\n0,1,1," + std::string(c.values) + "\n");
    ASSERT_EQ(workload.jobs.size(), 1U);
    EXPECT_EQ(workload.jobs[0].comm_fraction.value(), c.permille);
  }
}

TEST(MusterTraceTest, WrongValues) {
  const std::string head = "submit,duration,gpu\n";
  ExpectFaults({
      {"no duration column",
       "submit,gpu,duratoin\n",
       {"t.csv: the first line does not tell the format; name one of muster, swf, philly, helios, "
        "muri, acme"}},
      {"misspelt column",
       "submit,duration,gpus\n",
       {"t.csv:1: unknown column \"gpus\"; did you mean gpu?"}},
      {"unknown column",
       "submit,duration,colour\n",
       {"t.csv:1: unknown column \"colour\"; the columns are submit, duration, name, user, queue, "
        "class, replicas, min_replicas, gpu, cpu, memory, model, required, comm_fraction, comp, "
        "overlap, comm, estimate, time_limit, wait, end"}},
      {"negative", head + "-1,1,1\n", {"t.csv:2: submit: \"-1\" is negative; give 0 or more"}},
      {"empty",
       head + ",1,1\n",
       {"t.csv:2: submit: \"\" is not a duration (like 90s, 10m, 1h30m or 2d)"}},
      {"not a number",
       head + "0,NaN,1\n",
       {"t.csv:2: duration: \"NaN\" is not a duration (like 90s, 10m, 1h30m or 2d)"}},
      {"too many digits",
       head + "0,99999999999999999999,1\n",
       {"t.csv:2: duration: \"99999999999999999999\" is too large (seconds, such as 90 or 0.5)"}},
      {"too long",
       head + "0,4000000000,1\n",
       {"t.csv:2: duration: \"4000000000\" is more than 100 years; check its unit"}},
      {"too fine",
       head + "0,0.0000001,1\n",
       {"t.csv:2: duration: \"0.0000001\" has more digits than its unit can hold (seconds, such as "
        "90 or 0.5)"}},
      {"parts of a GPU",
       head + "0,1,1.5\n0,1,0.5\n",
       {"t.csv:2: gpu: \"1.5\" GPUs for each replica: parts of a GPU are not supported by this "
        "version yet, ask for whole ones",
        "t.csv:3: gpu: \"0.5\" GPUs for each replica: parts of a GPU are not supported by this "
        "version yet, ask for whole ones"}},
      {"amounts that no node has",
       "submit,duration,cpu,memory\n0,1,9223372036854775,\n0,1,,9223372036854775807\n",
       {"t.csv:2: cpu: \"9223372036854775\" is too much for one replica; at most 1000000",
        "t.csv:3: memory: \"9223372036854775807\" is too much for one replica; at most 1Pi"}},
      {"too many GPUs",
       head + "0,1,65\n",
       {"t.csv:2: gpu: \"65\" GPUs for one replica; a node has at most 64, use more replicas"}},
      {"nothing", head + "0,1,0\n", {"t.csv:2: the job asks for nothing; fill gpu, cpu or memory"}},
      {"replicas",
       "submit,duration,gpu,replicas,min_replicas\n0,1,1,0,\n0,1,1,2,3\n",
       {"t.csv:2: replicas: \"0\" is out of range (a whole number from 1 to 1048576)",
        "t.csv:3: min_replicas: 3 is more than the 2 replicas"}},
      {"end",
       "submit,duration,gpu,end\n0,1,1,done\n",
       {"t.csv:2: end: \"done\" is not completed, failed or cancelled"}},
      {"step parts",
       "submit,duration,gpu,comp,overlap,comm\n0,1,1,1,,1\n",
       {"t.csv:2: overlap: is empty; comp, overlap and comm go together"}},
      {"step parts and fraction",
       "submit,duration,gpu,comp,overlap,comm,comm_fraction\n0,1,1,1,0,1,0.5\n",
       {"t.csv:2: comm_fraction: give either this or comp, overlap and comm, not both"}},
      {"fraction",
       "submit,duration,gpu,comm_fraction\n0,1,1,20\n",
       {"t.csv:2: comm_fraction: \"20\" is more than 1 (a fraction, like 0.2 or 20%)"}},
  });
}

TEST(MusterTraceTest, WritesOnlyColumnsInUse) {
  model::Workload workload;
  EXPECT_EQ(WriteTrace(workload), "submit,duration,replicas,gpu\n");
  workload.jobs.push_back({.name = "a,b",
                           .submit = base::Instant{1'500'000},
                           .duration = base::Hours(1),
                           .replicas = 2,
                           .gpu = base::MilliGpu::Of(8000)});
  workload.jobs.push_back({.name = " \"b\"",
                           .submit = base::Instant{2'000'000},
                           .duration = base::Minutes(90),
                           .cpu = base::MilliCpu::Of(500),
                           .end = model::TraceEnd::kCancelled});
  EXPECT_EQ(WriteTrace(workload),
            "submit,duration,replicas,gpu,name,cpu,end\n"
            "1s500ms,1h,2,8,\"a,b\",0,completed\n"
            "2s,1h30m,1,0,\" \"\"b\"\"\",0.5,cancelled\n");
}

rc::Gen<base::Duration> AnyTime() {
  return rc::gen::oneOf(
      rc::gen::just(base::Duration{}),
      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 100'000), base::Seconds),
      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000), base::Microseconds));
}

std::string AnyText() {
  return *rc::gen::container<std::string>(
      rc::gen::element('a', 'B', '7', ',', '"', ' ', '\t', '\n', '\r', '#', ';'));
}

model::TraceJob AnyJob(base::Instant submit) {
  const auto below = [](std::int64_t bound) { return *rc::gen::inRange<std::int64_t>(0, bound); };
  model::TraceJob job;
  job.name = "n" + AnyText();
  job.user = AnyText();
  job.queue = AnyText();
  job.priority_class = AnyText();
  job.submit = submit;
  job.duration = *AnyTime();
  job.estimate = *AnyTime();
  job.time_limit = *AnyTime();
  job.replicas = 1 + static_cast<std::int32_t>(below(1000));
  job.min_replicas = static_cast<std::int32_t>(below(job.replicas + 1));
  job.gpu = base::MilliGpu::Of(*rc::gen::element<std::int64_t>(1000, 8000, 64'000));
  job.cpu = base::MilliCpu::Of(below(1'000'000));
  job.memory = base::Bytes::Of(below(std::int64_t{1} << 42));
  job.model = AnyText();
  job.required = AnyText();
  job.comm_fraction = base::Permille::Of(below(1001));
  job.has_wait = below(2) == 1;
  if (job.has_wait) job.wait = *AnyTime();
  job.end = static_cast<model::TraceEnd>(below(3));
  return job;
}

RC_GTEST_PROP(MusterTraceProperty, WhatIsWrittenIsReadBack, ()) {
  model::Workload workload;
  base::Instant submit;
  const auto jobs = *rc::gen::inRange(1, 8);
  for (int i = 0; i < jobs; ++i) {
    submit = submit + *AnyTime();
    workload.jobs.push_back(AnyJob(submit));
  }
  const auto again = ReadTrace(WriteTrace(workload), "t.csv", {});
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->jobs == workload.jobs);
}

}  // namespace
}  // namespace muster::format
