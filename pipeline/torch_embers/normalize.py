"""Times and texts in the one form that the database keeps: ISO 8601 in UTC, and characters that UTF-8 can carry."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def now_utc() -> str:
    """The current time as ISO 8601 text in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def naive_utc() -> datetime:
    """The current time in UTC without its zone, as the database has times."""
    return datetime.now(UTC).replace(tzinfo=None)


def clean_text(text: str) -> str:
    """Replace what UTF-8 or C strings downstream cannot carry (lone surrogates, NUL) by U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


def iso_utc(value: object) -> str | None:
    """Normalise a time to ISO 8601 text in UTC; ``None`` for anything that is no time.

    A text without an offset is taken as UTC, as every source read here means it.
    """
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if moment.tzinfo is UTC:
        return value if len(value) == 20 and value[10] == "T" and value[19] == "Z" else _text(moment)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            return None
    return _text(moment)


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat() + "Z"
