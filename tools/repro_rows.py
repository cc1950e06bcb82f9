#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments that anybody can repeat: one row each, a command of `muster`, a number of its JSON answer, a bound.

Prints `name | measured | spread | required | ok`. Where `runs` is above 1 the command runs with seeds 1..runs: the
mean is judged and the range shown. Always exit status 0; what misses its bound says MISS.
"""

import json
import os
import re
import resource
import subprocess
import sys

import rows

MUSTER = "build/release/src/muster"
TIME_LIMIT_S = 600

# name: what is measured. command: arguments of muster, {seed} and {data} replaced; it must print JSON.
# path: keys and indices into the answer, joined by dots; a key picks the list item whose "metric" it is.
# per_second: the value is divided by the processor seconds that the whole command took (reading the trace included).
# bound None: shown, nothing required.
KALOS = ["sim", "compare", "--trace", "{data}/acme/converted_kalos_trace_first240.csv", "--nodes", "302",
         "--cpus-per-node", "128", "--memory-per-node", "2Ti", "--levels", "core=128,spine=64,leaf=16",
         "--bandwidth", "leaf=0.95", "spine=0.83", "core=0.5", "--strategy", "topology,random", "--seed", "{seed}",
         "--format", "json"]
VENUS = ["sim", "run", "--trace", "{data}/helios/Venus_vcvGl_2020-09.csv", "--nodes", "20", "--policy",
         "examples/strict.yaml", "--format", "json"]
PHILLY = ["sim", "run", "--trace", "{data}/philly/philly_jobs.csv.gz", "--nodes", "321x2,231x8", "--format", "json"]
LCG = ["sim", "run", "--trace", "{data}/swf/LCG-2005-1.swf.gz", "--nodes", "766", "--gpus-per-node", "0",
       "--cpus-per-node", "32", "--memory-per-node", "64Gi", "--format", "json"]
EXPERIMENTS = [
    {"name": "small cluster, 200 jobs: completed", "path": "fates.completed", "unit": "jobs",
     "command": ["sim", "run", "--trace", "examples/jobs.swf", "--cluster", "examples/cluster-cpu.yaml", "--format",
                 "json"]},
    # Published for this slice: 18,497 s (independent simulator, same rules); within 1 %.
    {"name": "Venus slice, strict first come: mean completion", "path": "completionSeconds.mean", "unit": "s",
     "comparison": "within 1 % of", "bound": 18497, "command": VENUS},
    {"name": "Venus slice, strict first come: mean wait", "path": "waitSeconds.mean", "unit": "s",
     "comparison": "within 1 % of", "bound": 13891.1, "command": VENUS},
    {"name": "Philly, 73,389 jobs on 2,490 GPUs: simulated jobs per processor second", "path": "jobs",
     "per_second": True, "runs": 5, "unit": "jobs/s", "comparison": ">=", "bound": 100000, "command": PHILLY},
    {"name": "LCG, 188,041 jobs on 24,512 CPUs: simulated jobs per processor second", "path": "jobs",
     "per_second": True, "runs": 5, "unit": "jobs/s", "comparison": ">=", "bound": 100000, "command": LCG},
    # Practitioners report 15 to 25 % between good and careless placement.
    {"name": "Kalos on a three-level fabric (2:1 at the core): slowdown by random placement", "runs": 5,
     "path": "metrics.slowdown_bound.values.1.difference", "comparison": ">=", "bound": 0.15, "unit": "",
     "command": KALOS},
    {"name": "Kalos on a three-level fabric: slowdown by topology placement", "runs": 5,
     "path": "metrics.slowdown_bound.values.0.mean", "comparison": "<=", "bound": None, "unit": "x", "command": KALOS},
]


def value_at(answer, path):
    for key in path.split("."):
        if isinstance(answer, list):
            answer = answer[int(key)] if key.isdigit() else next(item for item in answer if item["metric"] == key)
        else:
            answer = answer[key]
    return answer


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_once(experiment, seed):
    fill = {"seed": str(seed), "data": os.environ.get("MUSTER_DATA", "")}
    command = [MUSTER] + [word.format_map(fill) for word in experiment["command"]]
    before = processor_seconds()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=True)
        value = float(value_at(json.loads(done.stdout), experiment["path"]))
        return value / (processor_seconds() - before) if experiment.get("per_second") else value
    except subprocess.CalledProcessError as fault:
        print(f"{experiment['name']}: {fault.stderr.strip() or fault}", file=sys.stderr)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError, TypeError, StopIteration) as fault:
        print(f"{experiment['name']}: {fault!r}", file=sys.stderr)
    return None


def measure(experiment):
    needs_data = any("{data}" in word for word in experiment["command"])
    if needs_data and not os.environ.get("MUSTER_DATA"):
        return None, "set MUSTER_DATA"
    values = [measure_once(experiment, seed) for seed in range(1, experiment.get("runs", 1) + 1)]
    if None in values:
        return None, "-"
    spread = "-" if len(values) == 1 else f"{rows.number(min(values))}..{rows.number(max(values))}"
    return sum(values) / len(values), spread


def main():
    wanted = re.compile(os.environ.get("REPRO_FILTER", "."))
    judged = []
    for experiment in EXPERIMENTS:
        if wanted.search(experiment["name"]):
            measured, spread = measure(experiment)
            judged.append(rows.row(experiment["name"], measured, spread, experiment.get("comparison", ">="),
                                   experiment.get("bound"), experiment["unit"]))
    rows.report(judged, "make repro", "build/results/repro.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
