"""Requests to GitHub through PyGithub's requester, with retries, rate limits and several tokens.

PyGithub's own retry is switched off: it ignores a 429 without headers, a cut body, a broken chunk and a GraphQL
limit (which comes with HTTP 200), and it can sleep for an hour without a message. Here ``retry.decide`` classifies
every answer. Waiting is announced and bounded by ``max_wait``; beyond that an error names the wait GitHub asked for.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import requests
from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester, RequestsResponse

from torch_embers.errors import AuthenticationError, NotReachableError, RateLimitError, SourceError
from torch_embers.mine.github.replies import (
    Answer,
    BudgetError,
    CursorRefusedError,
    DeepPageError,
    GoneError,
    MovedError,
    NotFoundError,
    Patience,
    UnansweredError,
    UnknownFieldError,
)
from torch_embers.mine.github.retry import (
    Action,
    Decision,
    decide,
    decide_graphql,
    growing_pause,
    number_of,
    unknown_field,
)
from torch_embers.mine.records.answers import shaped
from torch_embers.mine.records.rest_records import whole
from torch_embers.normalize import now_utc
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOG = logging.getLogger(__name__)
MAX_REDIRECTS = 5
CLOCK_ERROR = timedelta(seconds=60)
"""By how much this machine's clock may differ from the server's; an answer can be on its way for half of that."""
WORTH_SAYING = 5.0
"""Seconds from which a wait is announced."""
PLAIN_WORDS = {
    "NameResolutionError": "its name cannot be resolved",
    "NewConnectionError": "the connection is refused",
    "ConnectTimeoutError": "it does not answer",
    "ReadTimeoutError": "no answer in time",
    "RemoteDisconnected": "the connection was closed without an answer",
}
"""Network errors in words of their own."""
_REDIRECTS = frozenset({301, 302, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_INJECTION = threading.Lock()
HIDDEN = "(hidden)"
"""What stands for a token that a server repeats."""
SHORTEST_TOKEN = 8
"""Characters; what is shorter could be any word, and those of GitHub have 40 and more."""
_ESCAPED = re.compile(r"\\u00(?:3[0-9]|[46][1-9a-f]|[57][0-9a]|5f)", re.IGNORECASE)
"""A character of tokens as JSON may write it."""


Send = Callable[["Token"], tuple[int, dict[str, Any], str]]
"""Sends one request: token -> status, headers, text."""
Classify = Callable[[int, Mapping[str, Any], object], Decision | None]
"""What to do about an answer: status, headers, parsed body -> decision, ``None`` for a good one."""
Check = Callable[[object], str | None]
"""Why a GraphQL answer is not the one asked for, ``None`` where it is."""


class _RedirectError(Exception):
    def __init__(self, status: int, location: str) -> None:
        super().__init__(location)
        self.status = status
        self.location = location


_QUOTA = frozenset({"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"})


def _inspected(response: RequestsResponse) -> RequestsResponse:
    """Raise on redirects, which PyGithub follows without their query; read bodies as UTF-8, not by guessing.

    Headers of the quota that are no numbers are taken out: PyGithub converts them without asking.
    """
    if response.status in _REDIRECTS and (location := response.headers.get("location")):
        raise _RedirectError(response.status, location)
    response.response.encoding = "utf-8"
    for name in _QUOTA.intersection(map(str.lower, response.headers)):
        if number_of(response.headers, name) is None:
            del response.headers[name]
    return response


class _Http(HTTPRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _inspected(super().getresponse())


class _Https(HTTPSRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _inspected(super().getresponse())


@contextmanager
def _own_connections() -> Iterator[None]:
    """PyGithub takes its connection classes when it is constructed; lend it ours for that moment only."""
    with _INJECTION:
        Requester.injectConnectionClasses(_Http, _Https)
        try:
            yield
        finally:
            Requester.resetConnectionClasses()


@dataclass(slots=True)
class Token:
    """One way in: a PyGithub object with its remaining quota, as of the last answer."""

    github: Github
    usable_at: float = 0.0
    remaining: int | None = None
    reset: float | None = None
    refused: str = ""


@dataclass(slots=True)
class Usage:
    """What this run used so far."""

    requests: int = 0
    points: int = 0
    retries: int = 0
    notes: list[str] = field(default_factory=list)


class GitHubClient:
    """Serial requests with retries, several tokens in turn, a budget, and counters."""

    def __init__(
        self,
        api_url: str,
        tokens: list[str],
        patience: Patience,
        *,
        budget: int | None = None,
        announce: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.api_url = api_url.rstrip("/")
        self.patience = patience
        self.budget = budget
        self.usage = Usage()
        self.announce = announce
        self._sleep = sleep
        self._secrets = sorted((token for token in tokens if len(token) >= SHORTEST_TOKEN), key=len, reverse=True)
        self._reached = False
        self._off = timedelta()
        self._began: float | None = None
        with _own_connections():
            self.tokens = [Token(self._github(token)) for token in tokens or [""]]
        self.authenticated = bool(tokens)

    def _github(self, token: str) -> Github:
        return Github(
            auth=Auth.Token(token) if token else None,
            base_url=self.api_url,
            timeout=self.patience.timeout,
            user_agent=f"torch-embers/{__version__}",
            per_page=100,
            retry=None,
            seconds_between_requests=None,  # it counts from the end of a request, and for each token alone
            seconds_between_writes=None,
        )

    def close(self) -> None:
        """Close all connections."""
        for token in self.tokens:
            token.github.close()

    def __enter__(self) -> GitHubClient:
        """Use as ``with GitHubClient(...) as client``."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close all connections."""
        self.close()

    def now(self) -> str:
        """The current time as ISO 8601 text in UTC, by the server's clock where this machine's is wrong.

        Records carry the server's times. A page that seems older than its records would lose against what is stored.
        """
        return (datetime.fromisoformat(now_utc()) + self._off).isoformat().replace("+00:00", "Z")

    def _compare_clocks(self, headers: Mapping[str, Any]) -> None:
        try:
            there = parsedate_to_datetime(str(headers["date"]))
            off = there - datetime.fromisoformat(now_utc())
        except (KeyError, TypeError, ValueError):
            return
        if abs(off - self._off) > CLOCK_ERROR:
            self._off = off
            self.usage.notes.append(
                f"this machine's clock and that of {self.api_url} differ: its time is used ({there:%F %T})"
            )

    def hidden(self, text: str) -> str:
        """A text of the server without the tokens that it was sent: it is logged, shown and stored."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        if self._secrets and _ESCAPED.search(text):
            with suppress(ValueError, RecursionError):  # what is no JSON is not read
                plain = json.dumps(json.loads(text))
                return self.hidden(plain) if any(secret in plain for secret in self._secrets) else text
        return text

    # -- one request ------------------------------------------------------------------------------------------

    def get(self, address: str, parameters: dict[str, Any] | None = None, *, within_budget: bool = True) -> Answer:
        """GET a path ("/repos/o/r") or a full address of the same server; ``within_budget`` as in ``graphql``.

        Raises:
            NotReachableError, AuthenticationError, RateLimitError, NotFoundError, GoneError, DeepPageError,
            MovedError, BudgetError, SourceError
        """

        def send(token: Token) -> tuple[int, dict[str, Any], str]:
            return self._follow(token, address, parameters)

        def classify(status: int, headers: Mapping[str, Any], data: object) -> Decision | None:
            return decide(status, headers, data, time.time())

        return self._retried(send, classify, address, within_budget=within_budget)

    def graphql(
        self,
        query: str,
        variables: dict[str, Any],
        *,
        check: Check,
        within_budget: bool = True,
        retries: int | None = None,
    ) -> Answer:
        """POST a GraphQL query; errors of single records are left in ``data`` for the reader.

        Args:
            query: its text.
            variables: values of its variables.
            check: says what is missing in an answer; it is asked for again then.
            within_budget: false for what completes a page that was begun: without it the page would be lost.
            retries: fewer than usual where a smaller query can be sent instead.

        Raises: as ``get``.
        """

        def send(token: Token) -> tuple[int, dict[str, Any], str]:
            return self._post(token, {"query": query, "variables": variables})

        def classify(status: int, headers: Mapping[str, Any], data: object) -> Decision | None:
            now = time.time()
            if (decision := decide(status, headers, data, now) or decide_graphql(data, headers, now)) is not None:
                return decision
            wrong = check(shaped(data))
            return Decision(Action.RETRY, wrong) if wrong else None

        answer = self._retried(send, classify, "graphql", within_budget=within_budget, retries=retries)
        quota = (answer.data.get("data") or {}).get("rateLimit") or {}
        self.usage.points += whole(quota.get("cost")) or 0
        return answer

    def _post(self, token: Token, body: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
        """Send a query; a redirect is followed where it keeps method and server (307, 308), else refused."""
        requester = token.github.requester
        address = requester.graphql_url
        for _ in range(MAX_REDIRECTS):
            try:
                return requester.requestJson("POST", address, input=body)
            except _RedirectError as redirect:
                location = self.hidden(redirect.location)
                here, there = urlsplit(address), urlsplit(urljoin(address, location))
                if redirect.status not in _KEEP_METHOD or (there.scheme, there.netloc) != (here.scheme, here.netloc):
                    raise SourceError(
                        f"{address} redirects to {location} (HTTP {redirect.status}), where queries are not "
                        "sent: check --api-url"
                    ) from None
                address = there.geturl()
        raise SourceError(f"{requester.graphql_url}: more than {MAX_REDIRECTS} redirects: check --api-url")

    def _follow(self, token: Token, address: str, parameters: dict[str, Any] | None) -> tuple[int, dict[str, Any], str]:
        """Send, following redirects on the same server with their query (or ours where they have none)."""
        for _ in range(MAX_REDIRECTS):
            try:
                return token.github.requester.requestJson("GET", address, parameters)
            except _RedirectError as redirect:
                location = self.hidden(redirect.location)
                target = urlsplit(location)
                if target.netloc and target.netloc != urlsplit(self.api_url).netloc:
                    raise SourceError(
                        f"{address} redirects to another server ({target.netloc}): check --api-url"
                    ) from None
                if "/issues/" in target.path and "/issues/" in address and "?" not in location:
                    raise MovedError(f"{address} moved to {location}", location) from None
                query = target.query or urlsplit(address).query
                address = target.path.removeprefix(urlsplit(self.api_url).path)
                if query:
                    address = f"{address}?{query}"
                if target.query:
                    parameters = None
        raise SourceError(f"{address}: more than {MAX_REDIRECTS} redirects")

    # -- retries ----------------------------------------------------------------------------------------------

    def _retried(
        self, send: Send, classify: Classify, what: str, *, within_budget: bool = True, retries: int | None = None
    ) -> Answer:
        attempt = 0
        most = self.patience.retries if retries is None else min(retries, self.patience.retries)
        while True:
            token = self._pick()
            if within_budget and self.budget is not None and self.usage.requests >= self.budget:
                raise BudgetError(f"the budget of {self.budget} requests is used up")
            self.usage.requests += 1
            began = self._paced()
            decision, answer = self._once(token, send, classify)
            result = decision.reason if decision else "answered"
            _LOG.info("%s: %s, %.2f s", what, result, time.monotonic() - began)
            if decision is None and answer is not None:
                return answer
            attempt += 1
            self._react(decision or Decision(Action.RETRY, "no answer"), token, attempt, what, most, answer)

    def _paced(self) -> float:
        """Wait until the last request began as long ago as the pause asks for; the time at which this one begins."""
        if self._began is not None and (left := self._began + self.patience.pause - time.monotonic()) > 0:
            self._sleep(left)
        self._began = time.monotonic()
        return self._began

    def _once(self, token: Token, send: Send, classify: Classify) -> tuple[Decision | None, Answer | None]:
        """Send once: the answer, and what to do about it where it is not the one asked for."""
        try:
            status, received, body = send(token)
            self._reached = True
        except requests.exceptions.SSLError as error:
            raise NotReachableError(f"no secure connection to {self.api_url}: {self.hidden(_short(error))}") from error
        except requests.exceptions.RequestException as error:
            return Decision(Action.RETRY, self.hidden(_short(error))), None
        headers = {name: self.hidden(str(value)) for name, value in received.items()}
        text = self.hidden(body)
        self._note_quota(token, headers)
        self._compare_clocks(headers)
        try:
            data = json.loads(text) if text else None
        except (ValueError, RecursionError) as error:
            if status < 400:
                return Decision(Action.RETRY, f"the answer is cut or no JSON ({_short(error)})"), None
            data = None
        if status < 400 and data is None:
            return Decision(Action.RETRY, "an empty answer"), None
        decision = classify(status, headers, data)
        return decision, Answer(headers, text, data, _links(headers)) if status < 400 else None

    def _react(
        self, decision: Decision, token: Token, attempt: int, what: str, most: int, answer: Answer | None
    ) -> None:
        """Wait and return, or raise."""
        action, reason = decision.action, decision.reason
        if action is Action.BAD_TOKEN:
            token.refused = reason
            if all(t.refused for t in self.tokens):
                raise AuthenticationError(_token_advice(self.authenticated, reason))
            self.usage.notes.append(f"one token was refused ({reason}) and is left out")
        elif action is Action.PRIMARY:
            pause = decision.seconds or self.patience.secondary_wait
            token.usable_at = time.time() + pause
            # a reset that lies in the past by our clock would be waited for again and again
            if attempt > self.patience.retries + len(self.tokens):
                raise RateLimitError(f"{what}: {reason}, {attempt} times in a row: try again later", pause)
        elif action in (Action.RETRY, Action.SECONDARY):
            if not self._reached and attempt >= self.patience.first_contact:
                raise NotReachableError(f"{self.api_url} cannot be reached ({reason})")
            if attempt > most:
                raise UnansweredError(f"{what}: {reason}, {attempt} times in a row: try again later", answer)
            self._wait(self._pause(decision, attempt), f"{what}: {reason}")
        else:
            raise _final_error(action, what, reason)
        self.usage.retries += 1

    def _pause(self, decision: Decision, attempt: int) -> float:
        growing = growing_pause(attempt, self.patience.backoff, self.patience.max_wait)
        if decision.action is Action.SECONDARY:
            if decision.seconds is not None:
                return max(decision.seconds, growing if attempt > 1 else 0.0)
            return self.patience.secondary_wait * attempt
        return growing

    def _pick(self) -> Token:
        """The token to use now: any that is not used up, waiting for the first reset where all are."""
        able = [t for t in self.tokens if not t.refused]
        ready = [t for t in able if t.usable_at <= time.time()]
        if not ready:
            first = min(able, key=lambda t: t.usable_at)
            self._wait(first.usable_at - time.time(), "all requests of this hour are used")
            return first
        return max(ready, key=lambda t: t.remaining if t.remaining is not None else 10**9)

    def _wait(self, seconds: float, why: str) -> None:
        if seconds > self.patience.max_wait:
            raise RateLimitError(
                f"{why}: GitHub asks to wait {seconds:,.0f} s, --max-wait allows {self.patience.max_wait:,.0f} s. "
                "What was read is saved; run the same command later, or raise --max-wait",
                seconds,
            )
        if seconds > 0:
            if seconds >= WORTH_SAYING:
                self.announce(f"waiting {seconds:,.0f} s ({why})")
            self._sleep(seconds)

    def _note_quota(self, token: Token, headers: Mapping[str, Any]) -> None:
        remaining = number_of(headers, "x-ratelimit-remaining")
        if remaining is not None:
            token.remaining = int(remaining)
        reset = number_of(headers, "x-ratelimit-reset")
        if reset is not None:
            token.reset = reset
        if token.remaining == 0 and token.reset and 0 < token.reset - time.time() < 86_400:
            token.usable_at = token.reset + 1

    def quota_left(self) -> int | None:
        """Requests (or points) left over all tokens, as of the last answers."""
        known = [t.remaining for t in self.tokens if t.remaining is not None and not t.refused]
        return sum(known) if known else None

    def next_reset(self) -> float | None:
        """Seconds until the first quota reset, as of the last answers."""
        known = [t.reset for t in self.tokens if t.reset]
        return max(min(known) - time.time(), 0.0) if known else None


def _links(headers: Mapping[str, Any]) -> dict[str, str]:
    """Address by relation of a Link header; of equal relations the first."""
    parts = requests.utils.parse_header_links(str(headers.get("link") or ""))
    return {part["rel"]: part["url"] for part in reversed(parts) if "rel" in part and "url" in part}


def _short(error: BaseException) -> str:
    """What went wrong in a few words: the innermost cause, without the object addresses that urllib3 prints."""
    cause: BaseException = error
    while True:
        inner = getattr(cause, "reason", None) or next((a for a in cause.args if isinstance(a, BaseException)), None)
        if not isinstance(inner, BaseException):
            break
        cause = inner
    name = type(cause).__name__
    words = PLAIN_WORDS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Error")).lower()
    detail = "" if isinstance(error, requests.exceptions.ConnectionError) else f": {str(cause)[:120]}"
    return (words or "error") + detail.rstrip(": ")


def _token_advice(authenticated: bool, reason: str) -> str:
    if not authenticated:
        return f"GitHub refuses requests without a token ({reason}): set GITHUB_TOKEN"
    return f"GitHub refuses the token ({reason}): make a new one at github.com/settings/tokens and set GITHUB_TOKEN"


def _final_error(action: Action, what: str, reason: str) -> SourceError:
    if action is Action.UNKNOWN_FIELD:
        return UnknownFieldError(f"{what}: {reason}", unknown_field(reason))
    kinds: dict[Action, type[SourceError]] = {
        Action.NOT_FOUND: NotFoundError,
        Action.GONE: GoneError,
        Action.DEEP_PAGE: DeepPageError,
        Action.BAD_CURSOR: CursorRefusedError,
    }
    return kinds.get(action, SourceError)(f"{what}: {reason}")
