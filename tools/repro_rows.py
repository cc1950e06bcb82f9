#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments that anybody can repeat: one row each, a command of `muster`, a number of its JSON answer, a bound.

Prints `name | measured | spread | required | ok`. Where `runs` is above 1 the command runs with seeds 1..runs: the
mean is judged and the range shown. Always exit status 0; what misses its bound says MISS.
"""

import json
import os
import re
import subprocess
import sys

import rows

MUSTER = "build/release/src/muster"
TIME_LIMIT_S = 600

# name: what is measured. command: arguments of muster, {seed} and {data} replaced; it must print JSON.
# path: keys and indices into the answer, joined by dots. bound None: shown, nothing required.
EXPERIMENTS = [
    # 171 of the 200 rows have status 1; the others failed or were cancelled, and must not count.
    {"name": "example log on 512 CPUs: jobs completed", "runs": 1, "path": "fates.completed", "comparison": "==",
     "bound": 171, "unit": "jobs", "command": ["sim", "run", "--trace", "examples/jobs.swf", "--cluster",
                                               "examples/cluster-cpu.yaml", "--format", "json"]},
]


def value_at(answer, path):
    for key in path.split("."):
        answer = answer[int(key)] if isinstance(answer, list) else answer[key]
    return answer


def measure_once(experiment, seed):
    fill = {"seed": str(seed), "data": os.environ.get("MUSTER_DATA", "")}
    command = [MUSTER] + [word.format_map(fill) for word in experiment["command"]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=True)
        return float(value_at(json.loads(done.stdout), experiment["path"]))
    except subprocess.CalledProcessError as fault:
        print(f"{experiment['name']}: {fault.stderr.strip() or fault}", file=sys.stderr)
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError, TypeError) as fault:
        print(f"{experiment['name']}: {fault!r}", file=sys.stderr)
    return None


def measure(experiment):
    needs_data = any("{data}" in word for word in experiment["command"])
    if needs_data and not os.environ.get("MUSTER_DATA"):
        return None, "set MUSTER_DATA"
    values = [measure_once(experiment, seed) for seed in range(1, experiment["runs"] + 1)]
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
            judged.append(rows.row(experiment["name"], measured, spread, experiment["comparison"],
                                   experiment["bound"], experiment["unit"]))
    rows.report(judged, "make repro", "build/results/repro.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
