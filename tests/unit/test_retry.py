"""What is done about an answer that is not the one asked for: the decision, and the client that acts on it."""

from __future__ import annotations

import json
import math
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.replies import (
    BudgetError,
    DeepPageError,
    GoneError,
    MovedError,
    NotFoundError,
    Patience,
)
from torch_embers.mine.github.retry import Action, decide, decide_graphql, message_of, until_reset

from torch_embers.errors import AuthenticationError, NotReachableError, RateLimitError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = 1_700_000_000.0
PRIMARY = {"message": "API rate limit exceeded for user ID 1."}
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
ABUSE = {"message": "You have triggered an abuse detection mechanism."}


def reset(seconds: float) -> dict[str, str]:
    return {"x-ratelimit-reset": str(int(NOW + seconds)), "x-ratelimit-remaining": "0"}


def later(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(NOW + seconds, UTC), usegmt=True)


# ---- decisions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "data", "action", "seconds"),
    [
        (403, {"retry-after": "7"}, SECONDARY, Action.SECONDARY, 7),
        (403, {}, SECONDARY, Action.SECONDARY, None),
        (403, {"retry-after": "7"} | reset(900), SECONDARY, Action.SECONDARY, 7),
        (403, reset(900), SECONDARY, Action.SECONDARY, None),
        (403, {}, ABUSE, Action.SECONDARY, None),
        (429, {}, SECONDARY, Action.SECONDARY, None),
        (429, {}, None, Action.SECONDARY, None),
        (429, {"retry-after": "9"}, None, Action.SECONDARY, 9),
        (429, {"retry-after": later(90)}, None, Action.SECONDARY, 90),
        (403, {"retry-after": later(90)}, {"message": "Forbidden"}, Action.SECONDARY, 90),
        (403, {"retry-after": later(-90)}, SECONDARY, Action.SECONDARY, None),
        (429, {"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, None, Action.SECONDARY, None),
        (429, {"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT"}, None, Action.SECONDARY, None),
        (429, {"retry-after": "-7"}, None, Action.SECONDARY, None),
        (403, reset(900), PRIMARY, Action.PRIMARY, 901),
        (429, reset(900), PRIMARY, Action.PRIMARY, 901),
        (403, {"retry-after": "3"}, PRIMARY, Action.PRIMARY, 3),
        (403, reset(900), {"message": "quota"}, Action.PRIMARY, 901),
        (403, {}, {"message": "Resource not accessible by personal access token"}, Action.FATAL, None),
        (403, {"x-ratelimit-remaining": "17"}, {"message": "Forbidden"}, Action.FATAL, None),
        (401, {}, {"message": "Bad credentials"}, Action.BAD_TOKEN, None),
        (404, {}, {"message": "Not Found"}, Action.NOT_FOUND, None),
        (410, {}, {"message": "Issues are disabled for this repo"}, Action.GONE, None),
        (408, {}, None, Action.RETRY, None),
        (422, {}, {"message": "Pagination with the page parameter is not supported"}, Action.DEEP_PAGE, None),
        (422, {}, {"message": "Validation Failed"}, Action.FATAL, None),
        (451, {}, {"message": "Repository access blocked"}, Action.FATAL, None),
        (500, {}, None, Action.RETRY, None),
        (502, {}, {"message": "Server Error"}, Action.RETRY, None),
        (503, {"retry-after": "5"}, None, Action.RETRY, None),
    ],
)
def test_an_answer_leads_to_its_decision(
    status: int, headers: dict[str, str], data: object, action: Action, seconds: float | None
) -> None:
    found = decide(status, headers, data, NOW)
    assert found is not None
    assert (found.action, found.seconds) == (action, seconds)
    assert found.reason


@pytest.mark.parametrize("status", [200, 201, 204, 304])
def test_a_good_answer_needs_no_decision(status: int) -> None:
    assert decide(status, reset(900), PRIMARY, NOW) is None


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [(60, 61), (0, 1), (-300, 1), (3600, 3601), (86_400, 86_401), (90_000, None), (10**9, None)],
)
def test_a_reset_time_is_believed_within_a_day(ahead: float, expected: float | None) -> None:
    """A clock that runs ahead puts the reset into the past, one that runs behind far into the future."""
    assert until_reset(reset(ahead), NOW) == expected


@given(st.text(max_size=12) | st.integers() | st.floats() | st.none(), st.sampled_from([403, 429]))
def test_odd_headers_give_a_finite_pause_or_none(odd: object, status: int) -> None:
    for name in ("retry-after", "x-ratelimit-reset", "x-ratelimit-remaining"):
        for data in (PRIMARY, SECONDARY, None):
            found = decide(status, {"x-ratelimit-remaining": "0", name: odd}, data, NOW)
            assert found is not None
            assert found.seconds is None or (math.isfinite(found.seconds) and found.seconds >= 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.integers(200, 599), json_values)
def test_any_body_of_any_status_is_judged(status: int, data: object) -> None:
    found = decide(status, {}, data, NOW)
    assert (found is None) == (status < 400)
    assert isinstance(message_of(data), str)


def errors(*entries: dict[str, Any], data: object = None) -> dict[str, Any]:
    return {"data": data, "errors": list(entries)}


@pytest.mark.parametrize(
    ("body", "action"),
    [
        (errors({"type": "RATE_LIMITED", "message": "API rate limit exceeded"}), Action.PRIMARY),
        (errors({"type": "RATE_LIMIT", "message": "x"}, data={"rateLimit": None}), Action.PRIMARY),
        (SECONDARY, Action.SECONDARY),
        (errors(SECONDARY), Action.SECONDARY),
        (
            errors({"type": "NOT_FOUND", "path": ["repository"], "message": "no"}, data={"repository": None}),
            Action.NOT_FOUND,
        ),
        (errors({"type": "FORBIDDEN", "path": ["repository"], "message": "SAML"}), Action.BAD_TOKEN),
        (errors({"type": "INSUFFICIENT_SCOPES", "message": "scopes"}), Action.BAD_TOKEN),
        (errors({"message": "Field 'x' doesn't exist on type 'Issue'"}), Action.UNKNOWN_FIELD),
        (errors({"message": 'Parse error on "}"'}), Action.FATAL),
        (errors({"message": "Something went wrong while executing your query."}), Action.RETRY),
        (errors({"message": "timeout"}, data={"repository": {}}), Action.RETRY),
        ({"data": None}, Action.RETRY),
        ({}, Action.RETRY),
        ([], Action.RETRY),
        (None, Action.RETRY),
        ("text", Action.RETRY),
    ],
)
def test_a_graphql_body_leads_to_its_decision(body: object, action: Action) -> None:
    found = decide_graphql(body, {}, NOW)
    assert found is not None
    assert found.action is action


def test_a_secondary_limit_of_a_query_waits_as_long_as_github_says() -> None:
    found = decide_graphql(SECONDARY, {"retry-after": "7"}, NOW)
    assert found is not None
    assert found.seconds == 7


@pytest.mark.parametrize("kind", ["FORBIDDEN", "INSUFFICIENT_SCOPES"])
def test_a_token_is_refused_only_by_an_error_of_the_whole_query(kind: str) -> None:
    below = {"type": kind, "path": ["repository", "issues", "nodes", 0, "comments"], "message": "SAML"}
    for entries in ([{"message": "timeout"}, below], [below, {"message": "timeout"}]):
        found = decide_graphql(errors(*entries, data={"repository": {"issues": None}}), {}, NOW)
        assert found is not None
        assert found.action is Action.RETRY


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"repository": {}}},
        {"data": {"repository": {}}, "errors": []},
        errors(
            {"type": "NOT_FOUND", "path": ["repository", "issues", "nodes", 3], "message": "x"}, data={"repository": {}}
        ),
        errors({"message": "x", "path": ["repository", "issues", "nodes", 3, "comments"]}, data={"repository": {}}),
    ],
)
def test_a_graphql_answer_with_an_error_below_a_record_is_used(body: object) -> None:
    assert decide_graphql(body, {}, NOW) is None


@given(json_values, st.lists(json_values, max_size=3))
def test_any_graphql_body_is_judged(data: object, entries: list[object]) -> None:
    for body in (data, {"data": data, "errors": entries}, {"data": data, "errors": data}):
        found = decide_graphql(body, {}, NOW)
        assert found is None or isinstance(found.action, Action)


# ---- the client -------------------------------------------------------------------------------------------------


@dataclass
class Reply:
    """One answer of the transport."""

    status: int = 200
    data: object = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent instead of ``data``."""
    cut: bool = False
    """Promise more bytes than are sent."""
    hang_up: bool = False


@dataclass
class Server:
    """A local transport that sends what it is told; it knows nothing of GitHub."""

    port: int
    replies: list[Reply | Callable[[str], Reply]]
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, address, token."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tokens(self) -> list[str]:
        return [token for _, _, token in self.requests]

    def addresses(self) -> list[str]:
        return [address for _, address, _ in self.requests]


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("token ")
            server.requests.append((self.command, self.path, token))
            found = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
            reply = found(token) if callable(found) else found
            if reply.hang_up:
                self.close_connection = True
                return
            body = reply.raw if reply.raw is not None else json.dumps(reply.data).encode()
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(body) + 1000 * reply.cut))
            self.send_header("Content-Type", "application/json")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = self.close_connection or reply.cut

        do_GET = do_POST = answer  # noqa: N815 - names of the standard library

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def serving(*replies: Reply | Callable[[str], Reply]) -> Iterator[Server]:
    """Send the replies in turn; the last one for ever."""
    server = Server(0, list(replies))
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as http:
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


QUICK = Patience(retries=3, max_wait=100, timeout=5, pause=0, backoff=1, secondary_wait=60)
GOOD = Reply(data={"ok": True})


@dataclass
class Slept:
    """A ``sleep`` that only notes."""

    pauses: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)
        assert len(self.pauses) < 50, "waits for ever"


@contextmanager
def client(
    server: Server, *tokens: str, patience: Patience = QUICK, budget: int | None = None
) -> Iterator[tuple[GitHubClient, Slept]]:
    slept = Slept()
    with GitHubClient(server.url, list(tokens), patience, budget=budget, sleep=slept) as made:
        yield made, slept


@pytest.mark.parametrize(
    "bad",
    [
        Reply(502, {"message": "Server Error"}),
        Reply(500, raw=b"<html>oops</html>"),
        Reply(raw=b'{"ok": tr'),
        Reply(raw=b""),
        Reply(cut=True, data={"ok": True}),
        Reply(hang_up=True),
        Reply(raw=b"\xff\xfe\x00"),
        Reply(raw=b"[" * 100_000),
        Reply(raw=b'{"number": ' + b"9" * 5_000 + b"}"),
    ],
    ids=["502", "500 html", "truncated", "empty", "short", "hang-up", "binary", "nested", "digits"],
)
def test_a_broken_answer_is_asked_for_again(bad: Reply) -> None:
    with serving(bad, GOOD) as server, client(server, "a") as (made, slept):
        assert made.get("/repos/o/r").data == {"ok": True}
        assert len(server.requests) == 2
        assert made.usage.retries == 1
        assert len(slept.pauses) == 1


@pytest.mark.parametrize("value", ["²", "-1", "1e999", "nan", "9" * 400, "\u0663", "soon", "", "0x10"])
def test_a_quota_that_is_no_number_is_not_believed(value: str) -> None:
    headers = {"X-RateLimit-Remaining": value, "X-RateLimit-Reset": value, "Retry-After": value}
    sent = {name: text.encode().decode("latin-1") for name, text in headers.items()}
    with serving(Reply(data={"ok": True}, headers=sent)) as server, client(server, "a") as (made, slept):
        made.get("/x")
        made.get("/y")
        assert slept.pauses == []
        made.quota_left()
        made.next_reset()


def test_a_graphql_answer_of_another_form_gives_no_points_and_no_traceback() -> None:
    for quota in ("x", [], {"cost": "many"}, {"cost": 10**30}, {"cost": None}):
        answer = Reply(data={"data": {"rateLimit": quota, "repository": 5}})
        with serving(answer) as server, client(server, "a") as (made, _):
            assert made.graphql("query", {}, check=lambda _: None).data["data"]["repository"] is None
            assert made.usage.points == 0


def test_pauses_grow_and_retries_end_in_an_error_that_names_the_reason() -> None:
    with serving(GOOD, Reply(502)) as server, client(server, "a") as (made, slept):
        made.get("/first")
        with pytest.raises(SourceError, match="HTTP 502"):
            made.get("/repos/o/r")
        assert len(server.requests) == 1 + 1 + QUICK.retries
        assert slept.pauses == sorted(slept.pauses)
        assert slept.pauses[-1] >= 2 * slept.pauses[0]


def test_requests_keep_their_distance_and_the_time_of_an_answer_counts() -> None:
    def slowly(_token: str) -> Reply:
        time.sleep(0.3)
        return GOOD

    patience = replace(QUICK, pause=100)
    with serving(slowly) as server, client(server, "a", "b", patience=patience) as (made, slept):
        made.get("/x")
        assert slept.pauses == []
        made.get("/y")
        assert len(slept.pauses) == 1
        assert slept.pauses[0] < 99.8


def test_a_secondary_limit_without_a_time_waits_a_minute_and_then_longer() -> None:
    patience = replace(QUICK, max_wait=1000)
    replies = (Reply(429, None), Reply(403, SECONDARY), GOOD)
    with serving(*replies) as server, client(server, "a", patience=patience) as (made, slept):
        made.get("/x")
        assert slept.pauses[0] >= 60
        assert slept.pauses[1] > slept.pauses[0]


def limit(seconds: float, data: object = PRIMARY, status: int = 403) -> Reply:
    return Reply(status, data, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time() + seconds))})


LONG_WAITS: dict[str, Callable[[], Reply]] = {
    "primary": lambda: limit(3000),
    "secondary": lambda: Reply(403, SECONDARY, {"Retry-After": "3000"}),
    "both": lambda: limit(3000, data=SECONDARY | PRIMARY),
}
"""Made when the test runs: a reset is a time of day."""


@pytest.mark.parametrize("asked", LONG_WAITS)
def test_a_longer_wait_than_allowed_raises_at_once_and_says_how_long(asked: str) -> None:
    with serving(LONG_WAITS[asked]()) as server, client(server, "a") as (made, slept):
        with pytest.raises(RateLimitError, match="--max-wait") as caught:
            made.get("/x")
        assert slept.pauses == []
        assert len(server.requests) == 1
    assert 2900 < caught.value.wait_seconds < 3100


@pytest.mark.parametrize("skew", [-5000, 10**7])
def test_a_reset_by_a_wrong_clock_neither_stops_nor_floods(skew: float) -> None:
    """The limit never lifts and its reset is nonsense: some tries with pauses, then a clear end."""
    with serving(GOOD, limit(skew)) as server, client(server, "a") as (made, slept):
        made.get("/first")
        with pytest.raises(SourceError, match="rate limit"):
            made.get("/x")
        assert len(server.requests) <= 20
        assert slept.pauses
        assert min(slept.pauses) > 0


def test_a_graphql_limit_is_waited_for_like_any_other() -> None:
    limited = limit(20, errors({"type": "RATE_LIMITED", "message": "API rate limit exceeded"}), 200)
    good = Reply(data={"data": {"rateLimit": {"cost": 3}}})
    with serving(limited, good) as server, client(server, "a") as (made, slept):
        made.graphql("query { x }", {}, check=lambda _: None)
        assert len(slept.pauses) == 1
        assert 15 < slept.pauses[0] <= 22
        assert made.usage.points == 3


def test_tokens_take_turns_when_one_is_used_up() -> None:
    used_up: set[str] = set()

    def answer(token: str) -> Reply:
        return limit(3000) if token in used_up else GOOD

    with serving(answer) as server, client(server, "a", "b") as (made, slept):
        made.get("/1")
        used_up |= set(server.tokens())
        made.get("/2")
        made.get("/3")
        assert slept.pauses == []
        assert set(server.tokens()) == {"a", "b"}
        assert server.tokens()[-1] == server.tokens()[-2] != server.tokens()[0]
        used_up |= {"a", "b"}
        with pytest.raises(RateLimitError):
            made.get("/4")


def test_the_token_with_more_requests_left_goes_first() -> None:
    left = {"a": 10, "b": 4000}

    def answer(token: str) -> Reply:
        left[token] -= 1
        return Reply(data={}, headers={"X-RateLimit-Remaining": str(left[token]), "X-RateLimit-Limit": "5000"})

    with serving(answer) as server, client(server, "a", "b") as (made, _):
        for _ in range(6):
            made.get("/x")
        assert server.tokens()[2:] == ["b"] * 4
        assert made.quota_left() == sum(left.values())


def test_a_refused_token_is_left_out_and_mentioned() -> None:
    def answer(token: str) -> Reply:
        return Reply(401, {"message": "Bad credentials"}) if token == "bad" else GOOD

    with serving(answer) as server, client(server, "bad", "good") as (made, slept):
        for _ in range(3):
            assert made.get("/x").data == {"ok": True}
        assert server.tokens().count("bad") <= 1
        assert slept.pauses == []
        assert any("Bad credentials" in note for note in made.usage.notes)
        assert not any("bad" in note.replace("Bad credentials", "") for note in made.usage.notes), "shows the token"


def test_no_good_token_is_an_error_that_says_what_to_do() -> None:
    refused = Reply(401, {"message": "Bad credentials"})
    with (
        serving(refused) as server,
        client(server, "a", "b") as (made, _),
        pytest.raises(AuthenticationError) as caught,
    ):
        made.get("/x")
    assert "GITHUB_TOKEN" in str(caught.value)
    assert len(server.requests) == 2


def test_the_budget_stops_before_the_request_that_exceeds_it() -> None:
    with serving(Reply(502), GOOD) as server, client(server, "a", budget=3) as (made, _):
        made.get("/1")
        made.get("/2")
        with pytest.raises(BudgetError, match="3 requests"):
            made.get("/3")
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_with_a_query_keeps_it(status: int) -> None:
    moved = Reply(status, {}, {"Location": "/repositories/2/issues?state=all&page=2"})
    with serving(moved, GOOD) as server, client(server, "a") as (made, _):
        assert made.get("/repos/o/r/issues", {"state": "open", "page": 1}).data == {"ok": True}
        path, _, query = server.addresses()[1].partition("?")
        assert path == "/repositories/2/issues"
        assert sorted(query.split("&")) == ["page=2", "state=all"]


@pytest.mark.parametrize("as_link", [False, True])
def test_a_redirect_without_a_query_keeps_ours(as_link: bool) -> None:
    with (
        serving(Reply(301, {}, {"Location": "/repositories/2/issues"}), GOOD) as server,
        client(server, "a") as (made, _),
    ):
        if as_link:
            made.get(f"{server.url}/repos/o/r/issues?state=all&page=2")
        else:
            made.get("/repos/o/r/issues", {"state": "all", "page": 2})
        path, _, query = server.addresses()[1].partition("?")
        assert path == "/repositories/2/issues"
        assert sorted(query.split("&")) == ["page=2", "state=all"]


def test_a_redirect_to_another_server_is_refused_without_showing_it_the_token() -> None:
    with serving(GOOD) as other:
        moved = Reply(301, {}, {"Location": f"{other.url}/repos/o/r"})
        with (
            serving(moved) as server,
            client(server, "secret") as (made, _),
            pytest.raises(SourceError, match="another server"),
        ):
            made.get("/repos/o/r")
        assert other.requests == []


def test_redirects_in_a_circle_end() -> None:
    with serving(Reply(301, {}, {"Location": "/a"})) as server, client(server, "a") as (made, _):
        with pytest.raises(SourceError, match="redirects"):
            made.get("/a")
        assert len(server.requests) < 10


def test_a_moved_item_says_where_it_went() -> None:
    moved = Reply(301, {}, {"Location": "/repositories/2/issues/7"})
    with serving(moved) as server, client(server, "a") as (made, _), pytest.raises(MovedError) as caught:
        made.get("/repos/o/r/issues/5")
    assert caught.value.location == "/repositories/2/issues/7"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(404, {"message": "Not Found"}), NotFoundError),
        (Reply(410, {"message": "This issue was deleted"}), GoneError),
        (Reply(422, {"message": "Pagination with the page parameter is not supported"}), DeepPageError),
        (Reply(422, {"message": "Validation Failed"}), SourceError),
    ],
)
def test_a_final_answer_is_not_asked_for_again(reply: Reply, kind: type[SourceError]) -> None:
    with serving(reply) as server, client(server, "a") as (made, slept):
        with pytest.raises(kind):
            made.get("/x")
        assert len(server.requests) == 1
        assert slept.pauses == []


def test_a_server_that_is_not_there_is_soon_called_unreachable() -> None:
    with serving(GOOD) as server:
        pass
    with client(server, "a") as (made, slept), pytest.raises(NotReachableError, match="cannot be reached"):
        made.get("/x")
    assert len(slept.pauses) <= 2
