"""What comes of asking GitHub: an answer, or one of these errors; and how patiently it is asked.

Apart from the client, because a mine of files needs these words and not PyGithub, which takes 0.2 s to import.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from torch_embers.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDARY_WAIT = 60.0
"""GitHub: "wait for at least one minute" after a secondary limit without Retry-After."""


class DeepPageError(SourceError):
    """GitHub refuses to page further by number; the walk starts a new window."""


class CursorRefusedError(SourceError):
    """A place in a GraphQL listing is no longer accepted."""


class UnknownFieldError(SourceError):
    """The server's schema lacks a field of the query: an older GitHub Enterprise Server."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class GoneError(SourceError):
    """The thing existed and is gone, or its feature is switched off (410)."""


class NotFoundError(SourceError):
    """There is nothing at this address (404), or the token cannot see it."""


class BudgetError(SourceError):
    """The number of requests that the user allowed is used up: a planned end, not a failure."""


class UnansweredError(SourceError):
    """The server failed at a request again and again; ``answer`` holds what it gave in part, if anything."""

    def __init__(self, message: str, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.answer = answer


class MovedError(SourceError):
    """The address redirects to another repository: a transferred item."""

    def __init__(self, message: str, location: str) -> None:
        super().__init__(message)
        self.location = location


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: lower-case headers, the text as received, and the same parsed."""

    headers: Mapping[str, Any]
    text: str
    data: Any

    links: Mapping[str, str] = field(default_factory=dict)
    """Address by relation, from the Link header."""

    def link(self, rel: str) -> str | None:
        """Address of a Link header relation."""
        return self.links.get(rel)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to wait; times in seconds."""

    retries: int = 6
    max_wait: float = 120.0
    timeout: int = 30
    pause: float = 0.1
    """Least time from the start of a request to that of the next. GitHub wants one request after the other, at most 900
    a minute by REST and 2,000 by GraphQL (docs.github.com, "Rate limits for the REST API"): this is 600."""
    backoff: float = 1.0
    secondary_wait: float = SECONDARY_WAIT
    first_contact: int = 2
    """Tries until a server that never answered counts as not reachable: a newcomer offline should not wait."""


def plain_http(api_url: str) -> bool:
    """Whether requests to an address could be read on the way: http to another machine."""
    address = urlsplit(api_url)
    if address.scheme != "http":
        return False
    try:
        return not ip_address(address.hostname or "").is_loopback
    except ValueError:
        return address.hostname != "localhost"
