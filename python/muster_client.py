# SPDX-License-Identifier: Apache-2.0
"""What a training loop tells Muster, and asks it. One file, standard library only: copy it beside your script.

    import muster_client

    run = muster_client.attempt()
    if run.resume_from:
        load(run.resume_from)
    for step in range(first, last):
        train(step)
        if run.should_checkpoint():
            save(run.checkpoint_dir)              # every rank, or rank 0, as your framework does
            run.checkpoint_saved(step)            # rank 0: from now on this is where a restart resumes
        if run.stopping():
            break

Outside Muster everything works and does nothing: `should_checkpoint` is false, reports go nowhere.
"""

import http.client
import json
import os
import signal
import socket
import threading
import time

__all__ = ["Attempt", "attempt", "ReportRefused"]


class ReportRefused(Exception):
    """The server does not take the report: this attempt is over, or the token is not its own."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connect(api, timeout):
    scheme, _, rest = api.partition(":")
    if scheme == "unix":
        return _UnixConnection(rest, timeout)
    host = rest.lstrip("/")
    if scheme == "https":
        return http.client.HTTPSConnection(host, timeout=timeout)
    return http.client.HTTPConnection(host, timeout=timeout)


class Attempt:
    """This start of this job. Make it early, in the main thread: it listens for signals."""

    def __init__(self, environment=None, clock=time.monotonic):
        env = os.environ if environment is None else environment
        self._clock = clock
        self._api = env.get("MUSTER_API", "")
        self._token = env.get("MUSTER_TOKEN", "")
        self.job = int(env.get("MUSTER_JOB_ID", "0"))
        self.number = int(env.get("MUSTER_ATTEMPT", "0"))
        self.rank = int(env.get("RANK", env.get("MUSTER_RANK", "0")))
        self.checkpoint_dir = env.get("MUSTER_CHECKPOINT_DIR", "")
        self.resume_from = env.get("MUSTER_RESUME_FROM", "")
        self._every = float(env.get("MUSTER_CHECKPOINT_EVERY_SECONDS", "0"))
        self._last = self._clock()
        self._asked = threading.Event()
        self._stopping = threading.Event()
        asked_by = env.get("MUSTER_CHECKPOINT_SIGNAL", "")
        if threading.current_thread() is threading.main_thread():
            if asked_by:
                self._listen(getattr(signal, asked_by), self._asked)
            if self.job:
                self._listen(signal.SIGTERM, self._stopping)

    @staticmethod
    def _listen(number, event):
        before = signal.getsignal(number)

        def heard(received, frame):
            event.set()
            if callable(before):
                before(received, frame)

        signal.signal(number, heard)

    def stopping(self):
        """Muster told this attempt to stop: save and leave within the job's grace."""
        return self._stopping.is_set()

    def should_checkpoint(self):
        """Asked by Muster or its operator, about to be stopped, or `checkpoint.every` has passed."""
        due = self._every > 0 and self._clock() - self._last >= self._every
        return due or self._asked.is_set() or self._stopping.is_set()

    def checkpoint_saved(self, step, path="", attempts=5):
        """A checkpoint of `step` is durable. `path`: where a restart finds it; by default the attempt's folder.

        Call it on one rank. False: the server could not be reached (training goes on; tell it again at the next one).
        Raises ReportRefused when this attempt does not count any more: another has taken over, so stop.
        """
        self._last = self._clock()
        self._asked.clear()
        if not (self._api and self._token and self.job):
            return False
        body = json.dumps({"attempt": self.number, "step": int(step), "path": path})
        for turn in range(attempts):
            if turn > 0:
                time.sleep(min(0.2 * 2**turn, 5))
            status, text = self._post(f"/v1/jobs/{self.job}/checkpoints", body)
            if status in (200, 201, 204):
                return True
            if status in (401, 403, 404, 409, 422):
                raise ReportRefused(text)
        return False

    def _post(self, target, body):
        try:
            connection = _connect(self._api, timeout=10)
            try:
                connection.request("POST", target, body,
                                   {"Authorization": "Bearer " + self._token, "Content-Type": "application/json"})
                answer = connection.getresponse()
                return answer.status, answer.read().decode(errors="replace")
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)


_attempt = None


def attempt():
    """The one Attempt of this process."""
    global _attempt
    if _attempt is None:
        _attempt = Attempt()
    return _attempt
