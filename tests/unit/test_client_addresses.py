"""Where queries and tokens are sent: redirects end in one clean line, and a token never crosses a network in the clear."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, client, run_embers
from torch_embers.errors import SourceError
from torch_embers.mine.github.replies import plain_http

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Redirecting(BaseHTTPRequestHandler):
    """Sends queries from /graphql to ``location``, and answers them at /elsewhere."""

    status = 301
    location = ""
    answered = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        here = self.path == "/elsewhere"
        body = json.dumps({"data": {"ok": True}}).encode() if here else b""
        type(self).answered += here
        self.send_response(200 if here else self.status)
        if not here:
            self.send_header("location", self.location)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


@contextmanager
def redirecting(status: int, location: str) -> Iterator[tuple[str, type[_Redirecting]]]:
    handler = type("Handler", (_Redirecting,), {"status": status, "location": location, "answered": 0})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", handler
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/elsewhere"),
        (302, "/elsewhere"),
        (307, "http://127.0.0.2:1/elsewhere"),
        (308, "https://127.0.0.1/elsewhere"),
        (307, "/graphql"),
        (302, "not an address"),
    ],
)
def test_a_redirected_query_is_one_clean_line(status: int, location: str) -> None:
    with redirecting(status, location) as (url, handler):
        with pytest.raises(SourceError, match="check --api-url") as caught:
            client(url, "a-token").graphql("{ok}", {}, check=lambda _: None)
        assert "\n" not in str(caught.value)
        assert handler.answered == 0


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_method_and_server_is_followed(status: int) -> None:
    with redirecting(status, "/elsewhere") as (url, handler):
        answer = client(url, "a-token").graphql("{ok}", {}, check=lambda _: None)
        assert answer.data == {"data": {"ok": True}}
        assert handler.answered == 1


def test_the_command_ends_without_a_traceback(database: Path) -> None:
    with redirecting(302, "/login") as (url, _):
        done = run_embers(
            "mine", "--source", "graphql", "--api-url", url, "--database", database, GITHUB_TOKEN="a-token"
        )
    assert_clean_error(done, 4, "302", "/login")


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("https://api.github.com", False),
        ("http://api.github.com", True),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("http://localhost", False),
        ("http://localhost.example.org", True),
        ("http://10.0.0.1", True),
        ("http://127.0.0.1.example.org", True),
        ("http://127.0.0.1@example.org", True),
    ],
)
def test_plain_http_to_another_machine_is_recognised(address: str, plain: bool) -> None:
    assert plain_http(address) is plain


def test_a_token_is_not_sent_in_the_clear_unless_asked_for(database: Path) -> None:
    command = ("mine", "--source", "graphql", "--api-url", "http://192.0.2.1:9", "--database", database)
    quick = {"EMBERS_TIMEOUT": "1", "EMBERS_RETRIES": "0", "GITHUB_TOKEN": "a-token"}
    assert_clean_error(run_embers(*command, **quick), 3, "not encrypted", "EMBERS_ALLOW_HTTP=1")
    assert_clean_error(run_embers(*command, **quick, EMBERS_ALLOW_HTTP="1"), 4)
