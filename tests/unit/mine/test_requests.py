"""Where queries and tokens are sent, and which answers are asked for again, waited for or final."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from mines import QUICK
from servers.github import Answered, Asked, GitHub
from support import assert_clean_error, run_embers
from torch_embers.errors import AuthenticationError, NotReachableError, SourceError
from torch_embers.mine.github_api import GitHubApi, UnansweredError
from torch_embers.mine.plan import is_open

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOKEN = "ghp_AbCdEfGh0123456789_zY"


class Answering(GitHub):
    """Answers as it is told, the last again and again."""

    def __init__(self, *answers: Answered) -> None:
        super().__init__()
        self.answers = list(answers)
        self.tokens: list[str | None] = []

    def answer(self, asked: Asked) -> Answered:
        self.tokens.append(asked.token)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def get(server: GitHub, *tokens: str, **given: Any) -> Any:
    with GitHubApi(server.url, list(tokens), QUICK, **given) as api:
        return api.get("/repos/o/r/issues/1").data


def query(server: GitHub, *tokens: str) -> Any:
    with GitHubApi(server.url, list(tokens), QUICK) as api:
        return api.query("{ok}", {}, check=lambda _: None).data


@pytest.mark.parametrize("location", ["http://127.0.0.2:1/elsewhere", "https://127.0.0.1/elsewhere", "not an address"])
@pytest.mark.parametrize(("ask", "status"), [(get, 301), (query, 301), (query, 302)])
def test_a_redirect_to_another_server_is_one_clean_line_and_shows_it_no_token(
    ask: Callable[..., Any], status: int, location: str
) -> None:
    with Answering(Answered({}, status, {"Location": location})) as server:
        with pytest.raises(SourceError) as caught:
            ask(server, "a-token")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "is_plain"),
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
def test_plain_http_to_another_machine_is_recognised(address: str, is_plain: bool) -> None:
    assert is_open(address) is is_plain


def test_a_token_is_not_sent_in_the_clear_unless_asked_for(database: Path) -> None:
    command = ("mine", "--source", "graphql", "--api-url", "http://192.0.2.1:9", "--database", database)
    quick = {"EMBERS_TIMEOUT": "1", "EMBERS_RETRIES": "1", "EMBERS_BACKOFF": "0.01", "GITHUB_TOKEN": "a-token"}
    assert_clean_error(run_embers(*command, **quick), 3, "not encrypted", "EMBERS_ALLOW_HTTP=1")
    assert_clean_error(run_embers(*command, **quick, EMBERS_ALLOW_HTTP="1"), 4)


@pytest.mark.parametrize(
    "answered",
    [
        Answered({"message": f"no scope: {TOKEN}"}, 400),
        Answered({"message": f"Bad credentials {TOKEN}"}, 401),
        Answered({}, 301, {"Location": f"http://{TOKEN}.invalid/{TOKEN}"}),
        Answered({}, 400, {"X-Said": TOKEN}),
        Answered(f"<html>{TOKEN}".encode(), 500),
    ],
)
@pytest.mark.parametrize("ask", [get, query])
def test_a_token_that_a_server_repeats_is_in_no_message_and_no_log(
    caplog: pytest.LogCaptureFixture, answered: Answered, ask: Callable[..., Any]
) -> None:
    caplog.set_level(logging.DEBUG)
    with Answering(answered) as server, pytest.raises(SourceError) as caught:
        ask(server, TOKEN)
    logged = "".join(one.getMessage() for one in caplog.records if one.name.startswith("torch_embers"))
    assert TOKEN.lower() not in (str(caught.value) + logged).lower()


GOOD = Answered({"number": 1})


@pytest.mark.parametrize(
    "first",
    [
        Answered({"message": "oops"}, 502),
        Answered(b'{"number": 1'),
        Answered({"message": "slow down"}, 429, {"Retry-After": "0"}),
        Answered({"message": "You have exceeded a secondary rate limit"}, 403, {"Retry-After": "0"}),
        Answered({"message": "timeout"}, 408),
    ],
)
def test_an_answer_that_is_broken_or_limited_is_asked_for_again(first: Answered) -> None:
    with Answering(first, GOOD) as server:
        assert get(server, "a-token")["number"] == 1


def test_odd_numbers_in_headers_are_not_believed() -> None:
    odd = {"X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "-1", "Date": "some day"}
    with Answering(Answered({"number": 1}, 200, odd)) as server:
        assert get(server, "a-token")["number"] == 1


def test_what_stays_broken_is_an_error_with_its_reason() -> None:
    with Answering(Answered({"message": "the unicorn is angry"}, 503)) as server:
        with pytest.raises(UnansweredError, match=r"unicorn.*try again later"):
            get(server, "a-token")
        assert len(server.tokens) == QUICK.retries + 1


def test_a_refused_token_is_left_out_and_the_last_one_is_an_error() -> None:
    refused = Answered({"message": "Bad credentials"}, 401)
    with Answering(refused, GOOD) as server:
        assert get(server, "token-one", "token-two")["number"] == 1
        assert server.tokens == ["token-one", "token-two"]
    with Answering(refused) as server, pytest.raises(AuthenticationError, match="make a new one"):
        get(server, "token-one", "token-two")


def test_a_server_that_is_not_there_is_soon_called_unreachable() -> None:
    with GitHubApi("http://127.0.0.1:9", ["a-token"], QUICK) as api:
        with pytest.raises(NotReachableError, match="cannot be reached"):
            api.get("/repos/o/r")
        assert api.requests == 2
