#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges Google Benchmark results:  tools/bench_rows.py RESULTS-FOLDER REQUIREMENTS-FILE OUTPUT-FILE

The requirements are a list of {"name": regular expression, "metric": "cpu_time", "real_time" or a counter,
"comparison": "<=" or ">=", "bound": number, "unit": "us"}. Times come in the requirement's unit. A benchmark that no
requirement names is shown without a bound; a requirement that no benchmark meets is a MISS. Always exit status 0: a
machine under load is no fault of the code.
"""

import json
import pathlib
import re
import sys

import rows

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def read_results(folder):
    """{benchmark: {"mean": entry, "cv": entry}}, or a single run as mean without cv."""
    results = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        text = path.read_text(encoding="utf-8")
        for entry in json.loads(text)["benchmarks"] if text else []:
            aggregates = results.setdefault(entry["run_name"], {})
            aggregates[entry.get("aggregate_name", "mean")] = entry
    return results


def metric_of(entry, metric, unit):
    value = entry.get(metric)
    if value is None:
        return None
    if metric in ("cpu_time", "real_time"):
        value *= NANOSECONDS[entry.get("time_unit", "ns")] / NANOSECONDS[unit]
    return value


def spread_of(aggregates, metric):
    share = aggregates.get("cv", {}).get(metric)
    return "-" if share is None else f"{100 * share:.1f} %"


def judge(results, requirements):
    judged = []
    named = set()
    for wanted in requirements:
        pattern = re.compile(wanted["name"])
        matching = [name for name in results if pattern.search(name)]
        named.update(matching)
        if not matching:
            judged.append(rows.row(wanted["name"], None, "-", wanted["comparison"], wanted["bound"], wanted["unit"]))
        for name in matching:
            measured = metric_of(results[name].get("mean", {}), wanted["metric"], wanted["unit"])
            label = name if wanted["metric"] in ("cpu_time", "real_time") else f"{name} {wanted['metric']}"
            judged.append(rows.row(label, measured, spread_of(results[name], wanted["metric"]), wanted["comparison"],
                                   wanted["bound"], wanted["unit"]))
    for name in results:
        if name not in named:
            # A benchmark that takes its own time reports it as real_time.
            metric = "real_time" if name.endswith("/manual_time") else "cpu_time"
            measured = metric_of(results[name].get("mean", {}), metric, "us")
            judged.append(rows.row(name, measured, spread_of(results[name], metric), "<=", None, "us"))
    return judged


def main():
    if len(sys.argv) != 4:
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    folder, requirements, output = sys.argv[1:]
    wanted = json.loads(pathlib.Path(requirements).read_text(encoding="utf-8"))["requirements"]
    rows.report(judge(read_results(folder), wanted), "make bench", output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
