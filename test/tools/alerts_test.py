#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules of deploy/alerts: sound, tested, and only about metrics that the program prints.

deploy/alerts/metrics.txt lists those (a test of the API keeps it up to date). With `promtool` (Debian package
`prometheus`) the rules are checked and their cases run; without it only their names are.
"""

import pathlib
import re
import shutil
import subprocess
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "alerts"
PROMTOOL = shutil.which("promtool")


def printed():
    """Name -> (type, labels) of the metrics that the program prints."""
    rows = [line.split(" ") for line in (FOLDER / "metrics.txt").read_text(encoding="utf-8").splitlines()]
    return {row[0]: (row[1], set(filter(None, row[2].split(",")))) for row in rows}


def samples():
    """Names as they appear in queries: histograms have three each."""
    names = {}
    for name, (kind, labels) in printed().items():
        if kind != "histogram":
            names[name] = labels
            continue
        names[name + "_bucket"] = labels | {"le"}
        names[name + "_sum"] = labels
        names[name + "_count"] = labels
    return names


def expressions(text):
    """(line, expression) of every rule."""
    return [(number, line.split("expr:", 1)[1]) for number, line in enumerate(text.split("\n"), 1)
            if line.strip().startswith("expr:")]


class AlertsTest(unittest.TestCase):
    def setUp(self):
        self.rules = (FOLDER / "muster.rules.yaml").read_text(encoding="utf-8")

    def test_every_metric_is_one_that_the_program_prints(self):
        known = samples()
        found = expressions(self.rules)
        self.assertGreater(len(found), 10)
        for number, expression in found:
            for name, _, matchers in re.findall(r"\b(muster_\w+)(\{([^}]*)\})?", expression):
                self.assertIn(name, known, f"muster.rules.yaml:{number}: nobody prints {name}")
                for label in re.findall(r"(\w+)\s*[=!]~?=?", matchers):
                    self.assertIn(label, known[name], f"muster.rules.yaml:{number}: {name} has no label {label}")

    def test_every_rule_says_what_to_do_and_how_bad_it_is(self):
        for rule in self.rules.split("- alert:")[1:]:
            name = rule.split()[0]
            self.assertRegex(rule, r"severity: (page|ticket|info)\b", name)
            self.assertIn("summary:", rule, name)
            self.assertIn("description:", rule, name)

    @unittest.skipUnless(PROMTOOL, "no promtool here (Debian package prometheus)")
    def test_the_rules_are_sound(self):
        self.run_promtool("check", "rules", "muster.rules.yaml")

    @unittest.skipUnless(PROMTOOL, "no promtool here (Debian package prometheus)")
    def test_the_rules_fire_when_they_should(self):
        self.run_promtool("test", "rules", "muster.rules.test.yaml")

    def run_promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
