#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that our pages tell people to type do work. MUSTER_BINARY names the program (ctest sets it)."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ["README.md", "docs/guides/simulate.md"]


def commands_of(page):
    """Lines of the shell blocks that call muster or prepare files for it, continued lines joined."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        for line in block.replace("\\\n", " ").split("\n"):
            words = line.split("#")[0].strip()
            if words.startswith(("muster ", "cp ")):
                yield words


@unittest.skipUnless(os.environ.get("MUSTER_BINARY"), "needs MUSTER_BINARY")
class PagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster pages ")
        self.addCleanup(folder.cleanup)
        self.here = folder.name
        shutil.copytree(ROOT / "examples", pathlib.Path(self.here) / "examples")
        program = pathlib.Path(os.environ["MUSTER_BINARY"]).parent
        self.state = pathlib.Path(self.here) / "state"
        (pathlib.Path(self.here) / "train.py").write_text("print('trained')\n", encoding="utf-8")
        self.environment = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}",
                            "MUSTER_SERVER": f"unix:{self.state}/muster.sock"}

    def as_here(self, line):
        """A line about the machine's own server, made to be about one of the test's, with GPUs that it can play with."""
        if line.startswith("muster up"):
            return f"{line} --state-dir '{self.state}' --virtual 1x8 --allow-root 2>/dev/null"
        if line.startswith("muster down"):
            return f"{line} --state-dir '{self.state}' 2>/dev/null"
        return line

    def run_line(self, line):
        return subprocess.run(line, shell=True, cwd=self.here, env=self.environment, capture_output=True, text=True,
                              check=False, timeout=120)

    def test_every_command_works(self):
        for page in PAGES:
            commands = list(commands_of(page))
            self.assertGreater(len(commands), 2, page)
            for line in commands:
                with self.subTest(page=page, line=line):
                    done = self.run_line(self.as_here(line))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    if "--follow" not in line:  # it says there how the job ended
                        self.assertEqual(done.stderr, "")

    def test_every_example_is_valid(self):
        names = sorted(path.name for path in (ROOT / "examples").glob("*.yaml"))
        done = self.run_line("muster validate " + " ".join(f"examples/{name}" for name in names))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "".join(f"examples/{name}: valid\n" for name in names))


if __name__ == "__main__":
    unittest.main()
