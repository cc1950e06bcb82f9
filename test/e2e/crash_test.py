#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the server at random points under load:  crash_test.py [POINTS] [SEED]

Clients go on submitting, with idempotency keys as a careful program would, while the server is killed and started
again. In the end: no acknowledged job is lost, no attempt ran twice (each appends one line to a file when it starts),
every job that was running was adopted, and the journal decides the same anew.
"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import sys
import threading
import time

from harness import ENDED, Server, job

CLIENTS = 4


class Client(threading.Thread):
    """Submits until told to stop; notes what was acknowledged."""

    def __init__(self, server, number, witness, up, stop):
        super().__init__(daemon=True)
        self.server, self.number, self.witness, self.up, self.stop = server, number, witness, up, stop
        self.acknowledged = {}  # key -> job

    def run(self):
        turn = 0
        while not self.stop.is_set():
            key = f"client-{self.number}-{turn}"
            command = ["/bin/sh", "-c", f'echo "$MUSTER_JOB_ID $MUSTER_ATTEMPT" >> {self.witness}']
            body = json.dumps(job(command, name=key))
            while not self.stop.is_set():
                try:
                    status, text = self.server.request("POST", "/v1/jobs", body,
                                                       {"Idempotency-Key": key, "Content-Type": "application/json"})
                except (OSError, http.client.HTTPException):
                    self.up.wait()
                    continue  # the server was away; the same key again
                if status == 201:
                    self.acknowledged[key] = json.loads(text)["jobs"][0]["id"]
                    break
                assert status == 503, (status, text)
            turn += 1


def crash(server, points, rng, up):
    for _ in range(points):
        # Load, for a random while: the point of the kill is what is being varied.
        time.sleep(rng.random() * 0.1)
        up.clear()
        server.kill()
        server.start()
        up.set()


def main():
    points = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("MUSTER_CRASH_POINTS", "300"))
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    print(f"crash_test.py {points} {seed}", flush=True)
    rng = random.Random(seed)
    with Server(virtual="2x4") as server:
        witness = server.folder / "witness"
        witness.touch()
        fifo = server.folder / "go"
        os.mkfifo(fifo)
        long_job = server.submit(job(["/bin/sh", "-c", f"read line < {fifo}"], gpu=4, name="long"))
        server.wait(long_job, "running")
        up, stop = threading.Event(), threading.Event()
        up.set()
        clients = [Client(server, i, witness, up, stop) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        crash(server, points, rng, up)
        stop.set()
        for client in clients:
            client.join()
        acknowledged = {key: number for client in clients for key, number in client.acknowledged.items()}
        check(server, acknowledged, long_job, fifo, witness)
        print(f"{points} kills, {len(acknowledged)} jobs acknowledged, none lost, none run twice, journal clean")


def check(server, acknowledged, long_job, fifo, witness):
    assert acknowledged, "nothing was submitted"
    assert len(set(acknowledged.values())) == len(acknowledged), "two keys, one job"
    held = server.job(long_job)
    assert (held["state"], held["attempt"]) == ("running", 1), held
    with open(fifo, "w", encoding="utf-8") as pipe:
        pipe.write("go\n")
    for number in [long_job, *acknowledged.values()]:
        state = server.wait(number, ENDED)["state"]
        assert state == "completed", (number, state, server.job(number))
    runs = collections.Counter(pathlib.Path(witness).read_text(encoding="utf-8").split("\n")[:-1])
    twice = {run: count for run, count in runs.items() if count > 1}
    assert not twice, f"ran twice: {twice}"
    ran = {int(run.split()[0]) for run in runs}
    lost = set(acknowledged.values()) - ran
    assert not lost, f"completed but never ran: {sorted(lost)[:10]}"
    with contextlib.suppress(ProcessLookupError):
        server.stop()
    done = server.run("journal", "verify", server.state)
    assert "clean" in done.stdout, done.stdout


if __name__ == "__main__":
    main()
