#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real jobs on a real server: what a person sees from submit to the end, and when the server is killed between."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import harness
from harness import ENDED, REDUCE, Server, job

PYTHON = "/usr/bin/python3"


def hold(folder):
    """A command that says that it runs, and runs until a file `go` is there (a named pipe: no polling)."""
    os.mkfifo(folder / "go")
    return ["/bin/sh", "-c", f"echo running; read line < {folder}/go; echo $line"]


def let_go(folder, line="done"):
    with open(folder / "go", "w", encoding="utf-8") as pipe:
        pipe.write(line + "\n")


class JobsTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.remove)
        self.server.start()
        self.folder = self.server.folder

    def test_a_gang_reduces_a_number(self):
        number = self.server.submit(job([PYTHON, "-c", REDUCE], replicas=4, gpu=8))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed")
        logs = [self.server.run("logs", number, "--rank", rank).stdout for rank in range(4)]
        self.assertEqual(logs, [f"rank {rank} of 4: the sum of the squares is 30\n" for rank in range(4)])

    def test_a_failure_names_rank_and_status(self):
        command = ["/bin/sh", "-c", 'if [ "$MUSTER_RANK" = 1 ]; then echo oh dear; exit 7; fi; exec sleep 600']
        number = self.server.submit(job(command, replicas=3, gpu=1))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "failed")
        why = self.server.run("why", number).stdout
        self.assertIn("rank 1 exited with 7", why)
        self.assertIn("oh dear", self.server.run("logs", number, "--rank", 1).stdout)

    def test_a_job_that_cannot_start_says_why(self):
        never = self.server.submit(job(["true"], replicas=1, gpu=9))
        self.assertIn("never", self.server.run("why", never).stdout.lower())
        first = self.server.submit(job(["/bin/sleep", "600"], replicas=4, gpu=8))
        self.server.wait(first, "running")
        second = self.server.submit(job(["true"], replicas=1, gpu=1))
        why = self.server.run("why", second).stdout
        self.assertIn("GPUs in use", why)
        self.assertIn("4", why)

    def test_a_killed_server_leaves_the_gang_alone(self):
        number = self.server.submit(job(hold(self.folder), replicas=1, gpu=8))
        self.server.wait(number, "running")
        before = self.server.job(number)
        self.server.kill()
        self.assertEqual(self.server.run("queue", check=False).returncode, 5)
        self.server.start()
        after = self.server.wait(number, "running")
        self.assertEqual(after["attempt"], before["attempt"])
        let_go(self.folder)
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed")
        self.assertEqual(self.server.run("logs", number).stdout, "running\ndone\n")

    def test_what_ends_while_the_server_is_away_is_reported(self):
        number = self.server.submit(job(hold(self.folder), gpu=1))
        self.server.wait(number, "running")
        self.assertEqual(self.server.stop(), 0)
        let_go(self.folder)
        self.server.start()
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed")

    def test_cancel_ends_even_who_ignores_it(self):
        stubborn = ["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]
        document = job(stubborn, gpu=1, checkpoint={"every": "5m", "grace": "200ms"})
        number = self.server.submit(document)
        self.server.wait(number, "running")
        self.server.run("cancel", number)
        self.assertEqual(self.server.wait(number, ENDED)["state"], "cancelled")

    def test_hold_release_requeue(self):
        self.server.run("pause", "starts", "--reason", "test")
        number = self.server.submit(job(["/bin/sleep", "600"], gpu=1))
        self.assertIn("paused", self.server.run("queue").stdout)
        self.server.run("hold", number)
        self.server.run("resume", "starts")
        self.assertEqual(self.server.job(number)["state"], "held")
        self.server.run("release", number)
        self.server.wait(number, "running")
        self.server.run("requeue", number)
        while self.server.job(number)["attempt"] < 2:
            self.server.wait(number, {"running", "starting", "waiting", "stopping"})
        self.server.wait(number, "running")

    def test_a_time_limit_holds(self):
        number = self.server.submit(job(["/bin/sleep", "600"], gpu=1, timeLimit="200ms"))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "timed-out")

    def test_words_reach_the_command_as_they_are(self):
        words = ["", "two words", "$HOME", "`id`", "; rm -rf /", "ünï", "a\nb", "*"]
        done = self.server.run("submit", "--name", "words", "--wait", "--", PYTHON, "-c",
                               "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
        number = int(done.stdout.split()[1])
        self.assertEqual(json.loads(self.server.run("logs", number).stdout), words)

    def test_exit_codes(self):
        self.assertEqual(self.server.run("show", 999, check=False).returncode, 4)
        self.assertEqual(self.server.run("queue", "--no-such", check=False).returncode, 2)
        self.assertEqual(self.server.run("submit", "--wait", "--", "false", check=False).returncode, 1)
        away = self.server.run("queue", check=False, env={"MUSTER_SERVER": "unix:/nonexistent"})
        self.assertEqual(away.returncode, 5)
        self.assertIn("no server answers", away.stderr)

    def test_a_second_server_is_refused(self):
        second = subprocess.run([harness.BINARY, "up", "--state-dir", self.server.state, "--socket",
                                 self.folder / "other", "--allow-root"], capture_output=True, text=True, check=False,
                                timeout=harness.DEADLINE_S)
        self.assertEqual(second.returncode, 1)
        self.assertIn(str(self.server.process.pid), second.stderr)

    def test_the_journal_decides_the_same_again(self):
        for _ in range(3):
            self.server.wait(self.server.submit(job(["true"], gpu=8)), ENDED)
        self.server.stop()
        done = self.server.run("journal", "verify", self.server.state)
        self.assertIn("clean", done.stdout)

    @unittest.skipUnless(os.getuid() == 0, "needs two users")
    def test_others_see_neither_environment_nor_secret(self):
        secret = self.folder / "secret"
        secret.write_text("key-of-ana\n", encoding="utf-8")
        secret.chmod(0o600)
        number = self.server.submit(job(["/bin/sh", "-c", "echo $TOKEN $PLAIN"], gpu=1, env={"PLAIN": "mine"},
                                        secretEnv={"TOKEN": {"file": str(secret)}}))
        self.server.wait(number, ENDED)
        self.assertEqual(self.server.run("logs", number).stdout, "key-of-ana mine\n")
        self.assertNotIn(b"key-of-ana", (self.server.state / "journal.db").read_bytes())
        own = json.loads(self.server.run("show", number, "--format", "json").stdout)
        self.assertIn("mine", json.dumps(own))
        os.chmod(self.folder, 0o755)
        other = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.BINARY, "show",
                                str(number), "--format", "json"], capture_output=True, text=True, check=False,
                               env={"MUSTER_SERVER": f"unix:{self.server.socket}", "HOME": "/"})
        self.assertNotIn("mine", other.stdout)
        cancel = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness.BINARY,
                                 "cancel", str(number)], capture_output=True, text=True, check=False,
                                env={"MUSTER_SERVER": f"unix:{self.server.socket}", "HOME": "/"})
        self.assertIn(cancel.returncode, (3, 5, 6), cancel.stderr)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main()
