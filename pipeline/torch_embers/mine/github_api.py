"""Requests to GitHub through PyGithub's requester: its authentication, its pauses, and its retry of limits.

What PyGithub does not repeat is repeated here: cut bodies, a 429 without a header, 5xx (a smaller query may be answered
where a large one is not), and GraphQL answers with HTTP 200 that say that the points are spent or that lack a part.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import requests
import urllib3
from github import Auth, Github, GithubException, GithubRetry, RateLimitExceededException

from torch_embers.errors import AuthenticationError, NotReachableError, RateLimitError, SourceError
from torch_embers.version import __version__

if TYPE_CHECKING:
    from github.Requester import Requester

HIDDEN = frozenset({"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES"})
"""Types of errors that say that this token may not see something: to ask again gives the same."""
WORTH_SAYING = 5.0
"""Seconds from which a wait is announced."""
DAY = 86_400
"""Seconds. A reset that lies further ahead comes from a clock that runs wrong."""
CLOCK_ERROR = timedelta(seconds=60)
"""By how much this machine's clock may differ from the server's; an answer can be on its way for half of that."""
SHORTEST_TOKEN = 8
"""Characters; what is shorter could be any word, and those of GitHub have 40 and more."""
NO_FIELD = re.compile(r"Field '(\w+)' doesn't exist on type '\w+'")
BROKEN = (
    *(requests.RequestException, urllib3.exceptions.HTTPError),
    *(ValueError, TypeError, AttributeError, AssertionError, RecursionError),
)
"""What PyGithub lets through where an answer is broken: its own conversions fail at what is no JSON and no number."""

Json = dict[str, Any]


class UnansweredError(SourceError):
    """GitHub failed at a request again and again, or left a part out."""


class NotFoundError(SourceError):
    """There is nothing at this address (404), it is gone (410), or the token cannot see it."""


class CursorRefusedError(SourceError):
    """A place in a listing is no longer accepted."""


class UnknownFieldError(SourceError):
    """The server's schema lacks a field of the query: an older GitHub Enterprise Server."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class BudgetError(SourceError):
    """The number of requests that the user allowed is used up: a planned end, not a failure."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to wait; times in seconds."""

    retries: int = 6
    max_wait: float = 3_700.0
    """GitHub gives points back every hour."""
    timeout: int = 30
    pause: float = 0.1
    backoff: float = 1.0
    secondary_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A good answer."""

    data: Any
    """The JSON; of a GraphQL answer what stands at ``data``."""
    at: datetime
    """When it was given, by the server's clock; UTC without zone."""
    problems: tuple[Json, ...] = ()
    """The errors beside a GraphQL answer."""
    next: str | None = None
    """Address of the next page of a REST list."""


class Retry(GithubRetry):
    """PyGithub's retry, which says how long it waits and waits no longer than allowed."""

    announce: Callable[[str], None] = staticmethod(lambda _text: None)
    most = math.inf

    def new(self, **kw: Any) -> Self:
        """The retry that follows this one."""
        made = super().new(**kw)
        made.announce, made.most = self.announce, self.most
        return made

    def sleep(self, response: Any = None) -> None:
        """Wait before the next try.

        Raises:
            RateLimitError: longer than allowed.
        """
        after = self.get_retry_after(response) if response else None
        waits(after or self.get_backoff_time(), "GitHub limits requests", self.most, self.announce)
        super().sleep(response)


def waits(seconds: float, why: str, most: float, announce: Callable[[str], None]) -> None:
    """Announce a wait that is worth saying.

    Raises:
        RateLimitError: it is longer than ``most``.
    """
    if seconds > most:
        raise RateLimitError(
            f"{why}: GitHub asks to wait {seconds:,.0f} s, --max-wait allows {most:,.0f} s. "
            "What was read is saved; run the same command later, or raise --max-wait",
            seconds,
        )
    if seconds >= WORTH_SAYING:
        announce(f"waiting {seconds:,.0f} s ({why}); Ctrl-C ends, what was read is saved")


@dataclass(slots=True)
class _Token:
    requester: Requester
    usable_at: float = 0.0
    """By the monotonic clock."""
    remaining: float = math.inf
    refused: str = ""


@dataclass(slots=True)
class GitHubApi:
    """Serial requests: retries, limits that are waited for, several tokens in turn, a budget."""

    api_url: str
    secrets: list[str]
    patience: Patience = field(default_factory=Patience)
    budget: int | None = None
    announce: Callable[[str], None] = lambda _text: None
    sleep: Callable[[float], None] = time.sleep
    requests: int = 0
    points: int = 0
    notes: list[str] = field(default_factory=list)
    _tokens: list[_Token] = field(default_factory=list)
    _reached: bool = False
    _off: timedelta = timedelta()
    """How far this machine's clock is behind the server's, where they differ."""

    def __post_init__(self) -> None:
        """Make a way in for each token."""
        self.api_url = self.api_url.rstrip("/")
        self._tokens = [_Token(self._github(secret).requester) for secret in self.secrets or [""]]

    def _github(self, secret: str) -> Github:
        retry = Retry(
            total=self.patience.retries,
            connect=1,
            read=1,
            other=1,
            status_forcelist=[],  # and 403, which PyGithub adds
            backoff_factor=self.patience.backoff,
            secondary_rate_wait=self.patience.secondary_wait,
        )
        retry.announce, retry.most = self._say, self.patience.max_wait
        return Github(
            auth=Auth.Token(secret) if secret else None,
            base_url=self.api_url,
            timeout=self.patience.timeout,
            user_agent=f"torch-embers/{__version__}",
            retry=retry,
            seconds_between_requests=self.patience.pause,
            seconds_between_writes=self.patience.pause,  # a query is a POST, and writes nothing
        )

    def __enter__(self) -> Self:
        """Use as ``with GitHubApi(...) as api``."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close all connections."""
        for token in self._tokens:
            token.requester.close()

    def hidden(self, text: str) -> str:
        """A text of the server without the tokens that it was sent: it is shown and stored."""
        for secret in self.secrets:
            if len(secret) >= SHORTEST_TOKEN:
                text = re.sub(re.escape(secret), "(hidden)", text, flags=re.IGNORECASE)  # names of hosts are lower case
        return text

    @property
    def left(self) -> float:
        """Requests or points that are left in this hour, over all tokens, as of the last answers."""
        return sum(token.remaining for token in self._tokens if not token.refused)

    # -- requests ---------------------------------------------------------------------------------------------

    def get(self, address: str, parameters: Json | None = None) -> HttpAnswer:
        """GET a path ("/repos/o/r") or a full address of the same server.

        Raises:
            NotReachableError, AuthenticationError, RateLimitError, NotFoundError, UnansweredError, BudgetError
            SourceError: it is refused.
        """

        def read(headers: Mapping[str, Any], data: Any, at: datetime) -> HttpAnswer:
            links = requests.utils.parse_header_links(str(headers.get("link") or ""))
            onward = next((link["url"] for link in links if link.get("rel") == "next"), None)
            if onward and urlsplit(onward).netloc != urlsplit(self.api_url).netloc:  # PyGithub may send the token there
                raise UnansweredError("the next page lies on another server")
            return HttpAnswer(data, at, next=onward)

        return self._retried(_Request("GET", address, parameters), read)

    def query(
        self,
        text: str,
        variables: Json,
        *,
        check: Callable[[HttpAnswer], str | None],
        retries: int | None = None,
        within_budget: bool = True,
    ) -> HttpAnswer:
        """POST a GraphQL query; errors of single parts are left to the reader.

        Args:
            text: the query.
            variables: values of its variables.
            check: says what lacks in an answer, which is asked for again then.
            retries: fewer than usual, where a smaller query can be sent instead.
            within_budget: false for what completes an item that was begun.

        Raises: as ``get``; CursorRefusedError, UnknownFieldError
        """

        def read(_headers: Mapping[str, Any], body: Any, at: datetime) -> HttpAnswer:
            data, listed = (body.get("data"), body.get("errors")) if isinstance(body, dict) else (None, None)
            problems = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            answer = HttpAnswer(data, at, tuple(problems))
            _raise_refused(answer)
            if not isinstance(data, dict):
                raise UnansweredError(str(problems[0].get("message")) if problems else "no data in the answer")
            cost = (data.get("rateLimit") or {}).get("cost")
            self.points += cost if isinstance(cost, int) else 0
            if wrong := check(answer):
                raise UnansweredError(wrong)
            return answer

        address = self._tokens[0].requester.graphql_url
        request = _Request("POST", address, body={"query": text, "variables": variables})
        return self._retried(request, read, retries, within_budget=within_budget)

    def _retried(
        self, request: _Request, read: _Read, retries: int | None = None, *, within_budget: bool = True
    ) -> HttpAnswer:
        most = self.patience.retries if retries is None else min(retries, self.patience.retries)
        attempt = free = 0
        while True:
            token = self._usable()
            if within_budget and self.budget is not None and self.requests >= self.budget:
                raise BudgetError(f"the budget of {self.budget} requests is used up")
            self.requests += 1
            result = self._once(token, request, read)
            if isinstance(result, HttpAnswer):
                return result
            if result.is_free and free < self.patience.retries + len(self._tokens):
                free += 1
                continue
            attempt += 1
            reason = self.hidden(result.reason)
            if not self._reached and attempt > 1:
                raise NotReachableError(f"{self.api_url} cannot be reached ({reason})")
            if attempt > most or result.is_last:
                raise UnansweredError(f"{request.name}: {reason}: try again later")
            growing = min(self.patience.backoff * 2.0 ** min(attempt - 1, 60), self.patience.max_wait)
            limit = result.seconds or self.patience.secondary_wait * attempt
            self._wait(limit if result.is_limit else growing, f"{request.name}: {reason}")

    def _once(self, token: _Token, request: _Request, read: _Read) -> HttpAnswer | _Again:
        """Send once: the answer, or why it is sent again."""
        try:
            headers, data = token.requester.requestJsonAndCheck(
                request.verb, request.address, request.parameters, input=request.body
            )
            self._reached = True
            at = self._moment(headers)
            self._note_quota(token, headers, at)
            return read(headers, data, at)
        except GithubException as error:
            self._reached = True
            return self._refusal(error, token, request)
        except _SpentError as spent:
            token.remaining = 0
            token.usable_at = max(token.usable_at, time.monotonic() + 1)
            return _Again(str(spent), is_free=True)
        except _SecondaryError as limit:
            return _Again(str(limit), is_limit=True)
        except UnansweredError as error:
            return _Again(str(error))
        except requests.exceptions.SSLError as error:
            raise NotReachableError(f"no secure connection to {self.api_url}: {_short(error)}") from error
        except BROKEN as error:
            return _Again(_short(error), is_last=isinstance(error, requests.exceptions.RetryError))
        except RuntimeError as error:  # PyGithub follows no redirect to another server
            raise SourceError(f"{self.hidden(str(error))[:300]}: check --api-url") from error

    def _say(self, text: str) -> None:
        self.announce(text)

    def _wait(self, seconds: float, why: str) -> None:
        waits(seconds, why, self.patience.max_wait, self.announce)
        self.sleep(seconds)

    def _usable(self) -> _Token:
        """The token to use now: one with points left, waiting for the first reset where none has."""
        able = [token for token in self._tokens if not token.refused]
        first = min(able, key=lambda token: (max(token.usable_at, time.monotonic()), -token.remaining))
        if (left := first.usable_at - time.monotonic()) > 0:
            self._wait(left, "what GitHub allows in an hour is used up")
        return first

    def _refusal(self, error: GithubException, token: _Token, request: _Request) -> _Again:
        """What to do about an answer that refuses a request.

        Raises:
            NotFoundError, AuthenticationError, SourceError: another try gives the same.
        """
        message = error.data.get("message") if isinstance(error.data, dict) else None
        reason = self.hidden(str(message or f"HTTP {error.status}"))
        if error.status in (404, 410) and request.body is None:  # the address of queries is always there
            raise NotFoundError(reason) from error
        if error.status == 401:
            token.refused = reason
            if all(one.refused for one in self._tokens):
                advice = "make a new one at github.com/settings/tokens and set" if self.secrets else "set"
                whom = "the token" if self.secrets else "requests without a token"
                raise AuthenticationError(f"GitHub refuses {whom} ({reason}): {advice} GITHUB_TOKEN") from error
            self.notes.append(f"one token was refused ({reason}) and is left out")
            return _Again(reason, is_free=True)
        if error.status == 429 or isinstance(error, RateLimitExceededException):
            return _Again(reason, is_limit=True, seconds=_number(error.headers or {}, "retry-after"))
        if error.status < 500 and error.status not in (404, 408, 410):
            raise SourceError(f"{self.api_url}: {reason} (HTTP {error.status})") from error
        return _Again(reason)

    def _moment(self, headers: Mapping[str, Any]) -> datetime:
        """The time now, by the server's clock where this machine's is wrong; UTC without zone."""
        here = datetime.now(UTC)
        try:
            off = parsedate_to_datetime(str(headers["date"])) - here
        except (KeyError, TypeError, ValueError):
            off = self._off
        if abs(off - self._off) > CLOCK_ERROR:
            self._off = off
            self.notes.append(f"this machine's clock and that of {self.api_url} differ: its time is used")
        return (here + self._off).replace(tzinfo=None)

    def _note_quota(self, token: _Token, headers: Mapping[str, Any], at: datetime) -> None:
        """Note what is left, and when all is given back: by the server's clock, because this machine's may be wrong."""
        remaining, reset = _number(headers, "x-ratelimit-remaining"), _number(headers, "x-ratelimit-reset")
        token.remaining = math.inf if remaining is None else remaining
        token.usable_at = 0.0
        if remaining == 0:
            left = (reset or 0) - at.replace(tzinfo=UTC).timestamp()
            token.usable_at = time.monotonic() + (left + 1 if 0 <= left <= DAY else self.patience.secondary_wait)


@dataclass(frozen=True, slots=True)
class _Request:
    verb: str
    address: str
    parameters: Json | None = None
    body: Json | None = None

    @property
    def name(self) -> str:
        return "graphql" if self.body else self.address


@dataclass(frozen=True, slots=True)
class _Again:
    """Why a request is sent again, and when."""

    reason: str
    is_limit: bool = False
    """It is waited for as GitHub asks, or for a minute and longer each time."""
    seconds: float | None = None
    is_free: bool = False
    """It counts as no try: another token is there, or the hour is waited for."""
    is_last: bool = False
    """PyGithub has tried often enough."""


_Read = Callable[[Mapping[str, Any], Any, datetime], HttpAnswer]


class _SpentError(Exception):
    """The points of the hour are spent; the answer came with HTTP 200."""


class _SecondaryError(Exception):
    """Too many requests in a short time; the answer came with HTTP 200."""


def _raise_refused(answer: HttpAnswer) -> None:
    """Raise for errors that concern a whole GraphQL query."""
    for problem in answer.problems:
        message, kind = str(problem.get("message")), problem.get("type")
        if kind in ("RATE_LIMITED", "RATE_LIMIT"):
            raise _SpentError(message)
        if answer.data is None and "secondary rate limit" in message.lower():
            raise _SecondaryError(message)
        if kind == "INVALID_CURSOR_ARGUMENTS":
            raise CursorRefusedError(message)
        if kind in ("FORBIDDEN", "INSUFFICIENT_SCOPES") and len(problem.get("path") or ()) <= 1:
            raise AuthenticationError(f"GitHub refuses the token ({message}): give it this permission, or make another")
        if answer.data is None:
            if found := NO_FIELD.fullmatch(message):
                raise UnknownFieldError(message, found[1])
            if any(word in message.lower() for word in ("parse error", "cannot query", "argument")):
                raise SourceError(f"GitHub refuses the query: {message}")


def _number(headers: Mapping[str, Any], name: str) -> float | None:
    """A header as a number that can be waited for; ``None`` for a date, a negative number or nonsense."""
    try:
        value = float(headers[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _short(error: BaseException) -> str:
    """What went wrong in a few words: the innermost cause, without the object addresses that urllib3 prints."""
    cause: BaseException = error
    while True:
        inner = getattr(cause, "reason", None) or next((a for a in cause.args if isinstance(a, BaseException)), None)
        if not isinstance(inner, BaseException):
            break
        cause = inner
    if isinstance(cause, json.JSONDecodeError):
        return "the answer is cut or no JSON"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(cause).__name__.removesuffix("Error")).lower() or "error"
