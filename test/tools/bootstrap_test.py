#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/bootstrap asks of the system, which is played by scripts that write down how they were called."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "bootstrap"

PLAYED = {
    "dpkg-query": 'for package in "$@"; do :; done\n'
                  'case " $(cat missing) " in *" $package "*) exit 1 ;; *) echo installed ;; esac\n',
    "apt-get": 'echo "apt-get $*" >>calls\n[ "$1" != "$(cat apt_fails)" ] || { echo "E: no such thing"; exit 100; }\n'
               '[ "$1" != install ] || : >missing\n',
    "id": "cat user\n",
    "sudo": '[ "$(cat sudo_works)" = yes ] || exit 1\nshift\nexec "$@"\n',
}


class BootstrapTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="boot strap ")
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        for name, body in PLAYED.items():
            (self.here / name).write_text("#!/bin/sh\ncd \"$PLAY\"\n" + body, encoding="utf-8")
            (self.here / name).chmod(0o755)
        self.set(missing="", user="0", sudo_works="no", apt_fails="")

    def set(self, **files):
        for name, text in files.items():
            (self.here / name).write_text(text, encoding="utf-8")

    def bootstrap(self, *sets):
        environment = {**os.environ, "PATH": f"{self.here}:{os.environ['PATH']}", "PLAY": str(self.here),
                       "TMPDIR": str(self.here)}
        return subprocess.run([str(TOOL), *sets], env=environment, capture_output=True, text=True, check=False)

    def calls(self):
        path = self.here / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_nothing_missing_asks_nothing(self):
        done = self.bootstrap("build", "test", "bench", "fuzz", "lint", "python")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls(), [])

    def test_root_installs_what_is_missing_once(self):
        self.set(missing="ccache python3")
        done = self.bootstrap("build", "test")
        self.assertEqual((done.returncode, done.stdout), (0, "bootstrap: installing ccache python3\n"))
        self.assertEqual(self.calls(), [
            "apt-get update -q",
            "apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 ccache python3"])
        self.assertEqual(self.bootstrap("build", "test").returncode, 0)
        self.assertEqual(len(self.calls()), 2)

    def test_sudo_is_used_where_it_works(self):
        self.set(missing="ccache", user="1000", sudo_works="yes")
        self.assertEqual(self.bootstrap("build").returncode, 0)
        self.assertEqual(len(self.calls()), 2)

    def test_others_are_told_what_is_missing(self):
        self.set(missing="ccache mold", user="1000")
        done = self.bootstrap("build")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines(), [
            "bootstrap: these packages are missing, and this user may not install them:",
            "  ccache",
            "  mold",
            "bootstrap: have an administrator run: apt-get install --no-install-recommends ccache mold"])
        self.assertEqual(self.calls(), [])

    def test_a_failure_shows_what_apt_said(self):
        self.set(missing="ccache", apt_fails="install")
        done = self.bootstrap("build")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "E: no such thing\nbootstrap: could not install ccache\n")

    def test_sets_that_do_not_exist(self):
        done = self.bootstrap("build", "everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no set 'everything'", done.stderr)

    def test_boost_is_named_with_its_version(self):
        text = TOOL.read_text(encoding="utf-8")
        self.assertIn("libboost1.81-dev libboost-json1.81-dev", text)
        self.assertNotRegex(text, r"^[^#]*libboost(-json|-all)?-dev")


if __name__ == "__main__":
    unittest.main()
