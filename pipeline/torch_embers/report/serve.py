"""`embers report --serve-existing`: a look at a report over HTTP, on this machine only."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Timer
from typing import Any
from urllib.parse import unquote, urlsplit

from torch_embers.errors import InputError
from torch_embers.report.documentation import FOLDER as DOCUMENTATION
from torch_embers.report.folder import MARK
from torch_embers.report.rendering import POLICY

HOST = "127.0.0.1"
OWN_WORDS = "; ".join(
    (
        *("default-src 'self' 'unsafe-inline'", "img-src 'self' data:", "worker-src 'self' blob:"),
        *("base-uri 'none'", "form-action 'none'"),
    )
)
"""For the documentation, which is ours: its theme has scripts in its pages, and searches by a worker."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


MOST, LONGEST = 32, 60.0
"""Connections at a time, and seconds that each may last; one more is closed."""


class _Server(ThreadingHTTPServer):
    def __init__(self, *arguments: Any) -> None:
        self._free = BoundedSemaphore(MOST)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        end = Timer(LONGEST, self.shutdown_request, [request])
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever asked went away, or took too long."""


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        asked = Path(self.translate_path(getattr(self, "path", "/")))  # without `..`
        policy = OWN_WORDS if asked.is_relative_to(Path(self.directory, DOCUMENTATION)) else POLICY
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def do_GET(self) -> None:
        if self._is_ours():
            super().do_GET()

    def do_HEAD(self) -> None:
        if self._is_ours():
            super().do_HEAD()

    def _is_ours(self) -> bool:
        """Whether it was asked for under a name of this machine; a page elsewhere may have its name lead here."""
        try:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:
            name = None
        if name not in (HOST, "localhost"):
            self.send_error(421)
            return False
        asked = Path(self.directory, self.translate_path(self.path))
        if "\0" in unquote(self.path) or asked.resolve() != Path(self.directory).resolve() / asked.relative_to(
            self.directory
        ):
            self.send_error(404)
            return False
        return True

    def list_directory(self, *_: Any, **__: Any) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing: what is asked for is no news."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of a report; ``serve_forever`` starts it.

    Raises:
        InputError: the folder holds no report, or the port cannot be had.
    """
    if not (folder / MARK).is_file():
        raise InputError(f"{folder}: no report there, `embers report --out {folder}` writes one")
    try:
        return _Server((HOST, port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror}; choose another, 0 takes a free one") from error
