// SPDX-License-Identifier: Apache-2.0
#include "format/job_document.h"

#include <gtest/gtest.h>

#include <string>

#include "format/json.h"
#include "format/yaml.h"

namespace muster::format {
namespace {

using model::GangRequest;
using model::JobSpec;

/// A job document with `spec` below `spec:`, lines indented by two; its first line is line 5.
std::string WithSpec(const std::string& spec) {
  return "apiVersion: muster/v1\nkind: Job\nmetadata: {name: j}\nspec:\n" + spec;
}

constexpr const char* kTask = "  tasks: [{name: w, replicas: 8, resources: {gpu: 1}}]\n";

std::string Joined(const base::Errors& errors) {
  std::string out;
  for (const base::Error& error : errors) out += error.ToString() + "\n";
  return out;
}

/// The faults of a text, one a line; "" when there are none.
std::string FaultsOf(const std::string& text) {
  const base::Checked<JobSpec> job = ParseJob(text, "f");
  return job ? "" : Joined(job.error());
}

JobSpec Parse(const std::string& text) {
  const base::Checked<JobSpec> job = ParseJob(text, "f");
  EXPECT_TRUE(job) << text << Joined(job ? base::Errors{} : job.error());
  return job.value_or(JobSpec{});
}

constexpr const char* kEveryKey = R"(
apiVersion: muster/v1
kind: Job
metadata: {name: llama-sft, queue: research/nlp, labels: {team: nlp, a: 1}}
spec:
  type: training
  priorityClass: normal
  tasks:
    - name: worker
      replicas: 8
      minReplicas: 4
      launch: perGpu
      resources: {gpu: 8, cpu: 96, memory: 900Gi, rdma: 8, npu: 2}
      gpu: {model: [H100-SXM-80G, H200], memory: ">=80Gi", mixed: true}
      nodeSelector: [{key: zone, values: [a, b]}, {key: fast, operator: Exists}]
      tolerations: [{key: gpu}, {key: site, value: x}, {}]
      command: [torchrun, train.py]
      env: {NCCL_DEBUG: WARN, A: true}
      secretEnv: {WANDB_API_KEY: {file: ~/.wandb}}
      workdir: /data
    - {name: launcher, replicas: 4, resources: {cpu: 500m}, command: echo hi, nodeSelector: {disk: ssd}, gpu: {model: A}}
  topology:
    required: spine
    preferred: leaf
    segment: [{size: 4, level: leaf}, {size: 2, level: nvlink}]
    commFraction: 0.2
  relax: [{after: 30m, topology: leaf}, {after: 1h, topology: any}]
  checkpoint: {every: 5m, onSignal: SIGUSR1, grace: 90s, restart: 2m, dir: /ckpt}
  completion: launcher
  restart: {limit: 3, onNodeLoss: false}
  estimate: 6h
  timeLimit: 24h
  startAfter: 10m
)";

TEST(JobDocument, ReadsEveryKey) {
  const JobSpec job = Parse(kEveryKey);
  EXPECT_EQ(job.name, "llama-sft");
  EXPECT_EQ(job.queue, "research/nlp");
  EXPECT_EQ(job.labels, (model::Labels{{"a", "1"}, {"team", "nlp"}}));
  EXPECT_EQ(job.priority_class, "normal");
  EXPECT_EQ(job.start_after, base::Minutes(10));
  const GangRequest& request = job.request;
  EXPECT_EQ(request.type, model::JobType::kTraining);
  ASSERT_EQ(request.groups.size(), 2U);
  const model::TaskGroup& worker = request.groups[0];
  EXPECT_EQ(worker.replicas, 8);
  EXPECT_EQ(worker.min_replicas, 4);
  EXPECT_EQ(worker.step, 4) << "the outermost segment";
  EXPECT_EQ(worker.shape.gpu, base::MilliGpu::Of(8000));
  EXPECT_EQ(worker.shape.cpu, base::MilliCpu::Of(96'000));
  EXPECT_EQ(worker.shape.memory, base::Bytes::Of(900LL << 30));
  EXPECT_EQ(worker.shape.nics, 8);
  EXPECT_EQ(worker.shape.extended, (std::vector<model::NamedAmount>{{"npu", 2}}));
  EXPECT_EQ(worker.shape.models, (std::vector<std::string>{"H100-SXM-80G", "H200"}));
  EXPECT_EQ(worker.shape.device_memory, base::Bytes::Of(80LL << 30));
  EXPECT_TRUE(worker.shape.mixed_models);
  using Operator = model::LabelRequirement::Operator;
  EXPECT_EQ(worker.shape.selector,
            (std::vector<model::LabelRequirement>{{"zone", Operator::kIn, {"a", "b"}},
                                                  {"fast", Operator::kExists, {}}}));
  EXPECT_EQ(
      worker.shape.tolerations,
      (std::vector<model::Toleration>{{"gpu", true, ""}, {"site", false, "x"}, {"", true, ""}}));
  EXPECT_EQ(job.commands[0].launch, model::Launch::kPerGpu);
  EXPECT_EQ(job.commands[0].env, (model::Labels{{"A", "true"}, {"NCCL_DEBUG", "WARN"}}));
  EXPECT_EQ(job.commands[0].secret_env, (model::Labels{{"WANDB_API_KEY", "~/.wandb"}}));
  EXPECT_EQ(job.commands[0].workdir, "/data");
  const model::TaskGroup& launcher = request.groups[1];
  EXPECT_EQ(launcher.shape.cpu, base::MilliCpu::Of(500));
  EXPECT_FALSE(launcher.shape.memory);
  EXPECT_EQ(launcher.shape.models, std::vector<std::string>{"A"});
  EXPECT_EQ(job.commands[1].command, (std::vector<std::string>{"/bin/sh", "-c", "echo hi"}));
  EXPECT_EQ(request.topology.segments, (std::vector<model::Segment>{{2, "nvlink"}, {4, "leaf"}}));
  EXPECT_EQ(request.topology.comm_fraction, base::Permille::Of(200));
  EXPECT_EQ(request.relax.size(), 2U);
  EXPECT_EQ(request.checkpoint->grace, base::Seconds(90));
  EXPECT_EQ(request.completion, (model::Completion{model::Completion::Kind::kGroup, "launcher"}));
  EXPECT_EQ(request.restart, (model::RestartSpec{3, false}));
  EXPECT_EQ(request.estimate, base::Hours(6));
  EXPECT_EQ(request.time_limit, base::Hours(24));
}

TEST(JobDocument, FillsInDefaults) {
  const JobSpec job = Parse(WithSpec(kTask));
  EXPECT_EQ(job.request.groups[0].min_replicas, 8) << "rigid";
  EXPECT_EQ(job.request.groups[0].step, 1);
  EXPECT_FALSE(job.request.groups[0].shape.cpu);
  EXPECT_FALSE(job.request.checkpoint);
  EXPECT_TRUE(job.request.restart.on_node_loss);
  EXPECT_EQ(
      WriteYaml(EncodeJob(job)),
      "apiVersion: muster/v1\nkind: Job\nmetadata:\n  name: j\nspec:\n  tasks:\n    - name: w\n"
      "      replicas: 8\n      resources:\n        gpu: 1\n");
}

TEST(JobDocument, SpreadMayStandUnderSpec) {
  const JobSpec job =
      Parse(WithSpec(std::string(kTask) + "  spread: {level: leaf}\n  antiAffinity: node\n"));
  EXPECT_EQ(job.request.topology.spread, (model::Spread{"leaf", 1}));
  EXPECT_EQ(job.request.topology.anti_affinity, "node");
  EXPECT_EQ(FaultsOf(WithSpec(std::string(kTask) +
                              "  spread: {level: leaf}\n  topology: {spread: {level: leaf}}\n")),
            "f:6:11: spec.spread: stands under topology as well; keep one of the two\n");
}

TEST(JobDocument, ReadsJsonAlike) {
  const JobSpec job = Parse(
      R"({"apiVersion": "muster/v1", "kind": "Job", "metadata": {"name": "j"},
          "spec": {"tasks": [{"name": "w", "replicas": 8, "resources": {"gpu": 1}}]}})");
  EXPECT_EQ(job, Parse(WithSpec(kTask)));
}

TEST(JobDocument, ReadsSeveralJobsOfAFile) {
  const std::string two = WithSpec(kTask) + "---\n" + WithSpec(kTask);
  const auto jobs = ParseJobs(two, "f");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->size(), 2U);
  EXPECT_EQ(FaultsOf(two), "f:7:1: a second document; a file holds one Job\n");
}

TEST(JobDocument, NamesEachFaultWithItsPlace) {
  const struct {
    const char* name;
    std::string spec;  // lines 5 and on, beside a sound task
    const char* fault;
  } kCases[] = {
      {"unknown key", "  estimat: 1h\n",
       "f:5:3: spec.estimat: unknown key; did you mean \"estimate\"?"},
      {"far from any key", "  zzzzzz: 1h\n", "f:5:3: spec.zzzzzz: unknown key"},
      {"duplicate key", "  estimate: 1h\n  estimate: 2h\n",
       "f:6:3: key \"estimate\" is given twice; first at line 5"},
      {"unknown enum", "  type: trainin\n",
       "f:5:9: spec.type: \"trainin\" is unknown; did you mean \"training\"?"},
      {"planned enum", "  type: service\n",
       "f:5:9: spec.type: \"service\" is not supported by this version yet"},
      {"another planned enum", "  type: interactive\n",
       "f:5:9: spec.type: \"interactive\" is not supported by this version yet"},
      {"bare duration", "  timeLimit: 10\n",
       "f:5:14: spec.timeLimit: \"10\" is not a duration (like 90s, 10m, 1h30m or 2d)"},
      {"zero duration", "  estimate: 0s\n",
       "f:5:13: spec.estimate: \"0s\" is too little; at least 1us"},
      {"long duration", "  estimate: 9999d\n",
       "f:5:13: spec.estimate: \"9999d\" is too much; at most 3660d"},
      {"list for a duration", "  estimate: [1h]\n",
       "f:5:13: spec.estimate: expected a duration (like 90s, 10m, 1h30m or 2d), found a list"},
      {"nothing", "  relax:\n", "f:5:3: spec.relax: expected a list, found nothing"},
      {"fraction above one", "  topology: {commFraction: 2}\n",
       "f:5:28: spec.topology.commFraction: \"2\" is more than 1 (a fraction, like 0.2 or 20%)"},
      {"bool for a number", "  restart: {limit: true}\n",
       "f:5:20: spec.restart.limit: \"true\" is not a number"},
      {"quoted number", "  restart: {limit: \"3\"}\n",
       "f:5:20: spec.restart.limit: \"3\" is a text; write the number without quotes"},
      {"number out of range", "  restart: {limit: 1000001}\n",
       "f:5:20: spec.restart.limit: 1000001 is out of range; 0 to 1000000"},
      {"word for a bool", "  restart: {onNodeLoss: yes}\n",
       "f:5:25: spec.restart.onNodeLoss: expected true or false, found \"yes\""},
      {"missing key", "  relax: [{after: 1h}]\n",
       "f:5:11: spec.relax[0]: key \"topology\" is missing"},
      {"planned key", "  schedule: daily\n",
       "f:5:3: spec.schedule: not supported by this version yet"},
      {"near a planned key", "  dependOn: [a]\n",
       "f:5:3: spec.dependOn: unknown key; did you mean \"dependsOn\"?"},
      {"planned section", "  kubernetes: {namespace: a}\n",
       "f:5:16: spec.kubernetes.namespace: not supported by this version yet"},
      {"unknown in planned section", "  kubernetes: {namespac: a}\n",
       "f:5:16: spec.kubernetes.namespac: unknown key; did you mean \"namespace\"?"},
      {"rule between keys", "  completion: master\n",
       "f:5:15: spec.completion: \"master\" is no task group of this job"},
      {"rule about a list", "  topology: {segment: {size: 3, level: leaf}}\n",
       "f:6:31: spec.tasks[0].replicas: 8 is not a multiple of the segment size 3"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(FaultsOf(WithSpec(test.spec + kTask)), std::string(test.fault) + "\n") << test.name;
  }
}

TEST(JobDocument, NamesEachFaultOfATask) {
  const struct {
    const char* task;  // on line 5, from column 11
    const char* fault;
  } kCases[] = {
      {"{name: w, resources: {gpu: -1}}",
       "f:5:38: spec.tasks[0].resources.gpu: \"-1\" is negative; give 0 or more "
       "(GPUs, like 8)"},
      {"{name: w, resources: {gpu: .nan}}",
       "f:5:38: spec.tasks[0].resources.gpu: \".nan\" is not a number (GPUs, like 8)"},
      {"{name: w, resources: {gpu: 1.5}}",
       "f:5:38: spec.tasks[0].resources.gpu: 1.5 is neither whole nor below 1: a "
       "replica gets whole GPUs or a part of one"},
      {"{name: w, resources: {memory: 9223372036854775808}}",
       "f:5:41: spec.tasks[0].resources.memory: \"9223372036854775808\" is too large (bytes, like "
       "900Gi, 1.5Ti or "
       "512M)"},
      {"{name: w, resources: {gpus: 1}}",
       "f:5:33: spec.tasks[0].resources.gpus: unknown key; did you mean \"gpu\"?"},
      {"{name: w, resources: {memori: 1}}",
       "f:5:33: spec.tasks[0].resources.memori: unknown key; did you mean \"memory\"?"},
      {"{name: w, resources: {npu: 0}}",
       "f:5:38: spec.tasks[0].resources.npu: 0 is out of range; 1 to 1099511627776"},
      {"{name: w, replicas: 2, minReplicas: 3, resources: {gpu: 1}}",
       "f:5:47: spec.tasks[0].minReplicas: 3 is not between 1 and replicas = 2"},
      {"{name: w}",
       "f:5:11: spec.tasks[0].resources: asks for nothing; give at least gpu, cpu or memory"},
      {"{name: all, resources: {gpu: 1}}",
       "f:5:18: spec.tasks[0].name: \"all\" has a meaning in completion; take another name"},
      {"{name: w, replicas: 1000000, resources: {memory: 1Pi}}",
       "f:5:60: spec.tasks[0].resources.memory: more than 4096Pi over all replicas"},
      {"{name: w, resources: {gpu: 1}, nodeSelector: [{key: a}]}",
       "f:5:57: spec.tasks[0].nodeSelector[0]: In and NotIn need values"},
      {"{name: w, resources: {gpu: 1}, gpu: {memory: \">=x\"}}",
       "f:5:56: spec.tasks[0].gpu.memory: \"x\" is not a number (bytes, like 900Gi, 1.5Ti or "
       "512M)"},
      {"{name: w, resources: {gpu: 1}, port: 80}",
       "f:5:42: spec.tasks[0].port: not supported by this version yet"},
      {"{name: w, resources: {gpu: 1}, secretEnv: {A: x}}",
       "f:5:57: spec.tasks[0].secretEnv.A: expected a map, found \"x\""},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(FaultsOf(WithSpec(std::string("  tasks: [") + test.task + "]\n")),
              std::string(test.fault) + "\n")
        << test.task;
  }
}

TEST(JobDocument, NamesFaultsOfTheHead) {
  EXPECT_EQ(FaultsOf("apiVersion: muster/v1\nkind: Policy\n"),
            "f:2:7: kind: expected Job, found Policy\n");
  EXPECT_EQ(FaultsOf("{}"),
            "f:1:1: key \"apiVersion\" is missing\nf:1:1: key \"kind\" is missing\n"
            "f:1:1: key \"metadata\" is missing\nf:1:1: key \"spec\" is missing\n");
}

TEST(JobDocument, ListsAllFaultsInOrder) {
  EXPECT_EQ(
      FaultsOf(R"(apiVersion: muster/v1
kind: Job
metadata: {name: "a b", queu: x}
spec:
  tasks:
    - name: w
      replicas: -3
      minReplicas: 2
      resources: {gpu: 1.5, rdma: 2000}
    - replicas: 2
      minReplicas: 3
      resources: {gpu: 1}
  deadline: tomorrow
  estimate: 1
  estimate: 1h
)"),
      R"(f:3:18: metadata.name: "a b" is no name: it holds a blank, a quote or a control character
f:3:25: metadata.queu: unknown key; did you mean "queue"?
f:7:17: spec.tasks[0].replicas: "-3" is negative; give 0 or more
f:9:24: spec.tasks[0].resources.gpu: 1.5 is neither whole nor below 1: a replica gets whole GPUs or a part of one
f:9:35: spec.tasks[0].resources.rdma: 2000 is out of range; 0 to 1024
f:10:7: spec.tasks[1]: key "name" is missing
f:11:20: spec.tasks[1].minReplicas: 3 is not between 1 and replicas = 2
f:13:3: spec.deadline: not supported by this version yet
f:14:13: spec.estimate: "1" is not a duration (like 90s, 10m, 1h30m or 2d)
f:15:3: key "estimate" is given twice; first at line 14
)");
}

TEST(JobDocument, NamesPlacesInJsonToo) {
  EXPECT_EQ(
      FaultsOf(
          "{\"apiVersion\": \"muster/v1\", \"kind\": \"Job\",\n \"metadata\": {\"name\": \"j\"},\n"
          " \"spec\": {\"tasks\": [{\"name\": \"w\", \"resources\": {\"gpu\": 1}}],\n"
          "  \"estimat\": 1, \"estimate\": 1}}"),
      "f:4:3: spec.estimat: unknown key; did you mean \"estimate\"?\n"
      "f:4:29: spec.estimate: \"1\" is not a duration (like 90s, 10m, 1h30m or 2d)\n");
}

}  // namespace
}  // namespace muster::format
