#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training frameworks as people use them, on a real server: PyTorch DDP with and without torchrun, checkpoints that are
resumed, Open MPI."""

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import sys
import unittest

from harness import ENDED, Server, job, processes_of

PYTHON = "/usr/bin/python3"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DDP = str(ROOT / "examples" / "ddp.py")
HAS_TORCH = importlib.util.find_spec("torch") is not None
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def losses(text):
    """{step: loss} of what rank 0 printed."""
    return {int(step): float(loss) for step, loss in re.findall(r"step (\d+) loss ([0-9.]+)", text)}


class FrameworksTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(virtual="2x2")
        self.addCleanup(self.server.remove)
        self.server.start()

    def ddp(self, steps, **spec):
        """DDP on 2 replicas of 2 devices, a process a device."""
        return job([PYTHON, DDP, str(steps)], replicas=2, gpu=2, launch="perGpu", env=ONE_THREAD,
                   checkpoint={"every": "300ms", "onSignal": "SIGUSR1", "grace": "20s",
                               "dir": str(self.server.folder / "checkpoints")}, **spec)

    def wait_for_checkpoint(self, number, step=0):
        """The job once it has reported one of `step` or later."""
        while True:
            now = self.server.job(number)
            if "checkpoint" in now and now["checkpoint"]["step"] >= step:
                return now
            self.assertNotIn(now["state"], ENDED, self.server.run("why", number).stdout)
            self.server.next_event(number)

    def log(self, number, attempt):
        return self.server.run("logs", number, "--attempt", attempt).stdout

    @unittest.skipUnless(HAS_TORCH, "no python3-torch here")
    def test_ddp_with_a_process_a_device(self):
        number = self.server.submit(self.ddp(60))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed", self.log(number, 1))
        seen = losses(self.log(number, 1))
        self.assertLess(seen[50], seen[0] / 2)

    @unittest.skipUnless(HAS_TORCH, "no python3-torch here")
    def test_ddp_goes_on_after_a_requeue(self):
        number = self.server.submit(self.ddp(1_000_000))
        before = self.wait_for_checkpoint(number, step=50)
        self.server.run("requeue", number)
        while self.server.job(number)["attempt"] < 2 or self.server.job(number)["state"] != "running":
            self.server.next_event(number)
        self.server.wait_for_log(number, "resumed after step", attempt=2)
        self.server.wait_for_log(number, " loss ", attempt=2)
        second = self.log(number, 2)
        resumed = int(re.search(r"resumed after step (\d+)", second).group(1))
        self.assertGreaterEqual(resumed, before["checkpoint"]["step"])
        first_loss = losses(self.log(number, 1))[0]
        self.assertLess(losses(second)[min(losses(second))], first_loss / 2, "it goes on, it does not begin again")
        self.server.run("cancel", number)
        self.server.wait(number, ENDED)

    @unittest.skipUnless(HAS_TORCH, "no python3-torch here")
    def test_ddp_goes_on_after_a_rank_was_killed(self):
        number = self.server.submit(self.ddp(1_000_000, restart={"limit": 3}))
        self.wait_for_checkpoint(number)
        for pid in processes_of(number, RANK=3):
            os.kill(pid, signal.SIGKILL)
        while self.server.job(number)["attempt"] < 2:
            self.server.next_event(number)
        self.server.wait_for_log(number, "resumed after step", attempt=2)
        self.server.run("cancel", number)
        self.server.wait(number, ENDED)

    @unittest.skipUnless(HAS_TORCH, "no python3-torch here")
    def test_torchrun_finds_its_place(self):
        # Debian's torchrun 1.13 fails on Python 3.11 unless it is told where to put its output.
        command = [PYTHON, "-m", "torch.distributed.run", "--redirects", "1", "--tee", "1", "--log_dir",
                   str(self.server.folder / "torchrun"), DDP, "30"]
        number = self.server.submit(job(command, replicas=2, gpu=2, env=ONE_THREAD))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed", self.log(number, 1))
        self.assertIn("finished at step 29", self.log(number, 1))

    @unittest.skipUnless(shutil.which("mpirun"), "no openmpi-bin here")
    def test_mpirun(self):
        command = ["/bin/sh", "-c", "mpirun --allow-run-as-root --oversubscribe -np 4 "
                   "sh -c 'echo hello from $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE'"]
        number = self.server.submit(job(command, gpu=2))
        self.assertEqual(self.server.wait(number, ENDED)["state"], "completed", self.log(number, 1))
        self.assertEqual(sorted(self.log(number, 1).strip().split("\n")), [f"hello from {i} of 4" for i in range(4)])


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main()
