"""Child processes that never outlive the tests: own process group, log file, readiness probe, killed at exit."""

from __future__ import annotations

import atexit
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

HOST = "127.0.0.1"
START_SECONDS = 180.0
"""Generous: the slowest server takes 3 s alone, and far more where a machine of two cores has 20 other processes."""
POLL_SECONDS = 0.05
LOG_TAIL = 4_000
"""Characters of a log that are shown when a server does not start."""
START_ATTEMPTS = 3


class StandInError(RuntimeError):
    """A stand-in server could not be started or refused an order; the text holds the end of its log."""


def free_port() -> int:
    """Return a TCP port that was free on the loopback interface a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def http_call(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 30,
) -> tuple[int, bytes]:
    """Send one request and return status and body, whatever the status is.

    Raises OSError or http.client.HTTPException when there is no complete answer.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or HOST, parts.port, timeout=timeout)
    try:
        target = parts.path or "/"
        connection.request(method, f"{target}?{parts.query}" if parts.query else target, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Server(ABC):
    """A server in a child process; subclasses say how to start it.

    ``start()`` and ``stop()`` may be called from a session fixture, or use the object as a context manager.
    Each server owns a temporary directory (``self.directory``) with its log, removed on stop.
    """

    name = "server"
    ready_path = "/"

    def __init__(self) -> None:
        self.port = 0
        self.directory = Path()
        self.start_seconds = 0.0
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Base address without a trailing slash."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """Standard output and error of the child."""
        return self.directory / f"{self.name}.log"

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line; called once ``port`` and ``directory`` are set."""

    def prepare(self) -> None:
        """Write what the command needs into ``self.directory``; nothing by default."""
        return

    def started(self) -> None:
        """Run once the server answers; nothing by default."""
        return

    def start(self) -> Self:
        """Start the server and wait until it answers.

        Raises StandInError with the end of the log when it dies or stays silent.
        """
        if self._child is not None:
            raise StandInError(f"{self.name} is already running")
        begin = time.monotonic()
        self.directory = Path(tempfile.mkdtemp(prefix=f"embers-{self.name}-"))
        try:
            self._launch_with_retries()
            self.started()
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - begin
        return self

    def stop(self) -> None:
        """Kill the whole process group and remove the temporary directory; harmless when not running."""
        self._kill()
        atexit.unregister(self.stop)
        if self.directory != Path():
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = Path()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def memory_mib(self) -> float:
        """Peak resident memory of the child in MiB, 0.0 where /proc does not tell."""
        if self._child is None:
            return 0.0
        try:
            lines = Path(f"/proc/{self._child.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)

    def _launch_with_retries(self) -> None:
        # The port is chosen before the server binds it, so another process may be faster.
        for attempt in range(START_ATTEMPTS):
            self.port = free_port()
            self.prepare()
            try:
                self._launch()
            except StandInError as error:
                self._kill()
                if "EADDRINUSE" not in str(error) and "already in use" not in str(error):
                    raise
                if attempt == START_ATTEMPTS - 1:
                    raise
            else:
                return

    def _launch(self) -> None:
        atexit.register(self.stop)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=Path(__file__).parent,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._child.poll() is not None:
                raise StandInError(f"{self.name} ended with {self._child.returncode}:\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise StandInError(f"{self.name} is silent after {START_SECONDS:.0f} s:\n{self._log_tail()}")
            time.sleep(POLL_SECONDS)

    def _answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            status, _body = http_call(self.url + self.ready_path, timeout=5)
            return status < 500
        return False

    def _log_tail(self) -> str:
        try:
            return self.log.read_text("utf-8", "replace")[-LOG_TAIL:]
        except OSError as error:
            return f"(no log: {error})"

    def _kill(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
