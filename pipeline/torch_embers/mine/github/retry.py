"""What to do about an answer that is not the one asked for: a pure decision, so that every case can be tested.

The rules follow GitHub's guidance (docs.github.com, "Best practices for using the REST API" and "Rate limits for
the REST API"): Retry-After first, then X-RateLimit-Reset, else at least a minute and growing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


_NO_FIELD = re.compile(r"Field '(\w+)' doesn't exist on type '\w+'")
"""How GitHub refuses a query that names a field its schema lacks."""
_DAY = 86_400
"""Seconds. A time that lies further ahead is a clock that runs wrong."""


class Action(Enum):
    """What the client does next."""

    RETRY = "retry"
    """Again after a growing pause."""
    SECONDARY = "secondary limit"
    """Again after the pause that GitHub asks for; all tokens wait."""
    PRIMARY = "primary limit"
    """This token is used up until its reset; another one may go on."""
    BAD_TOKEN = "token refused"
    NOT_FOUND = "not found"
    GONE = "gone"
    DEEP_PAGE = "page too deep"
    BAD_CURSOR = "cursor refused"
    UNKNOWN_FIELD = "unknown field"
    FATAL = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action with its reason and, where the server named one, the pause in seconds."""

    action: Action
    reason: str
    seconds: float | None = None


def growing_pause(attempt: int, first: float, most: float) -> float:
    """Seconds before try number ``attempt`` + 1: doubles each time, up to ``most``."""
    return min(first * 2.0 ** min(attempt - 1, 60), most)


def message_of(data: object) -> str:
    """The ``message`` of an error body, or an empty text."""
    return str(data.get("message") or "") if isinstance(data, dict) else ""


def number_of(headers: Mapping[str, Any], name: str) -> float | None:
    """A header as a number that can be waited for; ``None`` for a date, a negative number or nonsense."""
    try:
        value = float(headers[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and value >= 0 else None


def retry_after(headers: Mapping[str, Any], now: float) -> float | None:
    """Seconds of Retry-After, by RFC 9110 also a date; ``None`` for nonsense, the past, and what lies days ahead."""
    seconds = number_of(headers, "retry-after")
    if seconds is not None or not isinstance(stated := headers.get("retry-after"), str):
        return seconds
    try:
        ahead = parsedate_to_datetime(stated).timestamp() - now
    except (ValueError, OverflowError, OSError):
        return None
    return ahead if 0 <= ahead <= _DAY else None


def _is_secondary(message: str) -> bool:
    text = message.lower()
    return "secondary rate limit" in text or "abuse detection" in text


def unknown_field(reason: str) -> str:
    """The field of an ``UNKNOWN_FIELD``; empty where the reason names none."""
    match = _NO_FIELD.fullmatch(reason)
    return match[1] if match else ""


def until_reset(headers: Mapping[str, Any], now: float) -> float | None:
    """Seconds until X-RateLimit-Reset, plus one because the reset is given in whole seconds.

    A reset that lies more than a day away is a clock that runs wrong, here or there; it is not believed.
    """
    reset = number_of(headers, "x-ratelimit-reset")
    if reset is None or reset - now > _DAY:
        return None
    return max(reset - now, 0.0) + 1.0


def _limit(headers: Mapping[str, Any], message: str, now: float) -> Decision | None:
    """Recognise a rate limit in a 403 or 429 by its body first, because its headers are often missing."""
    after = retry_after(headers, now)
    if message.lower().startswith("api rate limit exceeded"):
        return Decision(Action.PRIMARY, message, until_reset(headers, now) or after)
    if _is_secondary(message) or after is not None:
        return Decision(Action.SECONDARY, message or "secondary rate limit", after)
    if number_of(headers, "x-ratelimit-remaining") == 0:
        return Decision(Action.PRIMARY, message or "no requests left", until_reset(headers, now))
    return None


def decide(status: int, headers: Mapping[str, Any], data: object, now: float) -> Decision | None:
    """Classify an answer; ``None`` means that it is good.

    Args:
        status: HTTP status.
        headers: lower-case names.
        data: the parsed body, or ``None`` where it was not JSON.
        now: seconds since the epoch, to turn a reset time into a pause.
    """
    if status < 400:
        return None
    message = message_of(data) or f"HTTP {status}"
    if status in (403, 429) and (limit := _limit(headers, message_of(data), now)):
        return limit
    if status == 429:
        return Decision(Action.SECONDARY, message)
    fixed = {
        401: Action.BAD_TOKEN,
        404: Action.NOT_FOUND,
        410: Action.GONE,
        408: Action.RETRY,
    }
    if status == 422 and "pagination" in message.lower():
        return Decision(Action.DEEP_PAGE, message)
    if status >= 500:
        return Decision(Action.RETRY, f"HTTP {status}")
    return Decision(fixed.get(status, Action.FATAL), message)


def decide_graphql(data: object, headers: Mapping[str, Any], now: float) -> Decision | None:
    """Classify the body of a GraphQL answer that came with HTTP 200; ``None`` where it can be used.

    An error of the whole query is classified here; what is missing inside an answer is found in ``graphql_answers``.
    """
    if not isinstance(data, dict):
        return Decision(Action.RETRY, "the answer is no JSON object")
    listed = data.get("errors")
    errors = [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []
    kinds = {str(e.get("type")) for e in errors}
    first = str(errors[0].get("message")) if errors else ""
    if kinds & {"RATE_LIMITED", "RATE_LIMIT"}:
        return Decision(Action.PRIMARY, first, until_reset(headers, now))
    said = first or message_of(data)
    if data.get("data") is None and _is_secondary(said):
        return Decision(Action.SECONDARY, said, retry_after(headers, now))
    if any(k == "INVALID_CURSOR_ARGUMENTS" for k in kinds):
        return Decision(Action.BAD_CURSOR, first)
    top = [e for e in errors if not isinstance(e.get("path"), list) or len(e["path"]) <= 1]
    if any(e.get("type") == "NOT_FOUND" for e in top):
        return Decision(Action.NOT_FOUND, first)
    if any(e.get("type") in ("FORBIDDEN", "INSUFFICIENT_SCOPES") for e in top):
        return Decision(Action.BAD_TOKEN, first)
    if data.get("data") is None:
        text = first.lower()
        if _NO_FIELD.fullmatch(first):
            return Decision(Action.UNKNOWN_FIELD, first)
        if errors and any(word in text for word in ("parse error", "doesn't exist", "cannot query", "argument")):
            return Decision(Action.FATAL, first)
        return Decision(Action.RETRY, first or "no data in the answer")
    if top:
        return Decision(Action.RETRY, first)
    return None
