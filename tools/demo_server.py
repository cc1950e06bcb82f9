#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live half of `make demo`: a server on this machine, real gangs, and a kill -9 between.

Every sentence that is printed was checked first; a false one ends the demo with an error.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "e2e"))
from harness import ENDED, REDUCE, Server, job, processes_of  # noqa: E402  (MUSTER_BINARY must be set)

PYTHON = "/usr/bin/python3"


def say(text):
    print(text, flush=True)


def check(holds, sentence):
    """Prints a sentence that holds; ends the demo otherwise."""
    if not holds:
        sys.exit(f"demo: this should be true and is not: {sentence}")
    say(f"  {sentence}")


def show(server, *arguments):
    say(f"\n$ muster {' '.join(map(str, arguments))}")
    text = server.run(*arguments).stdout
    say("\n".join("  " + line for line in text.rstrip().split("\n")))
    return text


def reduce_across_ranks(server):
    number = server.submit(job([PYTHON, "-c", REDUCE], replicas=4, gpu=8, name="reduce"))
    server.wait(number, ENDED)
    text = show(server, "logs", number)
    check(server.job(number)["state"] == "completed" and "the sum of the squares is 30" in text,
          "four processes on four nodes started together and agreed on 1 + 4 + 9 + 16 = 30")


def explain_who_waits(server, fifo):
    running = server.submit(job(["/bin/sh", "-c", f"read line < {fifo}; echo $line"], replicas=2, gpu=8, name="long"))
    server.wait(running, "running")
    waiting = server.submit(job(["true"], replicas=3, gpu=8, name="wide"))
    show(server, "queue")
    why = show(server, "why", waiting)
    states = {each["id"]: each["state"] for each in server.get("/v1/jobs")["jobs"]}
    check(states[running] == "running" and states[waiting] == "waiting" and "GPUs in use" in why,
          f"job {waiting} wants 3 nodes of 8 GPUs; 2 are free, and nothing is started in part")
    return running, waiting


def survive_a_kill(server, running, waiting, fifo):
    before = processes_of(running)
    say("\n$ kill -9 SERVER")
    server.kill()
    check(before and processes_of(running) == before, f"the server is gone; the gang runs on ({len(before)} processes)")
    server.start()
    show(server, "queue")
    now = server.job(running)
    check(now["state"] == "running" and now["attempt"] == 1, f"started again, it has adopted job {running}: still its first attempt")
    with open(fifo, "w", encoding="utf-8") as pipe:
        pipe.write("done\n")
    ends = [server.wait(number, ENDED)["state"] for number in (running, waiting)]
    check(ends == ["completed", "completed"], f"job {running} has ended well, and job {waiting} got its turn")


def main():
    with Server(virtual="4x8") as server:
        fifo = server.folder / "go"
        os.mkfifo(fifo)
        say("A server on this machine, as 4 virtual nodes of 8 GPUs (`muster up --virtual 4x8`):")
        show(server, "nodes")
        reduce_across_ranks(server)
        running, waiting = explain_who_waits(server, fifo)
        survive_a_kill(server, running, waiting, fifo)
        check(server.stop() == 0, "the server was stopped")
        text = show(server, "journal", "verify", server.state)
        check("clean" in text, "its journal, decided anew, gives the same decisions")


if __name__ == "__main__":
    main()
