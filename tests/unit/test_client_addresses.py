"""Where queries and tokens are sent: redirects end in one clean line, and a token never crosses a network in the clear."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from torch_embers.mine.github.replies import plain_http

from servers.github import Answered, Asked, GitHub
from support import assert_clean_error, client, run_embers
from torch_embers.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


class Redirecting(GitHub):
    """Sends queries from /graphql to ``location``, and answers them at /elsewhere."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__()
        self.status, self.location = status, location
        self.answered: list[Asked] = []

    def answer(self, asked: Asked) -> Answered:
        if asked.path != "/elsewhere":
            return Answered({}, self.status, {"Location": self.location})
        self.answered.append(asked)
        return Answered({"data": {"ok": True}})


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
    with Redirecting(status, location) as server:
        with pytest.raises(SourceError, match="check --api-url") as caught:
            client(server.url, "a-token").graphql("{ok}", {}, check=lambda _: None)
        assert "\n" not in str(caught.value)
        assert server.answered == []


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_method_and_server_is_followed(status: int) -> None:
    with Redirecting(status, "/elsewhere") as server:
        answer = client(server.url, "a-token").graphql("{ok}", {}, check=lambda _: None)
        assert answer.data == {"data": {"ok": True}}
        assert ["{ok}" in asked.text for asked in server.answered] == [True]


def test_the_command_ends_without_a_traceback(database: Path) -> None:
    with Redirecting(302, "/login") as server:
        words = ("mine", "--source", "graphql", "--api-url", server.url, "--database", database)
        assert_clean_error(run_embers(*words, GITHUB_TOKEN="a-token"), 4, "302", "/login")


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


TOKEN = "ghp_AbCdEfGh0123456789_zY"
ESCAPED = "".join(f"\\u{ord(letter):04X}" for letter in TOKEN).replace("\\U", "\\u")


class Repeating(GitHub):
    """Repeats the token that it was sent, in an answer or an error."""

    def __init__(self, answered: Answered) -> None:
        super().__init__()
        self.answered = answered

    def answer(self, asked: Asked) -> Answered:
        return self.answered


@pytest.mark.parametrize(
    "answered",
    [
        Answered({"message": f"no scope: {TOKEN}"}, 400),
        Answered({"message": f"API rate limit exceeded for {TOKEN}"}, 403, {"X-RateLimit-Reset": "0"}),
        Answered({"message": f"Bad credentials {TOKEN}"}, 401),
        Answered(f'{{"message": "bad {ESCAPED}"}}'.encode(), 400),
        Answered({}, 302, {"Location": f"http://{TOKEN}.invalid/{TOKEN}"}),
        Answered({}, 302, {"Location": f"/repos/o/r/issues/1/{TOKEN}"}),
        Answered({}, 400, {"X-Said": TOKEN}),
        Answered(f"<html>{TOKEN}".encode()),
    ],
)
@pytest.mark.parametrize("asked", ["rest", "graphql"])
def test_a_token_that_a_server_repeats_is_in_no_message_and_no_log(
    caplog: pytest.LogCaptureFixture, answered: Answered, asked: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with Repeating(answered) as server, pytest.raises(SourceError) as caught:
        made = client(server.url, TOKEN)
        if asked == "rest":
            made.get("/repos/o/r/issues/1")
        else:
            made.graphql("{ok}", {}, check=lambda _: None)
    shown = str(caught.value) + str(made.usage.notes) + "".join(r.getMessage() for r in caplog.records if ours(r))
    assert TOKEN.lower() not in shown.lower()


def ours(record: logging.LogRecord) -> bool:
    """Whether `--verbose` shows it."""
    return record.name.startswith("torch_embers")


@pytest.mark.parametrize("text", [TOKEN, f"{TOKEN[:9]}{TOKEN}{TOKEN[9:]}", ESCAPED, TOKEN + ESCAPED])
def test_an_answer_that_repeats_the_token_is_read_without_it(text: str) -> None:
    with Repeating(Answered(f'{{"title": "a {text} b", "literal": "\\\\u0041"}}'.encode())) as server:
        answer = client(server.url, TOKEN).get("/repos/o/r/issues/1")
    assert TOKEN not in answer.data["title"]
    assert TOKEN not in answer.text
    assert answer.data["title"].startswith("a ")
