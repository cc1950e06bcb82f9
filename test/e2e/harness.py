# SPDX-License-Identifier: Apache-2.0
"""A real `muster up` on virtual nodes, and what a person or a program does with it.

Nothing here sleeps: a server says when it is ready (the systemd notification), jobs are followed by the event stream,
and every wait has a deadline after which the test fails with what the server wrote.
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

BINARY = os.environ["MUSTER_BINARY"]
DEADLINE_S = 60
ENDED = {"completed", "failed", "cancelled", "timed-out"}


# Waits for the end of its input, which comes however the test ends, then ends every process that names the folder.
REAPER = """
import os, pathlib, shutil, signal, sys
sys.stdin.read()
folder = sys.argv[1].encode()
for _ in range(10):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if folder in text and int(process.name) != os.getpid():
            found.append(int(process.name))
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if not found:
        break
shutil.rmtree(folder, ignore_errors=True)
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=DEADLINE_S):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """One state directory, and the server processes that come and go on it."""

    def __init__(self, virtual="4x8", options=()):
        # Short: the path of a Unix socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-", dir="/tmp"))
        os.chmod(self.folder, 0o755)
        self.socket = self.folder / "s"
        self.state = self.folder / "state"
        self.options = ["--virtual", virtual, "--allow-root", *options]
        self.process = None
        self.log = open(self.folder / "server.log", "ab+")
        self.reaper = subprocess.Popen([sys.executable, "-c", REAPER, str(self.folder) + "/"], stdin=subprocess.PIPE,
                                       start_new_session=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.output(), file=sys.stderr)
        self.remove()

    def start(self):
        notify = self.folder / "notify"
        with contextlib.suppress(FileNotFoundError):
            notify.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(notify))
            ready.settimeout(DEADLINE_S)
            self.process = subprocess.Popen(
                [BINARY, "up", "--state-dir", self.state, "--socket", self.socket, *self.options],
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                env={**os.environ, "NOTIFY_SOCKET": str(notify)})
            while b"READY=1" not in ready.recv(4096):
                pass

    def kill(self):
        """As the power button would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE_S)

    def stop(self):
        """Clean; jobs stay. The exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)

    def output(self):
        self.log.flush()
        return (self.folder / "server.log").read_text(errors="replace")

    def remove(self):
        """Ends the server and all that runs under it, and takes the folder away."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(Exception):
                self.cancel_all()
            self.stop()
        self.log.close()
        self.reaper.stdin.close()
        self.reaper.wait(DEADLINE_S)

    def cancel_all(self):
        for job in self.get("/v1/jobs?limit=1000")["jobs"]:
            if job["state"] not in ENDED:
                self.request("POST", f"/v1/jobs/{job['id']}/cancel")
        for job in self.get("/v1/jobs?limit=1000")["jobs"]:
            if job["state"] not in ENDED:
                self.wait(job["id"], ENDED)

    # --- HTTP
    def request(self, method, target, body=None, headers=None):
        """(status, text of the answer)"""
        connection = UnixConnection(str(self.socket))
        try:
            connection.request(method, target, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, target):
        status, text = self.request("GET", target)
        assert status == 200, (target, status, text)
        return json.loads(text)

    def job(self, number):
        return self.get(f"/v1/jobs/{number}")

    def wait(self, number, states):
        """The job once its state is one of `states`."""
        states = {states} if isinstance(states, str) else set(states)
        connection = UnixConnection(str(self.socket))
        try:
            connection.request("GET", f"/v1/events?job={number}&after=0")
            stream = connection.getresponse()
            assert stream.status == 200, stream.read()
            while True:
                job = self.job(number)
                if job["state"] in states:
                    return job
                assert job["state"] not in ENDED, f"job {number} is {job['state']}, not {states}: {job}"
                while stream.readline().strip():  # one event, or a comment that keeps the stream alive
                    pass
        finally:
            connection.close()

    def next_event(self, number):
        """Returns when something happened to the job since the last call (or at once, the first time)."""
        self._seen = getattr(self, "_seen", {})
        if number not in self._seen:
            self._seen[number] = 0
            return
        connection = UnixConnection(str(self.socket))
        try:
            connection.request("GET", f"/v1/events?job={number}&after={self._seen[number]}")
            stream = connection.getresponse()
            while True:
                line = stream.readline().decode()
                if line.startswith("id:"):
                    self._seen[number] = int(line[3:])
                    return
        finally:
            connection.close()

    def wait_for_log(self, number, text, attempt, rank=0):
        """Follows a rank's output until `text` is in it."""
        connection = UnixConnection(str(self.socket))
        try:
            connection.request("GET", f"/v1/jobs/{number}/logs/stream?attempt={attempt}&rank={rank}&offset=0")
            stream = connection.getresponse()
            seen = ""
            while text not in seen:
                line = stream.readline().decode()
                assert line, f"the log ended without {text!r}: {seen}"
                if line.startswith("data:"):
                    seen += json.loads(line[5:]).get("text", "")
        finally:
            connection.close()

    # --- command line
    def run(self, *arguments, text=None, check=True, cwd=None, env=None):
        """A command line as a person gives it; its process once it has ended."""
        done = subprocess.run([BINARY, *map(str, arguments)], input=text, capture_output=True, text=True, cwd=cwd,
                              timeout=DEADLINE_S, check=False,
                              env={**os.environ, "MUSTER_SERVER": f"unix:{self.socket}", **(env or {})})
        if check:
            assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def submit(self, document, *options):
        """Submits a document (a dict); the job's number."""
        done = self.run("submit", "-", "--format", "json", *options, text=json.dumps(document))
        return json.loads(done.stdout)["jobs"][0]["id"]


def job(command, replicas=1, gpu=0, name="test", **spec):
    """A job document."""
    task = {"name": "worker", "replicas": replicas, "command": command, "resources": {"cpu": 1, "memory": "64Mi"}}
    if gpu:
        task["resources"]["gpu"] = gpu
    for key in ("env", "secretEnv", "launch", "workdir"):
        if key in spec:
            task[key] = spec.pop(key)
    return {"apiVersion": "muster/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"tasks": [task], **spec}}


def processes_of(number, **variables):
    """Processes whose environment says that they belong to the job, and has these variables too."""
    wanted = {f"{name}={value}".encode() for name, value in {"MUSTER_JOB_ID": number, **variables}.items()}
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted.issubset(words):
            found.append(int(folder.name))
    return sorted(found)


REDUCE = r"""
import os, socket, struct
rank, world = int(os.environ["MUSTER_RANK"]), int(os.environ["MUSTER_WORLD_SIZE"])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
mine = (rank + 1) ** 2
if rank == 0:
    total = mine
    with socket.create_server(address) as server:
        peers = [server.accept()[0] for _ in range(world - 1)]
        for peer in peers:
            total += struct.unpack("!q", peer.recv(8, socket.MSG_WAITALL))[0]
        for peer in peers:
            peer.sendall(struct.pack("!q", total))
else:
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            os.sched_yield()
    peer.sendall(struct.pack("!q", mine))
    total = struct.unpack("!q", peer.recv(8, socket.MSG_WAITALL))[0]
print(f"rank {rank} of {world}: the sum of the squares is {total}", flush=True)
"""
