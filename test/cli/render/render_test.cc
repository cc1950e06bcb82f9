// SPDX-License-Identifier: Apache-2.0
// Documents of the API as people see them. The pictures are in test/cli/golden/render_*.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/render/cluster.h"
#include "cli/render/history.h"
#include "cli/render/jobs.h"
#include "cli/render/top.h"
#include "format/json.h"
#include "test/cli/command.h"

namespace muster::cli::test {
namespace {

using format::Value;
using testing::HasSubstr;
using testing::Not;

Value Json(std::string_view text) {
  auto parsed = format::ParseJson(text, "test");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().ToString());
  return parsed ? parsed->documents.front() : Value{};
}

/// 2026-03-01 12:00:00 UTC, and clocks that show it.
class Render : public testing::Test {
 protected:
  Render() {
    setenv("TZ", "UTC", 1);
    tzset();
    look_.now = *ParseMoment("2026-03-01T12:00:00.000Z");
  }
  Look look_;
};

constexpr std::string_view kJobs = R"({"jobs": [
  {"id": 14, "name": "llama-sft", "user": "ana", "queue": "research", "priorityClass": "normal",
   "state": "waiting", "gpus": "512", "replicas": 64, "submitted": "2026-03-01T10:00:00.000Z",
   "attempt": 0, "reason": {"code": "capacity", "text": "too little free capacity"}},
  {"id": 9, "name": "a-name-that-is-much-longer-than-anybody-wants-to-read", "user": "bo\u001b[31m",
   "queue": "default", "priorityClass": "normal", "state": "running", "gpus": "64", "replicas": 8,
   "submitted": "2026-03-01T08:00:00.000Z", "started": "2026-03-01T09:30:00.000Z", "attempt": 2,
   "nodes": {"count": 8, "first": ["gpu-1", "gpu-2", "gpu-3", "gpu-4"]}},
  {"id": 3, "name": "eval", "user": "ana", "queue": "default", "priorityClass": "dev",
   "state": "failed", "gpus": "1", "replicas": 1, "submitted": "2026-02-28T08:00:00.000Z",
   "started": "2026-02-28T08:00:05.000Z", "ended": "2026-02-28T08:01:00.000Z", "attempt": 1,
   "reason": {"code": "task-failed", "text": "a task failed"}}
]})";

constexpr std::string_view kJob = R"({"id": 9, "name": "llama-sft", "user": "ana",
  "queue": "research", "priorityClass": "normal", "state": "running", "gpus": "16", "replicas": 2,
  "submitted": "2026-03-01T08:00:00.000Z", "started": "2026-03-01T09:30:00.000Z", "attempt": 2,
  "nodes": {"count": 2, "first": ["gpu-1", "gpu-2"]}, "owner": {"user": "ana", "uid": 1000,
  "gid": 1000}, "level": "leaf", "document": {"apiVersion": "muster/v1", "kind": "Job",
  "metadata": {"name": "llama-sft", "labels": {"team": "nlp"}},
  "spec": {"tasks": [{"name": "worker", "replicas": 2, "command": ["torchrun", "train.py"]}]}},
  "envHidden": true,
  "attempts": [
    {"number": 1, "placed": "2026-03-01T08:00:00.000Z", "running": "2026-03-01T08:00:02.000Z",
     "ended": "2026-03-01T09:20:00.000Z", "reason": {"code": "task-failed", "text": "a task failed"},
     "level": "spine", "replicas": 2, "nodes": ["gpu-1", "gpu-9"],
     "failure": {"rank": 1, "kind": "exited", "code": 1, "text": "rank 1 exited with 1"}},
    {"number": 2, "placed": "2026-03-01T09:30:00.000Z", "level": "leaf", "replicas": 2,
     "nodes": ["gpu-1", "gpu-2"]}],
  "checkpoint": {"step": 1200, "path": "/data/ckpt/1", "at": "2026-03-01T09:10:00.000Z",
                 "attempt": 1}})";

constexpr std::string_view kWhy = R"({"id": 14, "state": "waiting",
  "asOf": "2026-03-01T12:00:00.000Z",
  "summary": "64 replicas of 8 GPUs are wanted in one spine; spine-2 has room for 62.",
  "details": ["It is tried third in queue research."],
  "reason": {"code": "topology", "text": "room, but not in one domain"}, "outcome": "not-now",
  "level": "spine", "bestDomain": "spine-2", "wanted": 64, "have": 62,
  "causes": [{"code": "devices-busy", "text": "GPUs in use", "nodes": 40},
             {"code": "node-not-ready", "text": "node not ready", "nodes": 1}],
  "position": 3, "nextRelax": "2026-03-01T12:30:00.000Z"})";

constexpr std::string_view kNodes = R"({"nodes": [
  {"name": "gpu-1", "state": "ready", "models": ["H100"], "devices": {"total": 8, "idle": 2,
   "allocated": 6, "reserved": 0, "draining": 0, "faulty": 0, "foreign": 0, "unknown": 0},
   "cpu": "128", "cpuUsed": "96", "memory": "1Ti", "memoryUsed": "768Gi", "nics": 8,
   "domains": [{"level": "spine", "name": "spine-1"}, {"level": "leaf", "name": "leaf-1"}]},
  {"name": "gpu-2", "state": "cordoned", "stateReason": "ana: ECC errors", "models": ["H100"],
   "devices": {"total": 8, "idle": 0, "allocated": 0, "reserved": 0, "draining": 8, "faulty": 0,
   "foreign": 0, "unknown": 0}, "cpu": "128", "cpuUsed": "0", "memory": "1Ti", "memoryUsed": "0",
   "nics": 8, "domains": [{"level": "spine", "name": "spine-1"}, {"level": "leaf",
   "name": "leaf-1"}]}
]})";

constexpr std::string_view kCounts = R"({"total": 16, "idle": 2, "allocated": 6, "reserved": 0,
  "draining": 8, "faulty": 0, "foreign": 0, "unknown": 0})";

Value Topology() {
  return Json(
      base::Format(R"({{"levels": ["spine", "leaf"], "root": {{"level": "any", "name": "any",
    "nodeCount": 2, "devices": {0}, "children": [{{"level": "spine", "name": "spine-1",
    "nodeCount": 2, "devices": {0}, "children": [{{"level": "leaf", "name": "leaf-1",
    "nodeCount": 2, "devices": {0}, "nodes": ["gpu-1", "gpu-2"]}}]}}]}}}})",
                   kCounts));
}

Value Status() {
  return Json(
      base::Format(R"({{"version": "0.1.0", "sequence": 12, "at": "2026-03-01T11:59:59.000Z",
    "ready": true, "jobs": {{"held": 0, "waiting": 1, "starting": 0, "running": 1, "stopping": 0}},
    "nodes": {{"ready": 1, "cordoned": 1, "draining": 0, "maintenance": 0, "down": 0,
    "probation": 0}}, "devices": {}, "pause": {{"paused": true, "reason": "fire drill",
    "since": "2026-03-01T11:00:00.000Z"}}}})",
                   kCounts));
}

TEST_F(Render, Jobs) { ExpectGolden("render_jobs.txt", RenderJobs(Json(kJobs), look_)); }

TEST_F(Render, JobsInANarrowTerminal) {
  look_.columns = 100;
  ExpectGolden("render_jobs_narrow.txt", RenderJobs(Json(kJobs), look_));
}

TEST_F(Render, NothingOfOthersReachesTheTerminalAsItIs) {
  look_.colour = false;
  EXPECT_THAT(RenderJobs(Json(kJobs), look_), Not(HasSubstr("\x1b")));
  look_.colour = true;
  EXPECT_THAT(RenderJobs(Json(kJobs), look_), HasSubstr("\x1b[32mrunning\x1b[0m"));
  EXPECT_THAT(RenderJobs(Json(kJobs), look_), HasSubstr("bo\\x1b[31m"));
}

TEST_F(Render, Job) { ExpectGolden("render_job.txt", RenderJob(Json(kJob), look_)); }
TEST_F(Render, Why) { ExpectGolden("render_why.txt", RenderWhy(Json(kWhy), look_)); }
TEST_F(Render, Nodes) { ExpectGolden("render_nodes.txt", RenderNodes(Json(kNodes), look_)); }

TEST_F(Render, Node) {
  const Value list = Json(kNodes);
  Value node = ItemsAt(list, "nodes")[1];
  const Value more = Json(R"({"labels": {"leaf": "leaf-1"}, "taints": [{"key": "a", "value": "b"}],
    "deviceList": [{"index": 0, "model": "H100", "memory": "80Gi", "group": 0, "state": "allocated",
    "job": 9}, {"index": 1, "model": "H100", "memory": "80Gi", "group": 0, "state": "faulty"}],
    "jobs": [{"id": 9, "ranks": 1}]})");
  for (const format::Entry& entry : more.entries) node.Add(entry.key, entry.value);
  ExpectGolden("render_node.txt", RenderNode(node, look_));
}

TEST_F(Render, Topology) {
  ExpectGolden("render_topology.txt", RenderTopology(Topology(), Json(kNodes), look_));
}

TEST_F(Render, Inventory) {
  const Value inventory = Json(base::Format(
      R"({{"at": "x", "devices": {0}, "models": [{{"model": "H100", "devices": {0}}}],
          "nodes": {{"ready": 1, "cordoned": 1, "down": 0}},
          "domains": [{{"name": "leaf-1", "devices": {0}}}]}})",
      kCounts));
  ExpectGolden("render_inventory.txt", RenderInventory(inventory, look_));
}

TEST_F(Render, StatusAndTop) {
  ExpectGolden("render_status.txt", RenderStatus(Status(), look_));
  const TopData data{Status(), Json(kNodes), Json(kJobs)};
  ExpectGolden("render_top.txt", RenderTop(data, look_, 0));
  for (const std::size_t lines : {4U, 12U, 40U}) {
    const std::string frame = RenderTop(data, look_, lines);
    EXPECT_LE(std::count(frame.begin(), frame.end(), '\n'),
              std::max<long>(12, static_cast<long>(lines)))
        << frame;
  }
}

TEST_F(Render, History) {
  const Value audit =
      Json(R"({"entries": [{"id": 2, "at": "2026-03-01T11:00:00.000Z", "user": "ana",
    "from": "socket, pid 12", "action": "cancel", "target": "job 9", "detail": "", "allowed": false},
    {"id": 1, "at": "2026-03-01T10:00:00.000Z", "user": "root", "from": "socket, pid 7",
    "action": "cordon", "target": "node gpu-2", "detail": "ECC errors", "allowed": true}]})");
  const Value events = Json(R"({"events": [{"id": 4, "at": "2026-03-01T10:00:00.000Z",
    "kind": "submitted", "job": 9, "text": "to queue default"}, {"id": 5,
    "at": "2026-03-01T10:00:01.000Z", "kind": "running", "job": 9, "attempt": 1, "text": ""},
    {"id": 6, "at": "2026-03-01T10:00:02.000Z", "kind": "node", "text": "gpu-2 is cordoned"}]})");
  const Value usage = Json(R"({"by": ["queue", "model"], "rows": [{"queue": "default",
    "model": "H100", "allocatedGpuSeconds": 7200.5, "lostGpuSeconds": 360, "cpuSeconds": 36000}]})");
  const Value tokens = Json(R"({"tokens": [{"name": "ci", "role": "user", "user": "ana",
    "uid": 1000, "gid": 1000}, {"name": "old", "role": "viewer", "user": "bo", "uid": 1, "gid": 1,
    "expires": "2026-02-01T10:00:00.000Z"}]})");
  ExpectGolden("render_history.txt",
               RenderAudit(audit, look_) + "\n" + RenderEvents(events, look_) + "\n" +
                   RenderUsage(usage, look_) + "\n" + RenderTokens(tokens, look_));
}

}  // namespace
}  // namespace muster::cli::test
