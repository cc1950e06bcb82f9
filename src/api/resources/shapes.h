// SPDX-License-Identifier: Apache-2.0
// The JSON of every resource, and what makes it from a picture. This is the page to write a client
// against; `openapi_schemas*.cc` says the same for programs, and a test compares both with what
// handlers answer.
//
// Everywhere: keys are camelCase; what does not apply is left out, never null. Ids are numbers.
// Times are RFC 3339, UTC, with milliseconds ("2026-01-31T12:00:00.000Z"). Durations, CPUs, GPUs of
// a job and bytes are text as people write it ("1h30m", "0.5", "8", "900Gi"). Counts of devices
// are numbers. Lists are `{NAME: [...], next?}`: `next` is the `cursor` of the next page, which may
// be empty; only a page without `next` is the last. Errors are problem details (route.h).
//
//   Reason        {code, text, count?}          "devices-busy", "GPUs in use"
//   DeviceCounts  {total, idle, allocated, reserved, draining, faulty, foreign, unknown}
//   Done          {jobs: [id], notes: [text]}   answer of every act that makes nothing
//
// GET /v1/jobs -> JobList {jobs: [JobRow], next?}
//   JobRow  {id, name, user, queue, priorityClass, state, gpus, replicas, submitted, started?,
//           ended?, attempt, reason?, nodes?: {count, first: [name, up to 4]}}
//   state   held | waiting | starting | running | stopping | completed | failed | cancelled |
//           timed-out
//   started is of the latest attempt; attempt counts starts, 0 before the first; gpus and replicas
//   are of the present place, else those asked for (at most). reason is there only where it costs
//   nothing to know: held, not before its time, starts are paused, why it waits again or ended.
//   query: state (several with commas; `active` = all not ended), queue, user, name (`llama*` =
//   beginning), label (`team=nlp`, several with commas), order (newest | oldest), limit, cursor
// POST /v1/jobs -> 201 Submitted {jobs: [{id, name}], repeated, notes}
//   body: job documents, YAML (`---` between several) or JSON; header Idempotency-Key.
//   with ?dryRun=true -> 200 Trial {jobs: [{name, outcome, summary, details}], notes}: nothing is
//   submitted; each of at most 32 jobs is judged by itself, behind those that wait already.
//   outcome: placed (there is room now) | not-now | never | search-ended
// GET /v1/jobs/{id} -> Job: JobRow with
//   {owner: {user, uid, gid}, notBefore?, level?, document, envHidden?, attempts: [Attempt],
//    checkpoint?: {step, path, at, attempt}}
//   document is the whole job document. Whoever is neither the owner nor an admin sees it without
//   `env` and `secretEnv` of its tasks, and `envHidden: true`. level: the topology level that holds
//   the place.
// PATCH /v1/jobs/{id} {priorityClass} -> Done
// POST /v1/jobs/{id}/cancel | hold | release | requeue | checkpoint -> Done; no body
// GET /v1/jobs/{id}/attempts?attempt=&first=&limit= -> AttemptList {attempts: [Attempt with
// ranks]};
//   oldest first, at most the last 16; ranks [first, first + limit) of each
//   Attempt {number, placed, running?, ended?, reason?, level, replicas, nodes: [name], failure?,
//           ranks?}
//   failure {rank, kind, code, text}: the first rank that ended badly. kind: exited | signalled |
//           out-of-memory | not-started | stopped | lost. text: "rank 3 exited with 1"
//   ranks   [{rank, group, node, devices: [index], cpu, memory}]
// GET /v1/jobs/{id}/why -> JobWhy
//   {id, state, asOf, summary, details: [text], reason, outcome?, group?, level?, bestDomain?,
//    wanted?, have?, causes?: [{code, text, nodes}], position?, ahead?, nextRelax?: {at, level?},
//    nodes?: [name], failure?}
//   summary is one sentence; details are more of them, in the order to be read. outcome and what
//   follows it up to nextRelax are of waiting jobs: placed | not-now | never | search-ended. have
//   of `wanted` replicas fit in bestDomain, a domain of `level`; causes count nodes without room
//   for one replica.
// GET /v1/jobs/{id}/events?after=&limit= -> EventList {events: [Event], next?}; oldest first
// GET /v1/jobs/{id}/logs?rank=&attempt=&offset=&tail=&limit= -> the bytes themselves,
//   application/octet-stream, with headers X-Log-Attempt, X-Log-Offset (of the first byte; more
//   than asked where old output is gone) and X-Log-End (how much there is in all). Only for the
//   owner and admins. Without attempt: the latest. tail=N: the last N bytes.
// GET /v1/jobs/{id}/logs/stream?rank=&attempt=&offset=&tail= -> server-sent events
//   `log` {attempt, offset, text} or, where bytes are no UTF-8, {attempt, offset, base64};
//   `end` {state, attempt} after the attempt's last byte; then the stream closes. Waits for a job
//   that has not started. `problem` with problem details ends it too.
// POST /v1/jobs/{id}/checkpoints {attempt?, step, path?} -> Done; by the attempt's own token, the
//   owner or an admin
//
// GET /v1/nodes?state=&limit=&cursor= -> NodeList {nodes: [Node], next?}
//   Node    {name, state, stateReason?, note?, gone?, models: [text], devices: DeviceCounts, cpu,
//           cpuUsed, memory, memoryUsed, nics, domains: [{level, name}] (outermost first)}
//   state   ready | cordoned | draining | maintenance | down | probation
// GET /v1/nodes/{name} -> NodeDetail: Node with {labels: {key: value}, taints: [{key, value}],
//   deviceList: [{index, model, memory, group, state, job?}], jobs: [{id, ranks}]}
// POST /v1/nodes/{name}/state {state, reason?} -> Done
// GET /v1/topology -> Topology {levels: [name] (outermost first), root: Domain}
//   Domain  {level, name, nodeCount, devices: DeviceCounts, children?: [Domain], nodes?: [name]}
// GET /v1/inventory?level= -> Inventory {at, devices: DeviceCounts, models: [{model, devices}],
//   nodes: {ready, cordoned, draining, maintenance, down, probation},
//   domains?: [{name, devices, models}] (with ?level=)}
//
// GET /v1/queues -> QueueList {queues: [Queue]}
//   Queue   {name, order?, blocking?, inPolicy, jobs: PhaseCounts, gpus, cpu, memory}; gpus (a
//           number), cpu, memory are what its jobs hold
//   PhaseCounts {held, waiting, starting, running, stopping}
// GET /v1/policy -> Policy {text, isDefault, document}; text as it was given, document with every
//   default filled in. PUT /v1/policy (the document, YAML or JSON) -> Done
// POST /v1/pause {paused, reason?} -> Done
// GET /v1/status -> Status {version, sequence, at, ready, trouble?, jobs: PhaseCounts, nodes,
//   devices: DeviceCounts, pause: {paused, reason?, since?}}; nodes as in Inventory
// GET /v1/usage?from=&to=&by= -> Usage {from?, to?, by: [text], rows: [UsageRow]}
//   UsageRow {day?, queue?, user?, model?, allocatedGpuSeconds, lostGpuSeconds, cpuSeconds}; of
//   attempts that have ended. from, to: days "2026-01-31", both included. by: of day, queue, user,
//   model, with commas; default queue,user,model. model "" = work without GPUs.
// GET /v1/audit?limit=&cursor= -> AuditList {entries: [AuditEntry], next?}; newest first
//   AuditEntry {id, at, user, from, action, target, detail, allowed}
// GET /v1/tokens -> TokenList {tokens: [Token]}; Token {name, role, user, uid, gid, expires?}
// POST /v1/tokens {name, role, user?, uid?, gid?, lifetime?} -> 201 NewToken: Token with {secret},
//   which is shown here and never again. Without user: the caller's own account.
// DELETE /v1/tokens/{name} -> Done
// POST /v1/health-facts {node, faulty: [index], text?} -> Done
//
// GET /v1/events?after=&job=&kind= -> server-sent events; `id` is the event's, `event` its kind,
//   data: Event {id, at, kind, job?, attempt?, text}
//   kind    submitted | placed | running | stopping | requeued | ended | changed | checkpoint |
//           node | pause | policy
//   after (or Last-Event-ID): only later ones; 0: all that are kept; without: from now on. Where
//   some between are kept no more: first an event `gap` {after, first?}. follow=false: ends after
//   what there is already.
// GET /v1/openapi.json, GET /healthz, GET /readyz (503 with why not), GET /metrics (Prometheus)
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "format/document.h"
#include "model/cluster.h"
#include "model/reason.h"
#include "server/picture.h"

namespace muster::api {

// Pieces that all resources share.

template <std::integral T>
format::Value Number(T number) {
  return format::Plain(std::to_string(number));
}
format::Value Flag(bool value);
format::Value TextList(std::vector<std::string> texts);
format::Value TimeValue(base::Instant at);
format::Value ReasonValue(model::Reason reason);
format::Value DeviceCountsValue(const engine::Inventory& counts);

/// "2026-01-31T12:00:00.000Z"; cut, not rounded, to milliseconds.
std::string TimeText(base::Instant at);
/// "2026-01-31", of days since the epoch.
std::string DayText(std::int64_t day);
/// Days since the epoch of "2026-01-31"; a fault names the text.
base::Result<std::int64_t> ParseDay(std::string_view text);

std::optional<model::NodeState> ParseNodeState(std::string_view name);
/// "signalled".
std::string_view Name(driver::RankExit::Kind kind);

}  // namespace muster::api
