#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make bench` and `make repro` print for given measurements."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))

import bench_rows  # noqa: E402
import repro_rows  # noqa: E402
import rows  # noqa: E402


def text(*arguments):
    return rows.row(*arguments)["text"]


class RowsTest(unittest.TestCase):
    def test_judgement(self):
        self.assertEqual(text("place", 3.25, "1.0 %", "<=", 4, "us"), "place | 3.25 us | 1.0 % | <= 4 us | ok")
        self.assertEqual(text("place", 4.5, "-", "<=", 4, "us"), "place | 4.5 us | - | <= 4 us | MISS")
        self.assertEqual(text("done", 12, "-", ">=", 12, "jobs"), "done | 12 jobs | - | >= 12 jobs | ok")
        self.assertEqual(text("rate", 1234567.8, "-", ">=", None, ""), "rate | 1,234,568 | - | - | -")

    def test_what_was_not_measured_is_a_miss(self):
        self.assertEqual(text("place", None, "-", "<=", 4, "us"), "place | not measured | - | <= 4 us | MISS")

    def test_benchmarks(self):
        results = {
            "Place/10000": {"mean": {"cpu_time": 3500.0, "real_time": 4000.0, "time_unit": "ns", "nodes": 12.0},
                            "cv": {"cpu_time": 0.021, "real_time": 0.3}},
            "Other": {"mean": {"cpu_time": 1.5, "time_unit": "ms"}},
            "Own/manual_time": {"mean": {"cpu_time": 9.0, "real_time": 2.0, "time_unit": "us"}},
        }
        required = [
            {"name": "^Place/", "metric": "cpu_time", "comparison": "<=", "bound": 4, "unit": "us"},
            {"name": "^Place/", "metric": "nodes", "comparison": "<=", "bound": 10, "unit": ""},
            {"name": "^Gone/", "metric": "cpu_time", "comparison": "<=", "bound": 4, "unit": "us"},
        ]
        self.assertEqual([row["text"] for row in bench_rows.judge(results, required)], [
            "Place/10000 | 3.5 us | 2.1 % | <= 4 us | ok",
            "Place/10000 nodes | 12 | - | <= 10 | MISS",
            "^Gone/ | not measured | - | <= 4 us | MISS",
            "Other | 1,500 us | - | - | -",
            "Own/manual_time | 2 us | - | - | -",
        ])

    def test_paths_into_answers(self):
        answer = {"jobs": {"completed": 7}, "runs": [{"wait": 1.5}]}
        self.assertEqual(repro_rows.value_at(answer, "jobs.completed"), 7)
        self.assertEqual(repro_rows.value_at(answer, "runs.0.wait"), 1.5)


if __name__ == "__main__":
    unittest.main()
