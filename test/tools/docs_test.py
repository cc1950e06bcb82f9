#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference is what the program writes: after a change of commands, keys or fields run `make docs`."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class DocsTest(unittest.TestCase):
    def test_the_reference_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([ROOT / "tools" / "docs", os.environ["MUSTER_BINARY"], folder],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            written = {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(folder).iterdir()}
        kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").iterdir()}
        self.assertEqual(sorted(kept), sorted(written))
        for name, text in sorted(written.items()):
            self.assertTrue(kept[name] == text, f"docs/reference/{name} is out of date; run `make docs`")


if __name__ == "__main__":
    unittest.main()
