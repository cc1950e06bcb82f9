# SPDX-License-Identifier: Apache-2.0
"""Rows of measurements: how they are judged, printed and kept. Used by bench_rows.py and repro_rows.py."""

import json
import os
import pathlib
import platform
import subprocess

COMPARISONS = {
    "<=": lambda measured, bound: measured <= bound,
    ">=": lambda measured, bound: measured >= bound,
    "==": lambda measured, bound: measured == bound,
    "within 1 % of": lambda measured, bound: abs(measured - bound) <= 0.01 * bound,
}


def number(value):
    """A number for people: 3 digits that count, no exponent where a plain number is short."""
    if isinstance(value, str):
        return value
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def row(name, measured, spread, comparison, bound, unit):
    """One judged row. `measured` None = not measured; `bound` None = nothing is required of it."""
    unit_text = f" {unit}" if unit else ""
    met = None
    if measured is not None and bound is not None:
        met = COMPARISONS[comparison](measured, bound)
    return {
        "name": name, "measured": measured, "spread": spread, "comparison": comparison, "bound": bound, "unit": unit,
        "met": met, "text": " | ".join([
            name,
            "not measured" if measured is None else number(measured) + unit_text,
            spread,
            "-" if bound is None else f"{comparison} {number(bound)}{unit_text}",
            {None: "-" if bound is None else "MISS", True: "ok", False: "MISS"}[met],
        ])}


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    """What a number depends on: with it another person can tell whether theirs compares."""
    model = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {
        "processors": len(os.sched_getaffinity(0)),
        "processor": model[0] if model else platform.machine(),
        "system": platform.platform(),
        "compiler": output_of("g++", "--version").split("\n")[0],
        "commit": output_of("git", "rev-parse", "HEAD"),
        "changed_files": len(output_of("git", "status", "--porcelain", "--untracked-files=no").splitlines()),
        "load": os.getloadavg()[0],
    }


def report(rows, command, path):
    """Prints the rows and keeps them, with command and machine, in the JSON file `path`."""
    print("name | measured | spread | required | ok")
    for judged in rows:
        print(judged["text"])
    kept = {"version": 1, "command": command, "machine": machine(), "rows": rows}
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    missed = sum(1 for judged in rows if judged["met"] is False or (judged["bound"] is not None and
                                                                    judged["met"] is None))
    print(f"{len(rows)} rows, {missed} missed; kept in {path}")
